/* probe/process/process_stat.c - reads the text of /proc/PID/stat, status, io and children. */
#include "probe/process/process_stat.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/units.h"
#include "probe/system/root_file.h"

/* Numbered as in proc(5): the name is field 2, the state 3. */
enum { FIELD_PARENT = 4, FIELD_NEEDED = 24 };

static const struct {
    unsigned field;
    size_t offset;
} wanted[] = {
#define AT(member) offsetof(struct as_process_stat, member)
    {FIELD_PARENT, AT(parent_pid)},
    {10, AT(minor_faults)},
    {11, AT(child_minor_faults)},
    {12, AT(major_faults)},
    {14, AT(user_ticks)},
    {15, AT(system_ticks)},
    {20, AT(n_threads)},
    {22, AT(start_ticks)},
    {FIELD_NEEDED, AT(rss_pages)},
    {42, AT(block_wait_ticks)},
#undef AT
};

/* A whole number, with its sign read over; false when there is none or it does not fit. */
static bool take_number(const char **at, uint64_t *out, bool *negative)
{
    const char *p = *at;
    uint64_t value = 0;

    while (*p == ' ')
        p++;
    *negative = *p == '-';
    p += *negative;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if (!as_mul_u64(value, 10, &value) || !as_add_u64(value, (uint64_t)(*p - '0'), &value))
            return false;
    *at = p;
    *out = value;
    return true;
}

static void copy_name(char out[AS_COMM_BYTES], const char *from, size_t size)
{
    if (size > AS_COMM_BYTES - 1)
        size = AS_COMM_BYTES - 1;
    memcpy(out, from, size);
    out[size] = '\0';
}

bool as_process_stat_parse(struct as_process_stat *out, const char *text)
{
    const char *from = strchr(text, '('), *to = strrchr(text, ')'); /* a name may hold both */
    const char *at;
    size_t next = 0;

    *out = (struct as_process_stat){0};
    if (!from || !to || to < from || to[1] != ' ' || to[2] == '\0')
        return false;
    copy_name(out->comm, from + 1, (size_t)(to - from - 1));
    out->state = to[2];
    at = to + 3;
    for (unsigned field = FIELD_PARENT; next < AS_COUNT_OF(wanted); field++) {
        uint64_t value;
        bool negative;

        if (!take_number(&at, &value, &negative))
            return field > FIELD_NEEDED; /* an older kernel tells less */
        if (field != wanted[next].field)
            continue;
        if (negative)
            return false;
        memcpy((char *)out + wanted[next++].offset, &value, sizeof value);
    }
    return true;
}

static struct as_fact count_field(const char *text, const char *key, const char *why)
{
    uint64_t value;

    return as_text_field_u64(text, key, &value) ? as_fact_of(value) : as_fact_none(why);
}

/* The mask of signals that have a handler, signal 1 in its lowest bit. */
static void take_caught(struct as_process_status *out, const char *text)
{
    static const char key[] = "\nSigCgt:";
    const char *at = strstr(text, key);
    char *end;
    unsigned long long mask;

    if (!at)
        return;
    at += sizeof key - 1;
    mask = strtoull(at, &end, 16);
    out->catches_known = end != at;
    out->catches_interrupt = mask >> (SIGINT - 1) & 1;
}

void as_process_status_parse(struct as_process_status *out, const char *text)
{
    static const char why[] = "the status of the process does not report it";
    struct as_fact kib = count_field(text, "VmHWM", why);
    uint64_t bytes;

    out->rss_peak_bytes = kib;
    if (!kib.why)
        out->rss_peak_bytes =
            as_mul_u64(kib.value, 1024, &bytes) ? as_fact_of(bytes) : as_fact_none(why);
    out->switches_voluntary = count_field(text, "voluntary_ctxt_switches", why);
    out->switches_involuntary = count_field(text, "nonvoluntary_ctxt_switches", why);
    out->catches_known = out->catches_interrupt = false;
    take_caught(out, text);
}

void as_process_io_parse(struct as_process_io *out, const char *text)
{
    static const char why[] = "the system does not count bytes for the process";

    out->read_bytes = count_field(text, "read_bytes", why);
    out->written_bytes = count_field(text, "write_bytes", why);
}

bool as_process_run_delay_parse(uint64_t *ns, const char *text)
{
    uint64_t on_cpu;
    bool negative;

    return take_number(&text, &on_cpu, &negative) && !negative &&
           take_number(&text, ns, &negative) && !negative;
}

bool as_process_anon_pages_parse(uint64_t *pages, const char *text)
{
    uint64_t size, resident, shared;
    bool negative;

    if (!take_number(&text, &size, &negative) || negative ||
        !take_number(&text, &resident, &negative) || negative ||
        !take_number(&text, &shared, &negative) || negative)
        return false;
    *pages = resident > shared ? resident - shared : 0;
    return true;
}

bool as_process_next_child(const char **at, int64_t *pid)
{
    uint64_t value;
    bool negative;

    if (!take_number(at, &value, &negative) || negative || value == 0 || value > INT32_MAX)
        return false;
    *pid = (int64_t)value;
    return true;
}

void as_process_command_text(char *out, size_t capacity, const char *cmdline, size_t size)
{
    size_t n = 0;

    while (size > 0 && cmdline[size - 1] == '\0')
        size--;
    for (; n < size && n + 1 < capacity; n++) {
        unsigned char c = (unsigned char)cmdline[n];

        out[n] = cmdline[n];
        if (c == '\0')
            out[n] = ' ';
        else if (c < ' ' || c == 127)
            out[n] = '?';
    }
    out[n] = '\0';
}
