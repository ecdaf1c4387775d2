/* measure/inputs/open_sizes.c - the sizes that a measurement took for open dimensions. */
#include "measure/inputs/open_sizes.h"

#include <stdio.h>
#include <string.h>

static const struct as_json_field size_fields[] = {
    AS_FIELD_HELP(struct as_open_size, name, NULL, "the symbol, or input[axis] without one"),
    AS_FIELD(struct as_open_size, value),
    AS_FIELD_HELP(struct as_open_size, source, NULL,
                  "--dim, --shape, --batch, --input, sum of others, or default"),
};
const struct as_json_shape as_open_size_shape = AS_SHAPE(struct as_open_size, size_fields);

static const char *name_of(const struct as_bound_dim *dim, struct as_arena *arena)
{
    char text[120];

    if (dim->symbol[0])
        return as_arena_text(arena, dim->symbol, strlen(dim->symbol));
    (void)snprintf(text, sizeof text, "%.90s[%d]", dim->input, dim->axis);
    return as_arena_text(arena, text, strlen(text));
}

int as_open_sizes_list(struct as_open_size **sizes, size_t *n, const struct as_model *model,
                       struct as_arena *arena, struct assay_error *err)
{
    *n = 0;
    *sizes = as_arena_zero(arena, model->n_bound + 1, sizeof **sizes);
    if (!*sizes)
        return as_fail_nomem(err);
    for (size_t i = 0; i < model->n_bound; i++) {
        const struct as_bound_dim *dim = &model->bound[i];
        const char *name;

        if (dim->value == AS_DIM_UNKNOWN)
            continue;
        name = name_of(dim, arena);
        if (!name)
            return as_fail_nomem(err);
        (*sizes)[(*n)++] = (struct as_open_size){name, dim->value, dim->source};
    }
    return ASSAY_OK;
}

size_t as_open_sizes_text(char *out, size_t capacity, const struct as_open_size *sizes, size_t n,
                          const char *skip)
{
    size_t size = 0, listed = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && size < capacity; i++) {
        if (skip && strcmp(sizes[i].source, skip) == 0)
            continue;
        size +=
            (size_t)snprintf(out + size, capacity - size, "%s%.60s %lld (%s)", listed ? ", " : "",
                             sizes[i].name, (long long)sizes[i].value, sizes[i].source);
        listed++;
    }
    return listed;
}
