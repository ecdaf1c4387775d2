/* analyze/inspect_groups.c - sums over the layers of one kind or one part of a network.
 * Groups keep the order of the graph, so that a report reads from top to bottom. */
#include <string.h>

#include "analyze/inspect.h"
#include "base/alloc.h"
#include "model/cost_rules.h"

size_t as_name_scope(const char *name, unsigned depth)
{
    char separator = strchr(name, '/') ? '/' : '.';
    size_t last = 0, start = name[0] == '/' ? 1 : 0;
    unsigned parts = 0;

    for (size_t i = start; name[i]; i++)
        if (name[i] == separator) {
            last = i;
            if (++parts == depth)
                break;
        }
    return last;
}

static const char *key_of(const struct as_cost_row *row, enum as_inspect_grouping grouping,
                          unsigned depth, size_t *size)
{
    const char *label = as_node_label(row->graph, row->node);

    if (grouping == AS_GROUP_OP)
        label = row->node->op_name;
    *size = grouping == AS_GROUP_OP ? strlen(label)
                                    : as_name_scope(label, grouping == AS_GROUP_DEPTH ? depth : 0);
    return label;
}

void as_group_add(struct as_inspect_group *group, const struct as_cost_row *row)
{
    group->n_rows++;
    group->times = as_sat_add(group->times, row->times);
    as_cost_add(&group->forward, &row->forward, row->times);
    as_cost_add(&group->backward, &row->backward, row->times);
    group->parameters = as_sat_add(group->parameters, row->parameters);
    group->parameter_bytes = as_sat_add(group->parameter_bytes, row->parameter_bytes);
    group->output_bytes = as_sat_add(group->output_bytes, row->output_bytes);
    group->saved_bytes = as_sat_add(group->saved_bytes, row->saved_bytes);
    group->known &= row->state == AS_COST_KNOWN || row->times == 0;
    group->times_known &= row->times_known;
}

static uint64_t hash_of(const char *key, size_t size)
{
    uint64_t hash = 1469598103934665603u;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)key[i]) * 1099511628211u;
    return hash ^ hash >> 29;
}

/* Open addressing over group numbers; never more than half full. */
struct index {
    uint32_t *slot; /* group + 1; 0: free */
    size_t mask;
};

static uint32_t *find(const struct index *index, const struct as_inspect_group *groups,
                      const char *key, size_t size)
{
    size_t at = hash_of(key, size) & index->mask;

    for (; index->slot[at]; at = (at + 1) & index->mask) {
        const char *name = groups[index->slot[at] - 1].name;

        if (strncmp(name, key, size) == 0 && name[size] == 0)
            break;
    }
    return &index->slot[at];
}

int as_inspect_groups(struct as_inspection *in, enum as_inspect_grouping grouping, unsigned depth,
                      struct as_inspect_group **groups, size_t *n_groups, struct assay_error *err)
{
    size_t n_rows = in->costs->n_rows, room = 16, n = 0;
    struct index index = {NULL, 0};
    int rc = ASSAY_OK;

    while (room < 2 * n_rows)
        room *= 2;
    index.mask = room - 1;
    index.slot = as_alloc_zero(room, sizeof *index.slot);
    *groups = as_arena_zero(&in->arena, n_rows ? n_rows : 1, sizeof **groups);
    if (!index.slot || !*groups) {
        rc = as_fail_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < n_rows; i++) {
        const struct as_cost_row *row = &in->costs->rows[i];
        uint32_t *slot;
        const char *key;
        size_t size;

        if (as_row_is_constant(row) && row->parameters == 0)
            continue;
        key = key_of(row, grouping, depth, &size);
        slot = find(&index, *groups, key, size);
        if (!*slot) {
            struct as_inspect_group *group = &(*groups)[n];

            group->name = as_arena_text(&in->arena, key, size);
            group->known = group->times_known = true;
            if (!group->name) {
                rc = as_fail_nomem(err);
                goto out;
            }
            *slot = (uint32_t)++n;
        }
        as_group_add(&(*groups)[*slot - 1], row);
    }
out:
    as_free(index.slot);
    *n_groups = n;
    return rc;
}
