/* probe/system/container.c - what a control group lets this process use, versions 1 and 2.
 * A limit of any group above ours holds for us too: the least of them is told. */
#include "probe/system/topology.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "probe/system/root_file.h"

/* Version 1 writes "no limit" as the greatest multiple of a page; nobody has an exabyte. */
#define NO_LIMIT_BYTES (UINT64_C(1) << 60)

static const char no_groups[] = "this system has no control groups";
static const char not_told[] = "the control group does not report it";

struct group {
    const char *root;
    char mount[64];  /* "/sys/fs/cgroup/cpu" */
    char path[1024]; /* "/a/b", "" at the top */
};

static bool read_in(const struct group *g, const char *file, char *out, size_t capacity)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof path, "%s%s/%s", g->mount, g->path, file) < (int)sizeof path &&
           as_root_read(g->root, path, out, capacity);
}

static bool read_number(const struct group *g, const char *file, uint64_t *out)
{
    char text[64];

    return read_in(g, file, text, sizeof text) && as_parse_u64(text, strlen(text), out);
}

/* One group up; false at the top. */
static bool go_up(struct group *g)
{
    char *slash = strrchr(g->path, '/');

    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* A path that leads out of the mount, as another namespace's does, is taken as its top. */
static void set_path(struct group *g, const char *path, size_t size)
{
    if (size >= sizeof g->path)
        size = 0;
    memcpy(g->path, path, size);
    g->path[size] = '\0';
    if (strstr(g->path, "..") || strcmp(g->path, "/") == 0)
        g->path[0] = '\0';
}

static bool in_list(const char *list, size_t size, const char *word)
{
    size_t word_size = strlen(word);

    while (size >= word_size) {
        const char *comma = memchr(list, ',', size);
        size_t part = comma ? (size_t)(comma - list) : size;

        if (part == word_size && memcmp(list, word, part) == 0)
            return true;
        if (!comma)
            break;
        list += part + 1;
        size -= part + 1;
    }
    return false;
}

/* The path of our group in /proc/self/cgroup: "4:memory:/a/b", or "0::/a/b" for version 2, which
 * is asked for by "". */
static bool find_path(struct group *g, const char *groups, const char *controller)
{
    for (const char *line = groups; line;) {
        const char *end = strchr(line, '\n'), *list = strchr(line, ':');
        const char *path = list ? strchr(list + 1, ':') : NULL;
        size_t size = end ? (size_t)(end - line) : strlen(line);

        if (path && (size_t)(path - line) < size) {
            size_t list_size = (size_t)(path - list - 1);

            if (controller[0] ? in_list(list + 1, list_size, controller) : list_size == 0) {
                set_path(g, path + 1, size - (size_t)(path + 1 - line));
                return true;
            }
        }
        line = end ? end + 1 : NULL;
    }
    return false;
}

static bool quota_of(const struct group *g, int version, double *cpus)
{
    char text[64];
    const char *at = text;
    uint64_t quota, period;

    if (version == 1) {
        /* -1, no number here, is no limit. */
        if (!read_number(g, "cpu.cfs_quota_us", &quota) ||
            !read_number(g, "cpu.cfs_period_us", &period))
            return false;
    } else if (!read_in(g, "cpu.max", text, sizeof text) || !as_text_word_u64(&at, &quota) ||
               !as_text_word_u64(&at, &period)) {
        return false;
    }
    if (period == 0 || quota == 0)
        return false;
    *cpus = (double)quota / (double)period;
    return true;
}

static bool has_file(const struct group *g, const char *file)
{
    char text[16];

    return read_in(g, file, text, sizeof text);
}

static void read_cpu(struct as_container *out, struct group g, int version)
{
    bool told = false;
    char text[512];
    uint64_t n;

    if (read_in(&g, "cpu.stat", text, sizeof text)) {
        const char *at = strstr(text, "nr_throttled");

        if (at) {
            at += strlen("nr_throttled");
            if (as_text_word_u64(&at, &n))
                out->throttled = as_fact_of(n);
        }
    }
    do {
        double cpus;

        told |= has_file(&g, version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
        if (quota_of(&g, version, &cpus) && (!out->cpu_quota.set || cpus < out->cpu_quota.value))
            out->cpu_quota = (struct as_limit){.value = cpus, .set = true};
    } while (go_up(&g));
    /* The topmost group of version 2 has no such file and no limit. */
    if (!told && version == 1)
        out->cpu_quota.why = not_told;
}

static void read_memory(struct as_container *out, struct group g, int version)
{
    const char *limit_file = version == 1 ? "memory.limit_in_bytes" : "memory.max";
    const char *used_file = version == 1 ? "memory.usage_in_bytes" : "memory.current";
    uint64_t limit, used;
    double least_left = 0;
    bool told = false;

    do {
        told |= has_file(&g, limit_file);
        if (!read_number(&g, limit_file, &limit) || limit >= NO_LIMIT_BYTES)
            continue;
        if (!read_number(&g, used_file, &used))
            used = 0;
        if (!out->memory_bytes.set || (double)limit - (double)used < least_left) {
            least_left = (double)limit - (double)used;
            out->memory_bytes = (struct as_limit){.value = (double)limit, .set = true};
            out->memory_used = as_fact_of(used);
        }
    } while (go_up(&g));
    if (!told && version == 1)
        out->memory_bytes.why = not_told;
}

void as_container_read(struct as_container *out, const char *root)
{
    static const char *const cpu_mounts[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
    char groups[4096], text[64];
    struct group g = {.root = root};

    *out = (struct as_container){.cpu_quota.why = no_groups,
                                 .memory_bytes.why = no_groups,
                                 .memory_used.why = "no limit is set",
                                 .throttled.why = not_told};
    if (!as_root_read(root, "/proc/self/cgroup", groups, sizeof groups))
        return;
    out->cpu_quota.why = out->memory_bytes.why = NULL;
    if (as_root_read(root, "/sys/fs/cgroup/cgroup.controllers", text, sizeof text) &&
        find_path(&g, groups, "")) {
        out->version = 2;
        (void)snprintf(g.mount, sizeof g.mount, "/sys/fs/cgroup");
        read_cpu(out, g, 2);
        read_memory(out, g, 2);
        return;
    }
    out->version = 1;
    out->cpu_quota.why = out->memory_bytes.why = not_told;
    for (size_t i = 0; i < 2 && out->cpu_quota.why && find_path(&g, groups, "cpu"); i++) {
        (void)snprintf(g.mount, sizeof g.mount, "%s", cpu_mounts[i]);
        out->cpu_quota.why = NULL;
        read_cpu(out, g, 1);
    }
    if (find_path(&g, groups, "memory")) {
        (void)snprintf(g.mount, sizeof g.mount, "/sys/fs/cgroup/memory");
        out->memory_bytes.why = NULL;
        read_memory(out, g, 1);
    }
}
