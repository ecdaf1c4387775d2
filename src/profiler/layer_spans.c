/* profiler/layer_spans.c - the newest calls as spans of a run, with numbers of their metadata
 * as notes. */
#include <assay/scope.h>
#include <string.h>

#include "base/alloc.h"
#include "profiler/layer_cell.h"

#define MAX_KEYS 64u /* different ones; notes with others are left out */

struct keys {
    const char *text[MAX_KEYS];
    uint32_t n, first_id;
};

/* 0: there are too many. */
static uint32_t key_of(struct keys *keys, const char *text)
{
    uint32_t i = 0;

    while (i < keys->n && strcmp(keys->text[i], text) != 0)
        i++;
    if (i == MAX_KEYS)
        return 0;
    if (i == keys->n)
        keys->text[keys->n++] = text;
    return keys->first_id + i;
}

static void fill_notes(struct as_made_span *to, const struct as_layer_extra *extra,
                       struct keys *keys)
{
    for (size_t i = 0; extra && i < extra->n && to->n_notes < AS_MADE_NOTES; i++) {
        const uint32_t key = extra->pair[i].text ? 0 : key_of(keys, extra->pair[i].key);

        if (key) {
            to->note[to->n_notes].key = key;
            to->note[to->n_notes++].value = extra->pair[i].number;
        }
    }
}

static void put_sites(const struct as_layer_profile *p, const struct keys *keys,
                      struct as_run_maker *to)
{
    for (size_t i = 0; i < p->n_cells; i++)
        as_run_maker_site(to, (uint32_t)i + 1, ASSAY_CATEGORY_LAYER, p->cell[i]->name->text);
    for (uint32_t i = 0; i < keys->n; i++)
        as_run_maker_site(to, keys->first_id + i, ASSAY_CATEGORY_KEY, keys->text[i]);
}

void as_layer_profile_put_spans(const struct as_layer_profile *p, struct as_run_maker *to)
{
    const struct as_clock_anchor anchor[] = {p->clock.start, as_clock_read_anchor(p->clock.kind)};
    const struct as_layer_ring *ring = &p->ring;
    struct as_made_span *span = as_alloc_zero(ring->n + 1, sizeof *span);
    struct keys keys = {.first_id = (uint32_t)p->n_cells + 1};

    if (!span) {
        (void)as_fail_nomem(&to->fault);
        return;
    }
    for (size_t i = 0; i < ring->n; i++) {
        const struct as_layer_record *from = &ring->record[i];

        span[i] = (struct as_made_span){.start_ticks = from->start_ticks,
                                        .end_ticks = from->end_ticks,
                                        .thread = from->thread,
                                        .tid = from->tid,
                                        .site = from->name->id + 1,
                                        .depth = from->depth,
                                        .failed = from->failed};
        fill_notes(&span[i], from->extra, &keys);
    }
    as_run_maker_clock(to, p->clock.kind, anchor, 2);
    put_sites(p, &keys, to);
    as_run_maker_spans(to, span, ring->n);
    as_free(span);
}
