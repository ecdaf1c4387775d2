/* probe/symbols/dwarf_answers.c - the answers of the process that reads debug information. It may
 * have been taken over by what it read: every answer is checked before it is believed. */
#include <string.h>

#include "probe/symbols/dwarf_internal.h"

#define MAX_KEPT_BYTES (UINT64_C(64) << 20) /* of texts and frames */

/* Whether that much more may be kept. */
static bool keep(struct as_dwarf_answers *a, uint64_t bytes)
{
    a->bytes += bytes;
    return a->bytes <= MAX_KEPT_BYTES;
}

static int take_text(struct as_dwarf_answers *a, const uint8_t *bytes, size_t size,
                     const char **out)
{
    const uint64_t *known;
    char *text;

    *out = NULL;
    if (size == 0)
        return ASSAY_OK;
    if (memchr(bytes, '\0', size))
        return ASSAY_ERR_FORMAT;
    known = as_hash_map_find(&a->texts, bytes, size);
    if (known) {
        *out = (const char *)(uintptr_t)*known;
        return ASSAY_OK;
    }
    if (!keep(a, size))
        return ASSAY_ERR_FORMAT;
    text = as_arena_text(a->arena, (const char *)bytes, size);
    if (!text || as_hash_map_put(&a->texts, text, size, (uint64_t)(uintptr_t)text) < 0)
        return ASSAY_ERR_NOMEM;
    *out = text;
    return ASSAY_OK;
}

/* 1: the answer is not all there. */
static int take_frame(struct as_dwarf_answers *a, struct as_cursor *c, struct as_dwarf_frame *f)
{
    const uint8_t *function, *file;
    uint16_t function_size, file_size;
    int rc;

    if (!as_take_u32le(c, &f->line) || !as_take_u16le(c, &function_size) ||
        !as_take_u16le(c, &file_size))
        return 1;
    if (function_size > AS_DWARF_MAX_TEXT || file_size > AS_DWARF_MAX_TEXT)
        return ASSAY_ERR_FORMAT;
    if (!as_take_bytes(c, function_size, &function) || !as_take_bytes(c, file_size, &file))
        return 1;
    rc = take_text(a, function, function_size, &f->function);
    return rc < 0 ? rc : take_text(a, file, file_size, &f->file);
}

static struct as_dwarf_place *place_of(const struct as_dwarf_answers *a, uint32_t i)
{
    size_t first = 0;

    if (a->at >= a->n_modules || i >= a->module[a->at].n)
        return NULL;
    for (size_t m = 0; m < a->at; m++)
        first += a->module[m].n;
    return &a->place[first + i];
}

static int take_place(struct as_dwarf_answers *a, struct as_cursor *c)
{
    struct as_dwarf_frame frame[AS_DWARF_MAX_DEPTH], *kept;
    struct as_dwarf_place *place;
    uint32_t i;
    uint8_t n;

    if (!as_take_u32le(c, &i) || !as_take_u8(c, &n))
        return 1;
    place = place_of(a, i);
    if (!place || place->n || n == 0 || n > AS_DWARF_MAX_DEPTH)
        return ASSAY_ERR_FORMAT;
    for (unsigned k = 0; k < n; k++) {
        int rc = take_frame(a, c, &frame[k]);

        if (rc)
            return rc;
    }
    if (!keep(a, n * sizeof *frame))
        return ASSAY_ERR_FORMAT;
    kept = as_arena_zero(a->arena, n, sizeof *kept);
    if (!kept)
        return ASSAY_ERR_NOMEM;
    memcpy(kept, frame, n * sizeof *kept);
    *place = (struct as_dwarf_place){kept, n};
    return ASSAY_OK;
}

/* Modules are begun in their order, each once. */
static int take_begin(struct as_dwarf_answers *a, struct as_cursor *c)
{
    uint32_t i;

    if (!as_take_u32le(c, &i))
        return 1;
    if (i < a->next || i >= a->n_modules)
        return ASSAY_ERR_FORMAT;
    a->at = i;
    a->next = (size_t)i + 1;
    return ASSAY_OK;
}

static int take_end(struct as_dwarf_answers *a, struct as_cursor *c)
{
    uint8_t there;

    if (!as_take_u8(c, &there))
        return 1;
    a->ended = true;
    a->missing = there == 0;
    return ASSAY_OK;
}

int as_dwarf_answers_take(struct as_dwarf_answers *a, struct as_cursor *c)
{
    while (!a->ended) {
        struct as_cursor one = *c;
        uint8_t kind;
        int rc = ASSAY_ERR_FORMAT;

        if (!as_take_u8(&one, &kind))
            return 1;
        if (kind == AS_DWARF_BEGINS)
            rc = take_begin(a, &one);
        else if (kind == AS_DWARF_PLACE)
            rc = take_place(a, &one);
        else if (kind == AS_DWARF_ENDS)
            rc = take_end(a, &one);
        if (rc)
            return rc;
        *c = one;
    }
    return 0;
}
