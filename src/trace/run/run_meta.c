/* trace/run/run_meta.c - the facts kept with a run: tool, host, program, clock, configuration. */
#include "trace/run/run_meta.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file/file_open.h"
#include "base/json/json_writer.h"

#define AS_META_COMMAND_MAX 2048u

/* The file's first bytes, NUL-terminated; 0 when it cannot be read. */
static size_t read_file(const char *path, char *out, size_t capacity)
{
    int fd = as_open(path, O_RDONLY);
    size_t size = 0;
    ssize_t n;

    if (fd < 0)
        return 0;
    while (size < capacity - 1 && (n = read(fd, out + size, capacity - 1 - size)) > 0)
        size += (size_t)n;
    close(fd);
    out[size] = '\0';
    return size;
}

/* Set while the program starts. */
static atomic_bool without_args;

void as_run_meta_without_args(void)
{
    atomic_store(&without_args, true);
}

static void write_command(struct as_json_writer *w)
{
    char text[AS_META_COMMAND_MAX];
    size_t size = read_file("/proc/self/cmdline", text, sizeof text), at = 0;

    as_json_key(w, "command");
    if (size == 0) {
        as_json_null(w);
        return;
    }
    as_json_array(w);
    if (atomic_load(&without_args))
        size = strlen(text);
    while (at < size) {
        as_json_text(w, text + at);
        at += strlen(text + at) + 1;
    }
    as_json_array_end(w);
}

static void write_cpu(struct as_json_writer *w)
{
    char text[2048];
    size_t size = read_file("/proc/cpuinfo", text, sizeof text);
    const char *line = size ? strstr(text, "model name") : NULL;
    const char *from = line ? strchr(line, ':') : NULL;
    const char *to = from ? strchr(from, '\n') : NULL;

    as_json_key(w, "cpu_model");
    if (from && to && to - from > 2)
        as_json_text_n(w, from + 2, (size_t)(to - from - 2));
    else
        as_json_null(w);
    as_json_kv_i64(w, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
}

/* What programs can still take, as the kernel reckons. */
static void write_memory(struct as_json_writer *w)
{
    static const char key[] = "MemAvailable:";
    char text[2048];
    const char *line = read_file("/proc/meminfo", text, sizeof text) ? strstr(text, key) : NULL;
    unsigned long long kib = line ? strtoull(line + sizeof key - 1, NULL, 10) : 0;

    if (kib && kib < UINT64_MAX / 1024)
        as_json_kv_u64(w, "memory_available_bytes", kib * 1024);
    else
        as_json_kv_null(w, "memory_available_bytes");
}

static void write_host(struct as_json_writer *w)
{
    struct utsname u;
    bool known = uname(&u) == 0;

    as_json_kv_object(w, "host");
    as_json_kv_text(w, "name", known ? u.nodename : NULL);
    as_json_kv_text(w, "system", known ? u.sysname : NULL);
    as_json_kv_text(w, "kernel", known ? u.release : NULL);
    as_json_kv_text(w, "machine", known ? u.machine : NULL);
    write_cpu(w);
    write_memory(w);
    as_json_object_end(w);
}

static void write_recorder(struct as_json_writer *w, const struct as_run_meta *meta)
{
    if (!meta->clock)
        return;
    as_json_kv_object(w, "clock");
    as_json_kv_text(w, "kind", meta->clock);
    as_json_kv_text(w, "reason", meta->clock_reason);
    as_json_object_end(w);
    as_json_kv_object(w, "recorder");
    AS_JSON_FIELDS(w, meta, ring_bytes, when_full);
    as_json_object_end(w);
}

int as_run_meta_write(const struct as_run_meta *meta, char *out, size_t capacity,
                      struct assay_error *err)
{
    struct as_json_writer w;
    struct as_out text;
    const char *json;
    size_t size;
    int rc = as_out_memory(&text, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&w, &text, 0);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.run.meta");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_text(&w, "tool", "assay");
    as_json_kv_text(&w, "tool_version", ASSAY_VERSION);
    if (meta->kind)
        as_json_kv_text(&w, "kind", meta->kind);
    as_json_kv_text(&w, "label", meta->label);
    as_json_kv_i64(&w, "pid", getpid());
    write_command(&w);
    write_host(&w);
    write_recorder(&w, meta);
    as_json_object_end(&w);
    rc = as_json_writer_finish(&w, err);
    json = as_out_get(&text, &size);
    if (rc == ASSAY_OK && !as_out_ok(&text))
        rc = as_fail_nomem(err);
    if (rc == ASSAY_OK && size >= capacity)
        rc = as_fail(err, ASSAY_ERR_LIMIT, "the label of the session is too long");
    if (rc == ASSAY_OK) {
        memcpy(out, json, size);
        rc = (int)size;
    }
    as_out_drop(&text);
    return rc;
}
