/* analyze/cluster/distributed_events.c - the newest transfers, synchronisations and metrics, one by
 * one. The oldest kept is number 0; numbers move on when a newer one takes its place. */

#include "analyze/cluster/distributed_internal.h"
#include "base/units.h"

bool assay_distributed_communication_at(const struct assay_distributed *d, size_t i,
                                        struct assay_communication_event *out)
{
    const struct as_transfer *t = d && out ? as_newest_at(&d->transfers, i) : NULL;
    double mib_s;

    if (!t)
        return false;
    mib_s = as_mib_per_second(t->data_size_mb, t->duration_ms);
    *out = (struct assay_communication_event){
        .size = sizeof(struct assay_communication_event),
        .source = d->nodes.at[t->source],
        .destination = d->nodes.at[t->destination],
        .operation_type = d->operations.at[t->type],
        .data_size_mb = t->data_size_mb,
        .duration_ms = t->duration_ms,
        .bandwidth_mib_per_second = mib_s,
        .bytes_per_second = t->duration_ms > 0 ? mib_s * AS_MIB : AS_UNKNOWN,
        .start_time_seconds = t->start,
        .timestamp_seconds = t->timestamp,
    };
    return true;
}

bool assay_distributed_synchronization_at(const struct assay_distributed *d, size_t i,
                                          struct assay_synchronization_event *out)
{
    const struct as_sync *s = d && out ? as_newest_at(&d->synchronizations, i) : NULL;

    if (!s)
        return false;
    *out = (struct assay_synchronization_event){
        .size = sizeof(struct assay_synchronization_event),
        .sync_type = d->syncs.at[s->type],
        .n_nodes = s->n_nodes,
        .duration_ms = s->duration_ms,
        .barrier_wait_ms = s->barrier_wait_ms,
        .start_time_seconds = s->start,
        .timestamp_seconds = s->timestamp,
    };
    return true;
}

const char *assay_distributed_synchronization_node(const struct assay_distributed *d, size_t i,
                                                   size_t node)
{
    const struct as_sync *s = d ? as_newest_at(&d->synchronizations, i) : NULL;

    if (!s || node >= s->n_nodes || s->set == AS_DISTRIBUTED_NO_SET)
        return NULL;
    return d->nodes.at[d->set[s->set].nodes[node]];
}

bool assay_distributed_metric_at(const struct assay_distributed *d, size_t i,
                                 struct assay_metric_event *out)
{
    const struct as_metric_reading *r = d && out ? as_newest_at(&d->readings, i) : NULL;

    if (!r)
        return false;
    *out = (struct assay_metric_event){
        .size = sizeof(struct assay_metric_event),
        .node = d->pair[r->pair].node,
        .metric = d->pair[r->pair].metric,
        .value = r->value,
        .timestamp_seconds = r->timestamp,
    };
    return true;
}
