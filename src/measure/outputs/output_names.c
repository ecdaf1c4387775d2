/* measure/outputs/output_names.c - names of files for tensors. A model may call a tensor anything:
 * what comes from here never leaves its folder, and two tensors never share a file. */
#include <stdio.h>
#include <string.h>

#include "base/hash_map.h"
#include "measure/outputs/kept_outputs_internal.h"

enum { MAX_NAME = 100, NAME_CAPACITY = 160, TRIES = 1 << 20 };

static bool is_harmless(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

/* FNV-1a: names that are cut stay apart; whoever makes two with one hash gets a number behind. */
static unsigned long long hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 0x100000001b3u;
    return (unsigned long long)h;
}

static void make_harmless(char out[NAME_CAPACITY], const char *name, uint32_t id)
{
    size_t n = 0;

    if (!name[0]) {
        (void)snprintf(out, NAME_CAPACITY, "tensor_%u", (unsigned)id);
        return;
    }
    for (; n < MAX_NAME && name[n]; n++)
        out[n] = (char)(is_harmless(name[n]) ? name[n] : '_');
    out[n] = '\0';
    if (out[0] == '.' || out[0] == '-')
        out[0] = '_';
    if (name[n])
        (void)snprintf(out + n, NAME_CAPACITY - n, "-%016llx", hash(name));
}

static int take_name(struct as_outputs_work *work, struct as_kept_tensor *t,
                     struct as_hash_map *taken, struct assay_error *err)
{
    char name[NAME_CAPACITY];
    size_t size;

    make_harmless(name, work->model->values[t->value].name, t->value);
    size = strlen(name);
    for (unsigned i = 2; i < TRIES; i++) {
        const uint64_t *there = as_hash_map_find(taken, name, strlen(name));

        if (!there)
            break;
        (void)snprintf(name + size, sizeof name - size, "-%u", i);
    }
    t->file = as_arena_text(work->arena, name, strlen(name));
    if (!t->file || as_hash_map_put(taken, t->file, strlen(t->file), 1) < 0)
        return as_fail_nomem(err);
    return ASSAY_OK;
}

int as_output_names(struct as_outputs_work *work, struct assay_error *err)
{
    struct as_hash_map taken = {0};
    int rc = ASSAY_OK;

    for (size_t i = 0; i < work->n_tensors && rc == ASSAY_OK; i++)
        rc = take_name(work, &work->tensors[i], &taken, err);
    as_hash_map_fini(&taken);
    return rc;
}

char *as_output_path(struct as_outputs_work *work, const char *folder, const char *name,
                     const char *end)
{
    size_t size = strlen(folder) + strlen(name) + strlen(end) + 3;
    char *path = as_arena_alloc(work->arena, size);

    if (path)
        (void)snprintf(path, size, "%s%s%s%s%s", folder, folder[0] ? "/" : "", name,
                       end[0] ? "." : "", end);
    return path;
}
