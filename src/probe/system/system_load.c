/* probe/system/system_load.c - how busy the machine is with others' work. */
#include "probe/system/system_load.h"

#include <string.h>

#include "base/text/text.h"
#include "probe/system/root_file.h"

static const char no_loadavg[] = "/proc/loadavg does not report it";
static const char no_stat[] = "/proc/stat does not report it";

static struct as_fact_real real_word(const char **at)
{
    struct as_fact_real out = {.why = no_loadavg};
    size_t size;
    const char *word = as_text_word(at, &size);

    if (word && as_parse_f64(word, size, &out.value) && out.value >= 0)
        out.why = NULL;
    return out;
}

/* "2/86": runnable of all. */
static void take_tasks(struct as_system_load *out, const char *at)
{
    size_t size;
    const char *word = as_text_word(&at, &size);
    const char *slash = word ? memchr(word, '/', size) : NULL;
    uint64_t runnable, tasks;

    if (!slash || !as_parse_u64(word, (size_t)(slash - word), &runnable) ||
        !as_parse_u64(slash + 1, size - (size_t)(slash + 1 - word), &tasks))
        return;
    out->runnable = as_fact_of(runnable);
    out->tasks = as_fact_of(tasks);
}

/* "cpu user nice system idle iowait irq softirq steal ...": guest time is in user already. */
static void take_ticks(struct as_system_load *out, const char *text)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N_TICKS };
    uint64_t ticks[N_TICKS], total = 0;
    const char *at = text + 3;

    if (strncmp(text, "cpu ", 4) != 0)
        return;
    for (int i = 0; i < N_TICKS; i++) {
        if (!as_text_word_u64(&at, &ticks[i]) || __builtin_add_overflow(total, ticks[i], &total))
            return;
    }
    out->total_ticks = as_fact_of(total);
    out->steal_ticks = as_fact_of(ticks[STEAL]);
    out->busy_ticks = as_fact_of(total - ticks[IDLE] - ticks[IOWAIT] - ticks[STEAL]);
}

void as_system_load_read(struct as_system_load *out, const char *root)
{
    char text[512];
    const char *at = text;

    *out = (struct as_system_load){
        .runnable.why = no_loadavg,
        .tasks.why = no_loadavg,
        .busy_ticks.why = no_stat,
        .steal_ticks.why = no_stat,
        .total_ticks.why = no_stat,
    };
    (void)as_root_read(root, "/proc/loadavg", text, sizeof text);
    out->load_1 = real_word(&at);
    out->load_5 = real_word(&at);
    out->load_15 = real_word(&at);
    take_tasks(out, at);
    if (as_root_read(root, "/proc/stat", text, sizeof text))
        take_ticks(out, text);
}

static struct as_fact_real share(struct as_fact from, struct as_fact to, uint64_t total)
{
    if (to.value < from.value)
        return (struct as_fact_real){.why = "the kernel's counters went backwards"};
    return (struct as_fact_real){.value = (double)(to.value - from.value) / (double)total};
}

struct as_load_shares as_system_load_between(const struct as_system_load *from,
                                             const struct as_system_load *to)
{
    struct as_fact_real none = {.why = from->total_ticks.why ? from->total_ticks.why
                                                             : to->total_ticks.why};
    uint64_t total;

    if (none.why)
        return (struct as_load_shares){none, none};
    none.why = "too little time between the two samples";
    if (to->total_ticks.value <= from->total_ticks.value)
        return (struct as_load_shares){none, none};
    total = to->total_ticks.value - from->total_ticks.value;
    return (struct as_load_shares){share(from->busy_ticks, to->busy_ticks, total),
                                   share(from->steal_ticks, to->steal_ticks, total)};
}
