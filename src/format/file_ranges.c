/* format/file_ranges.c - pieces of a file in the order of their places, to find those that overlap.
 * Pieces without bytes overlap nothing. */
#include "format/mapped_file.h"

#include <stdlib.h>

#include "base/alloc.h"

static int compare_spans(const void *left, const void *right)
{
    const struct as_file_range *a = left, *b = right;

    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

struct as_file_range *as_file_ranges_new(const struct as_model *model, uint32_t first, size_t *n)
{
    struct as_file_range *spans = as_alloc_zero((size_t)model->n_values - first + 1, sizeof *spans);

    *n = 0;
    if (!spans)
        return NULL;
    for (uint32_t i = first; i < model->n_values; i++)
        if (model->values[i].data)
            spans[(*n)++] = (struct as_file_range){model->values[i].data->offset,
                                                   model->values[i].data->size_bytes, i};
    qsort(spans, *n, sizeof *spans, compare_spans);
    return spans;
}

bool as_file_ranges_overlap(const struct as_file_range *spans, size_t n, uint32_t *id,
                            uint32_t *other)
{
    const struct as_file_range *last = NULL; /* with bytes */

    for (size_t i = 0; i < n; i++) {
        if (spans[i].bytes == 0)
            continue;
        if (last && spans[i].at - last->at < last->bytes) {
            *id = spans[i].id;
            *other = last->id;
            return true;
        }
        last = &spans[i];
    }
    return false;
}
