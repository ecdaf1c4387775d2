/* analyze/model/profile_groups.c - layers of a profile that belong together, by operator or by
 * name. A group's figures are sums over its layers; nothing is measured anew. */
#include <math.h>
#include <string.h>

#include "analyze/model/inspect.h"
#include "analyze/model/profile_internal.h"
#include "base/hash_map.h"
#include "base/order.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"

static const char *group_name(struct as_profile *p, const struct as_profile_layer *layer,
                              bool by_op, unsigned depth)
{
    const char *name = layer->step->name;
    size_t size;

    if (by_op)
        return layer->step->op;
    if (layer->step->is_reorder)
        return "(reorders)";
    size = as_name_scope(name, depth);
    return size ? as_arena_text(&p->arena, name, size) : "(top)";
}

/* The group of that name, made when it is new; NULL: no memory. */
static struct as_profile_group *group_for(struct as_profile_group *groups, size_t *n,
                                          struct as_hash_map *names, const char *name)
{
    const uint64_t *place = as_hash_map_find(names, name, strlen(name));

    if (place)
        return &groups[*place];
    if (as_hash_map_put(names, name, strlen(name), *n) < 0)
        return NULL;
    groups[*n] = (struct as_profile_group){.name = name, .counted = true};
    return &groups[(*n)++];
}

static struct as_order_key by_time(const void *row, const void *user)
{
    const struct as_profile_group *group = row;

    (void)user;
    return (struct as_order_key){.number = group->self_ns, .text = group->name};
}

static void add_to_group(struct as_profile_group *group, const struct as_profile_layer *layer)
{
    group->n_layers++;
    group->calls += layer->step->calls;
    group->self_ns += layer->self_ns;
    group->share += layer->share;
    group->counted = group->counted && layer->step->counted;
    group->macs = as_sat_add(group->macs, layer->step->macs);
    group->flops = as_sat_add(group->flops, layer->step->flops);
    group->executed_macs = as_sat_add(group->executed_macs, layer->step->executed_macs);
    group->executed_flops = as_sat_add(group->executed_flops, layer->step->executed_flops);
    group->bytes = as_sat_add(group->bytes, layer->step->bytes);
    group->weight_bytes = as_sat_add(group->weight_bytes, layer->step->weight_bytes);
    if (layer->step->type != AS_PEAK_F32)
        group->type = layer->step->type;
    group->bound_ns[layer->roof.bound] += layer->self_ns;
    group->short_ns += layer->roof.is_short ? layer->self_ns : 0;
    if (layer->roof.bound == AS_BOUND_MEMORY)
        group->level_ns[layer->roof.level] += layer->self_ns;
    if (!isnan(layer->roof.roof_fraction))
        group->roof_ns += layer->roof.roof_fraction * layer->self_ns;
}

/* Each layer has its own roof: that of a group is its layers' time at the roof over the time taken,
 * and its bound what bounds most of that time. */
static void finish_group(const struct as_joining *j, struct as_profile_group *group)
{
    struct as_profile_counts counts = {group->executed_flops, group->bytes, group->weight_bytes,
                                       j->data->threads};

    as_profile_find_roof(j, &group->roof, group->type, &counts, group->self_ns);
    group->roof.roof_fraction =
        j->profile->peaks && group->self_ns > 0 ? group->roof_ns / group->self_ns : AS_UNKNOWN;
    group->roof.attainable =
        group->roof_ns > 0 ? (double)group->executed_flops / group->roof_ns * 1e9 : AS_UNKNOWN;
    if (!group->counted)
        group->roof.roof_fraction = group->roof.attainable = AS_UNKNOWN;
    group->roof.inconsistent =
        j->profile->peaks && group->roof.roof_fraction > as_roof_most(j->profile->peaks);
    group->roof.bound = as_profile_bound(group->bound_ns);
    group->roof.is_short = group->short_ns > group->self_ns / 2;
    group->roof.level = as_profile_level(group->level_ns);
}

int as_profile_group(struct as_joining *j, bool by_op, unsigned depth,
                     struct as_profile_group **out, size_t *n_out, struct assay_error *err)
{
    struct as_profile *p = j->profile;
    struct as_profile_group *groups = as_arena_zero(&p->arena, p->n_layers + 1, sizeof *groups);
    struct as_hash_map names = {0};
    double so_far = 0;
    size_t n = 0;
    int rc = groups ? ASSAY_OK : as_fail_nomem(err);

    for (size_t i = 0; i < p->n_layers && rc == ASSAY_OK; i++) {
        const char *name = group_name(p, &p->layers[i], by_op, depth);
        struct as_profile_group *group = name ? group_for(groups, &n, &names, name) : NULL;

        if (group)
            add_to_group(group, &p->layers[i]);
        else
            rc = as_fail_nomem(err);
    }
    if (rc == ASSAY_OK)
        as_order_sort(groups, n, sizeof *groups, by_time, NULL);
    for (size_t i = 0; i < n && rc == ASSAY_OK; i++) {
        finish_group(j, &groups[i]);
        so_far += groups[i].share;
        groups[i].cumulative_share = so_far;
    }
    *out = groups;
    *n_out = n;
    as_hash_map_fini(&names);
    return rc;
}
