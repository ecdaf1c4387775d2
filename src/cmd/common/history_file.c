/* cmd/common/history_file.c - what is remembered of earlier profiles of the same model at the same
 * settings on this machine, in the user's cache. */
#include "cmd/common/history_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/output.h"
#include "base/units.h"
#include "cmd/common/cache_folder.h"
#include "measure/peaks/peaks.h"

/* Options that change what a run does. How long and how often is none of them. */
static const char *const texts[] = {"batch", "no-fuse", "kernels", "fill", "seed"};
static const char *const lists[] = {"shape", "dim", "value", "input", "loop"};

static void add_text(struct as_sha256_stream *stream, const char *text)
{
    as_sha256_add(stream, text ? text : "", text ? strlen(text) + 1 : 0);
    as_sha256_add(stream, "\n", 1);
}

static void add_number(struct as_sha256_stream *stream, uint64_t value)
{
    as_sha256_add(stream, &value, sizeof value);
}

static bool make_key(char hex[65], const struct as_cmd_line *line,
                     const struct as_topology *topology, unsigned threads)
{
    unsigned char digest[AS_SHA256_BYTES];
    char machine[65];
    struct as_sha256_stream stream;
    struct stat st;

    if (as_topology_fingerprint(topology, AS_PEAKS_VERSION, machine, NULL) < 0)
        return false;
    as_sha256_begin(&stream);
    add_text(&stream, ASSAY_VERSION);
    add_text(&stream, machine);
    add_text(&stream, line->operand[0]);
    add_number(&stream, threads);
    if (stat(line->operand[0], &st) == 0) {
        add_number(&stream, (uint64_t)st.st_size);
        add_number(&stream, (uint64_t)st.st_mtim.tv_sec);
        add_number(&stream, (uint64_t)st.st_mtim.tv_nsec);
    }
    for (size_t i = 0; i < AS_COUNT_OF(texts); i++)
        add_text(&stream, as_opt_text(line, texts[i]));
    for (size_t i = 0; i < AS_COUNT_OF(lists); i++)
        for (size_t k = 0; as_opt_list_at(line, lists[i], k); k++)
            add_text(&stream, as_opt_list_at(line, lists[i], k));
    if (as_sha256_end(&stream, digest, NULL) < 0)
        return false;
    as_sha256_hex(digest, hex);
    return true;
}

void as_earlier_runs_find(struct as_earlier_runs *earlier, const struct as_cmd_line *line,
                          const struct as_topology *topology, unsigned threads)
{
    char cache[PATH_MAX], key[65];

    *earlier = (struct as_earlier_runs){0};
    if (!as_cache_folder(cache) || !make_key(key, line, topology, threads) ||
        snprintf(earlier->folder, PATH_MAX, "%s/runs", cache) >= PATH_MAX ||
        snprintf(earlier->path, PATH_MAX, "%s/runs/%.32s.json", cache, key) >= PATH_MAX) {
        earlier->path[0] = '\0';
        return;
    }
    as_run_history_load(&earlier->history, earlier->path);
}

void as_earlier_runs_add(struct as_earlier_runs *earlier, double median_ns)
{
    if (!earlier->path[0])
        return;
    as_run_history_add(&earlier->history, median_ns, as_clock_unix_seconds());
    if (as_folder_make(earlier->folder, 0700, NULL) == ASSAY_OK)
        (void)!as_run_history_save(&earlier->history, earlier->path, NULL);
}
