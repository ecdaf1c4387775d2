/* report/inspect/inspect_json.c - what a model is made of, as JSON (schema assay.inspect).
 * Base units in the keys; what cannot be had is null; keys always come in the same order. */

#include "base/json/json_writer.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"
#include "report/inspect/inspect_report.h"

static void put_opt(struct as_json_writer *w, const char *key, bool known, uint64_t value)
{
    if (known)
        as_json_kv_u64(w, key, value);
    else
        as_json_kv_null(w, key);
}

static void put_text_or_null(struct as_json_writer *w, const char *key, const char *text)
{
    as_json_kv_text(w, key, text && text[0] ? text : NULL);
}

static void put_type(struct as_json_writer *w, const struct as_type *type)
{
    static const char *const kinds[] = {"tensor", "sequence", "optional", "map"};

    if (type->kind != AS_VALUE_TENSOR)
        as_json_kv_text(w, "kind", kinds[type->kind]);
    as_json_kv_text(w, "dtype", type->dtype ? as_dtype_name(type->dtype) : NULL);
    as_json_key(w, "shape");
    if (type->kind != AS_VALUE_TENSOR || type->rank < 0) {
        as_json_null(w);
        return;
    }
    as_json_array(w);
    for (int i = 0; i < type->rank; i++)
        if (type->dims[i] < 0)
            as_json_null(w);
        else
            as_json_i64(w, type->dims[i]);
    as_json_array_end(w);
}

static void put_value(struct as_json_writer *w, const struct as_value *value)
{
    as_json_object(w);
    as_json_kv_text(w, "name", value->name);
    put_type(w, &value->type);
    if (value->data)
        as_json_kv_bool(w, "constant", true);
    as_json_object_end(w);
}

static void put_values(struct as_json_writer *w, const char *key, const struct as_graph *graph,
                       const uint32_t *at, uint32_t n)
{
    as_json_kv_array(w, key);
    for (uint32_t i = 0; i < n; i++)
        if (at[i] != AS_NONE)
            put_value(w, &graph->model->values[at[i]]);
    as_json_array_end(w);
}

/* Exact where it divides; a node that does not depend on the batch can leave a fraction. */
static void put_share_of(struct as_json_writer *w, const char *key, uint64_t value,
                         uint64_t samples)
{
    if (value % samples == 0)
        as_json_kv_u64(w, key, value / samples);
    else
        as_json_kv_f64(w, key, (double)value / (double)samples);
}

static void put_per_sample(struct as_json_writer *w, const struct as_cost *cost, uint64_t samples)
{
    as_json_kv_object(w, "per_sample");
    put_share_of(w, "macs", cost->macs, samples);
    put_share_of(w, "flops", as_cost_flops(cost), samples);
    put_share_of(w, "elementwise_ops", cost->elementwise, samples);
    put_share_of(w, "transcendental_ops", cost->transcendental, samples);
    as_json_object_end(w);
}

static void put_backward(struct as_json_writer *w, const struct as_cost *cost)
{
    as_json_kv_object(w, "backward");
    as_json_kv_u64(w, "macs", cost->macs);
    as_json_kv_u64(w, "flops", as_cost_flops(cost));
    as_json_kv_u64(w, "elementwise_ops", cost->elementwise);
    as_json_kv_u64(w, "transcendental_ops", cost->transcendental);
    as_json_kv_u64(w, "bytes_read", cost->bytes_read);
    as_json_kv_u64(w, "bytes_written", cost->bytes_written);
    as_json_object_end(w);
}

static void put_unknown_ops(struct as_json_writer *w, const struct as_inspection *in)
{
    as_json_kv_array(w, "unknown_ops");
    for (const struct as_finding *f = in->model->findings; f; f = f->next)
        if (f->kind == AS_FINDING_UNKNOWN_OP)
            as_json_text(w, f->op);
    as_json_array_end(w);
}

static void put_model(struct as_json_writer *w, const struct as_inspection *in)
{
    const struct as_model *m = in->model;
    const struct as_cost *c = &in->costs->forward;
    /* Sums over what is known are lower bounds when something is not: `complete` says so. */
    bool graph = m->has_graph;

    as_json_kv_object(w, "model");
    as_json_kv_text(w, "path", m->path);
    as_json_kv_text(w, "format", as_inspect_format_name(m->format));
    put_text_or_null(w, "producer", m->producer);
    put_text_or_null(w, "graph_name", m->graph_name);
    put_opt(w, "opset", m->opset > 0 && m->format != AS_FORMAT_GGUF, (uint64_t)m->opset);
    put_opt(w, "file_bytes", m->file_bytes > 0, m->file_bytes);
    as_json_kv_u64(w, "nodes", in->n_nodes);
    as_json_kv_u64(w, "nodes_main", m->main->n_nodes);
    as_json_kv_u64(w, "parameters", in->params->parameters);
    as_json_kv_u64(w, "parameters_trainable", in->params->trainable);
    as_json_kv_u64(w, "parameters_frozen", in->params->frozen);
    as_json_kv_u64(w, "parameters_stored", in->params->stored);
    as_json_kv_u64(w, "parameters_tied", in->params->tied_elems);
    as_json_kv_u64(w, "equal_tensors", in->params->equal_tensors);
    as_json_kv_u64(w, "equal_bytes", in->params->equal_bytes);
    as_json_kv_u64(w, "parameter_bytes", in->params->parameter_bytes);
    as_json_kv_u64(w, "stored_bytes", in->params->stored_bytes);
    as_json_kv_f64(w, "compression_ratio", in->params->compression);
    put_opt(w, "batch", !in->costs->batch_why, in->costs->batch);
    as_json_kv_text(w, "batch_reason", in->costs->batch_why);
    put_opt(w, "macs", graph, c->macs);
    put_opt(w, "executed_macs", graph, as_cost_executed_macs(c));
    put_opt(w, "flops", graph, in->flops);
    put_opt(w, "elementwise_ops", graph, c->elementwise);
    put_opt(w, "transcendental_ops", graph, c->transcendental);
    put_opt(w, "bytes_read", graph, c->bytes_read);
    put_opt(w, "bytes_written", graph, c->bytes_written);
    put_opt(w, "bytes_moved", graph, in->bytes_moved);
    put_opt(w, "bytes_floor", graph, in->floor_bytes);
    as_json_kv_f64(w, "arithmetic_intensity", in->intensity);
    put_opt(w, "activation_bytes_peak", graph, in->plan->peak_bytes);
    put_opt(w, "activation_bytes_naive", graph, in->plan->naive_bytes);
    as_json_kv_bool(w, "complete", in->complete);
    put_unknown_ops(w, in);
    as_json_kv_u64(w, "unknown_shape_layers", in->costs->n_unknown_shapes);
    as_json_key(w, "min_latency_seconds");
    as_json_f64(w, in->min_seconds);
    as_json_object_end(w);
    if (graph && !in->costs->overflow && !in->costs->batch_why)
        put_per_sample(w, c, in->costs->batch ? in->costs->batch : 1);
    else
        as_json_kv_null(w, "per_sample");
    if (graph)
        put_backward(w, &in->costs->backward);
    else
        as_json_kv_null(w, "backward");
}

static void put_dims(struct as_json_writer *w, const struct as_inspection *in)
{
    as_json_kv_array(w, "dimensions");
    for (size_t i = 0; i < in->bound.n; i++) {
        const struct as_bound_dim *dim = &in->bound.at[i];

        as_json_object(w);
        put_text_or_null(w, "symbol", dim->symbol);
        as_json_kv_text(w, "input", dim->input);
        as_json_kv_i64(w, "axis", dim->axis);
        put_opt(w, "value", dim->value >= 0, (uint64_t)dim->value);
        as_json_kv_bool(w, "default", dim->by_default);
        as_json_kv_text(w, "source", dim->source);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void put_phases(struct as_json_writer *w, const struct as_inspection *in)
{
    as_json_kv_array(w, "phases");
    for (size_t i = 0; i < in->n_phases; i++) {
        const struct as_inspect_phase *p = &in->phases[i];

        as_json_object(w);
        as_json_kv_text(w, "phase", as_inspect_phase_name(p));
        as_json_kv_u64(w, "tokens", p->tokens);
        as_json_kv_u64(w, "past_tokens", p->past);
        AS_JSON_FIELDS(w, p, macs, flops, bytes_moved, cache_bytes);
        as_json_kv_bool(w, "counts_complete", p->complete);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void put_figures(struct as_json_writer *w, const struct as_inspection *in,
                        const struct as_inspect_group *line, enum as_inspect_column first)
{
    for (int c = (int)first; c < AS_COLUMN_COUNT; c++) {
        enum as_inspect_column column = (enum as_inspect_column)c;
        const char *key = as_inspect_column_key(column);
        uint64_t count;

        if (!key || as_inspect_column_kind(column) == AS_SHOWN_TEXT)
            continue;
        if (as_line_count(line, column, &count))
            as_json_kv_u64(w, key, count);
        else
            as_json_kv_f64(w, key, as_line_number(in, line, column));
    }
}

static void put_layer(struct as_json_writer *w, const struct as_inspection *in,
                      const struct as_cost_row *row)
{
    static const char *const states[] = {"known", "unknown_op", "unknown_shape", "not_counted"};
    const char *label = as_node_label(row->graph, row->node);
    const struct as_inspect_group line = as_row_line(row);

    as_json_object(w);
    as_json_kv_text(w, "name", label);
    as_json_kv_text(w, "op", row->node->op_name);
    if (row->node->domain_name[0])
        as_json_kv_text(w, "domain", row->node->domain_name);
    as_json_kv_text_n(w, "scope", label, as_name_scope(label, 0));
    as_json_kv_u64(w, "depth", row->depth);
    as_json_kv_text(w, "state", states[row->state]);
    put_values(w, "inputs", row->graph, row->node->inputs, row->node->n_inputs);
    put_values(w, "outputs", row->graph, row->node->outputs, row->node->n_outputs);
    put_figures(w, in, &line, AS_COLUMN_TIMES);
    as_json_kv_bool(w, "shares_parameters", row->shares_parameters);
    as_json_object_end(w);
}

static int put_layers(struct as_json_writer *w, const struct as_inspect_report *report,
                      struct assay_error *err)
{
    size_t n, top;
    const uint32_t *order = as_inspect_order(report, &n);

    if (!order)
        return as_fail_nomem(err);
    top = report->top && report->top < n ? report->top : n;
    as_json_kv_array(w, "layers");
    for (size_t i = 0; i < top; i++)
        put_layer(w, report->in, &report->in->costs->rows[order[i]]);
    as_json_array_end(w);
    as_json_kv_u64(w, "layers_left_out", n - top);
    return ASSAY_OK;
}

static int put_groups(struct as_json_writer *w, const struct as_inspect_report *report,
                      struct assay_error *err)
{
    static const char *const by[] = {"none", "op", "scope", "depth", "tree"};
    struct as_inspect_group *groups;
    size_t n;
    int rc;

    if (report->grouping == AS_GROUP_NONE)
        return ASSAY_OK;
    rc = as_inspect_ordered_groups(report, &groups, &n, err);
    if (rc < 0)
        return rc;
    as_json_kv_text(w, "grouped_by", by[report->grouping]);
    as_json_kv_array(w, "groups");
    for (size_t i = 0; i < n && (!report->top || i < report->top); i++) {
        const struct as_inspect_group *g = &groups[i];

        as_json_object(w);
        as_json_kv_text(w, "name", g->name);
        if (g->depth)
            as_json_kv_u64(w, "depth", g->depth);
        as_json_kv_bool(w, "complete", g->known);
        put_figures(w, report->in, g, AS_COLUMN_LAYERS);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    return ASSAY_OK;
}

static void put_sum(struct as_json_writer *w, const char *key, const struct as_param_sum *sum)
{
    as_json_kv_object(w, key);
    as_json_kv_u64(w, "tensors", sum->tensors);
    as_json_kv_u64(w, "elements", sum->elems);
    as_json_kv_u64(w, "bytes", sum->bytes);
    as_json_object_end(w);
}

static void put_parameters(struct as_json_writer *w, const struct as_inspection *in)
{
    const struct as_params *p = in->params;

    as_json_kv_object(w, "parameters");
    as_json_kv_object(w, "by_role");
    for (int i = 0; i < AS_ROLE_COUNT; i++)
        put_sum(w, as_role_name((enum as_role)i), &p->by_role[i]);
    as_json_object_end(w);
    as_json_kv_object(w, "by_dtype");
    for (unsigned i = 0; i < AS_DTYPE_COUNT; i++)
        if (p->by_dtype[i].tensors)
            put_sum(w, as_dtype_name(i), &p->by_dtype[i]);
    as_json_object_end(w);
    as_json_kv_u64(w, "used_by_several", p->shared_uses);
    as_json_kv_array(w, "tensors");
    for (size_t i = 0; i < p->n_params; i++) {
        const struct as_param *param = &p->params[i];
        const struct as_value *value = &in->model->values[param->value];

        as_json_object(w);
        as_json_kv_text(w, "name", value->name);
        as_json_kv_text(w, "role", as_role_name(param->role));
        put_type(w, &value->type);
        as_json_kv_u64(w, "elements", param->elems);
        as_json_kv_u64(w, "bytes", param->bytes);
        as_json_kv_u64(w, "stored_elements", param->stored_elems);
        as_json_kv_text(w, "layer", param->layer);
        as_json_kv_u64(w, "uses", param->n_uses);
        as_json_kv_text(w, "tied_to",
                        param->tied_to == AS_NONE
                            ? NULL
                            : in->model->values[p->params[param->tied_to].value].name);
        as_json_kv_text(w, "equal_to",
                        param->equal_to == AS_NONE
                            ? NULL
                            : in->model->values[p->params[param->equal_to].value].name);
        as_json_kv_bool(w, "generated", param->generated);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

static void put_attention(struct as_json_writer *w, const struct as_inspection *in)
{
    const struct as_decoder *d = &in->costs->decoder;

    put_opt(w, "attention_macs", in->costs->n_attentions > 0, in->attention_macs);
    as_json_kv_bool(w, "attention_macs_with_projections", in->projections_known);
    put_opt(w, "recomputed_tokens", in->recomputed > 0, in->recomputed);
    as_json_kv_array(w, "attention");
    for (size_t i = 0; i < in->costs->n_attentions; i++) {
        const struct as_attention *a = &in->costs->attentions[i];

        as_json_object(w);
        as_json_kv_text(w, "name", a->name);
        as_json_kv_text(w, "kind", as_attention_kind(a));
        AS_JSON_FIELDS(w, a, heads, kv_heads, head_dim, value_dim, queries, keys, causal, cross,
                       macs, causal_macs);
        put_opt(w, "projection_macs", a->projection_macs > 0, a->projection_macs);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    if (!d->architecture && !in->kv_bytes_per_token) {
        as_json_kv_null(w, "decoder");
        return;
    }
    as_json_kv_object(w, "decoder");
    as_json_kv_text(w, "architecture", d->architecture);
    put_opt(w, "layers", d->layers > 0, d->layers);
    put_opt(w, "heads", d->heads > 0, d->heads);
    put_opt(w, "kv_heads", d->kv_heads > 0, d->kv_heads);
    put_opt(w, "head_dim", d->head_dim > 0, d->head_dim);
    put_opt(w, "width", d->width > 0, d->width);
    put_opt(w, "ffn_width", d->ffn_width > 0, d->ffn_width);
    put_opt(w, "context", d->context > 0, d->context);
    put_opt(w, "vocabulary", d->vocabulary > 0, d->vocabulary);
    put_opt(w, "experts", d->experts > 0, d->experts);
    put_opt(w, "experts_used", d->experts_used > 0, d->experts_used);
    as_json_kv_f64(w, "rope_base", d->rope_base > 0 ? d->rope_base : AS_UNKNOWN);
    put_opt(w, "kv_bytes_per_token", in->kv_bytes_per_token > 0, in->kv_bytes_per_token);
    put_opt(w, "kv_bytes_at_context", in->kv_bytes > 0, in->kv_bytes);
    as_json_kv_f64(w, "tokens_per_second_bound", in->max_tokens_per_second);
    as_json_kv_f64(w, "tokens_per_second_bound_at_context", in->max_tokens_at_context);
    as_json_object_end(w);
}

static void put_memory(struct as_json_writer *w, const struct as_inspection *in)
{
    const struct as_memory_plan *p = in->plan;
    bool graph = in->model->has_graph;
    uint64_t total = as_sat_add(in->params->parameter_bytes, p->arena_bytes);

    as_json_kv_object(w, "memory");
    as_json_kv_u64(w, "parameter_bytes", in->params->parameter_bytes);
    as_json_kv_f64(w, "parameter_memory_mb", (double)in->params->parameter_bytes / AS_MIB);
    /* Of a file without a graph nothing is known of activations. */
    put_opt(w, "activation_bytes_peak", graph, p->peak_bytes);
    as_json_kv_f64(w, "activation_memory_mb", graph ? (double)p->peak_bytes / AS_MIB : AS_UNKNOWN);
    as_json_kv_f64(w, "peak_memory_mb", graph ? (double)total / AS_MIB : AS_UNKNOWN);
    /* What is alive at the peak over what the plan takes, as long as nothing was measured. */
    as_json_kv_f64(w, "memory_efficiency",
                   graph && total ? (double)as_sat_add(in->params->parameter_bytes, p->peak_bytes) /
                                        (double)total
                                  : AS_UNKNOWN);
    put_opt(w, "activation_bytes_naive", graph, p->naive_bytes);
    put_opt(w, "activation_bytes_planned", graph, p->arena_bytes);
    put_opt(w, "input_bytes", graph, p->input_bytes);
    put_opt(w, "output_bytes", graph, p->output_bytes);
    as_json_kv_u64(w, "unknown_tensors", p->n_unknown);
    as_json_kv_text(w, "peak_layer",
                    p->n_steps ? as_node_label(in->costs->rows[p->peak_step].graph,
                                               in->costs->rows[p->peak_step].node)
                               : NULL);
    as_json_kv_array(w, "live_bytes");
    for (size_t i = 0; i < p->n_steps; i++)
        as_json_u64(w, p->live_bytes[i]);
    as_json_array_end(w);
    as_json_object_end(w);
}

static void put_training(struct as_json_writer *w, const struct as_inspection *in)
{
    const struct as_train_memory *t = &in->train;

    if (!in->options.training) {
        as_json_kv_null(w, "training");
        return;
    }
    as_json_kv_object(w, "training");
    as_json_kv_text(w, "optimizer", as_optimizer_name(in->options.train.optimizer));
    as_json_kv_bool(w, "mixed_precision", in->options.train.mixed);
    as_json_kv_bool(w, "checkpointing", in->options.train.checkpoint);
    as_json_kv_u64(w, "accumulation", in->options.train.accumulate);
    as_json_kv_u64(w, "zero_stage", in->options.train.zero_stage);
    as_json_kv_u64(w, "ranks", in->options.train.ranks);
    AS_JSON_FIELDS(w, t, parameter_bytes, master_bytes, gradient_bytes, optimizer_bytes);
    as_json_kv_u64(w, "saved_activation_bytes", t->saved_bytes);
    AS_JSON_FIELDS(w, t, workspace_bytes, forward_peak_bytes, backward_peak_bytes);
    as_json_kv_u64(w, "optimizer_peak_bytes", t->step_peak_bytes);
    as_json_kv_u64(w, "peak_bytes", t->peak_bytes);
    as_json_kv_u64(w, "recompute_macs", t->recompute_macs);
    as_json_kv_bool(w, "complete", t->exact);
    as_json_object_end(w);
}

static void put_scaling(struct as_json_writer *w, const struct as_inspection *in)
{
    if (in->n_scale == 0) {
        as_json_kv_null(w, "scaling");
        return;
    }
    as_json_kv_object(w, "scaling");
    as_json_kv_text(w, "of", in->scale_name);
    as_json_kv_array(w, "rows");
    for (size_t i = 0; i < in->n_scale; i++) {
        const struct as_scale_row *row = &in->scale[i];

        as_json_object(w);
        as_json_kv_i64(w, "value", row->value);
        as_json_kv_u64(w, "batch", row->samples);
        AS_JSON_FIELDS(w, row, parameters, parameter_bytes, macs, flops, bytes_moved);
        as_json_kv_u64(w, "activation_bytes_peak", row->activation_bytes);
        put_opt(w, "training_bytes_peak", in->options.training, row->training_bytes);
        as_json_kv_bool(w, "complete", row->complete);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

static void put_weights(struct as_json_writer *w, const struct as_inspection *in)
{
    const struct as_weight_stats *s = &in->weights;
    const double total = s->total_weights ? (double)s->total_weights : AS_UNKNOWN;

    if (!in->options.weights) {
        as_json_kv_null(w, "weight_distribution");
        return;
    }
    as_json_kv_object(w, "weight_distribution");
    if (in->weights_rc < 0) {
        as_json_kv_text(w, "error", in->weights_error.msg);
        as_json_object_end(w);
        return;
    }
    AS_JSON_FIELDS(w, s, total_weights, mean, std, min, max);
    for (int i = 0; i < AS_WEIGHT_PERCENTILES; i++) {
        static const char *const keys[AS_WEIGHT_PERCENTILES] = {
            "percentile_10", "percentile_25", "percentile_50", "percentile_75", "percentile_90"};

        as_json_kv_f64(w, keys[i], s->percentile[i]);
    }
    as_json_kv_f64(w, "percentile_relative_error", s->percentile_error);
    as_json_kv_f64(w, "below_threshold_0001", 100 * (double)s->below_0001 / total);
    as_json_kv_f64(w, "below_threshold_001", 100 * (double)s->below_001 / total);
    as_json_kv_f64(w, "below_threshold_01", 100 * (double)s->below_01 / total);
    as_json_kv_u64(w, "zeros", s->n_zero);
    as_json_kv_u64(w, "not_a_number", s->n_nan);
    as_json_kv_u64(w, "infinite", s->n_inf);
    as_json_kv_u64(w, "skipped", s->skipped);
    as_json_object_end(w);
}

static void put_advice(struct as_json_writer *w, const struct as_inspection *in)
{
    as_json_kv_array(w, "quantisation_candidates");
    for (size_t i = 0; i < in->n_quant; i++) {
        const struct as_quant_candidate *q = &in->quant[i];
        const struct as_cost_row *row = &in->costs->rows[q->row];

        as_json_object(w);
        as_json_kv_text(w, "name", as_node_label(row->graph, row->node));
        as_json_kv_text(w, "op", row->node->op_name);
        as_json_kv_u64(w, "parameters", q->parameters);
        as_json_kv_u64(w, "bytes", q->bytes);
        as_json_kv_u64(w, "saved_bytes_at_8_bits", q->saved_bytes);
        as_json_kv_f64(w, "arithmetic_intensity", q->intensity);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_kv_array(w, "recommendations");
    for (size_t i = 0; i < in->n_recommendations; i++)
        as_json_fields_write(w, &as_finding_shape, &in->recommendations[i]);
    as_json_array_end(w);
    as_json_kv_array(w, "deployment");
    for (size_t i = 0; i < AS_DEPLOYMENTS; i++) {
        const struct as_deployment *d = &in->deployment[i];

        as_json_object(w);
        as_json_kv_text(w, "dtype", d->dtype);
        as_json_kv_u64(w, "weight_bytes", d->weight_bytes);
        put_opt(w, "total_bytes", in->model->has_graph, d->total_bytes);
        as_json_kv_text(w, "fits_in", in->model->has_graph ? d->device_class : NULL);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    if (!in->options.fit_bytes) {
        as_json_kv_null(w, "fit");
        return;
    }
    as_json_kv_object(w, "fit");
    as_json_kv_u64(w, "memory_bytes", in->options.fit_bytes);
    as_json_kv_u64(w, "largest", in->fit.value);
    as_json_kv_u64(w, "needed_bytes", in->fit.bytes);
    as_json_kv_u64(w, "needed_bytes_at_one", in->fit.bytes_at_one);
    as_json_kv_bool(w, "limit_reached", in->fit.at_max);
    as_json_kv_bool(w, "context_reached", in->fit.at_context);
    as_json_object_end(w);
}

static void put_findings(struct as_json_writer *w, const struct as_inspection *in)
{
    as_json_kv_array(w, "findings");
    for (const struct as_finding *f = in->model->findings; f; f = f->next) {
        as_json_object(w);
        as_json_kv_text(w, "kind", as_inspect_finding_name(f->kind));
        AS_JSON_FIELDS(w, f, node, op, text, times);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_kv_u64(w, "findings_lost", in->model->findings_lost);
}

int as_inspect_json(const struct as_inspect_report *report, struct as_out *out,
                    struct assay_error *err)
{
    const struct as_inspection *in = report->in;
    const struct as_graph *main = in->model->main;
    struct as_json_writer w;
    int rc;

    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.inspect");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_text(&w, "convention", AS_COST_CONVENTION);
    put_model(&w, in);
    put_dims(&w, in);
    put_phases(&w, in);
    put_values(&w, "inputs", main, main->inputs, main->n_inputs);
    put_values(&w, "outputs", main, main->outputs, main->n_outputs);
    rc = put_groups(&w, report, err);
    if (rc == ASSAY_OK)
        rc = put_layers(&w, report, err);
    if (rc < 0)
        return rc;
    put_attention(&w, in);
    put_parameters(&w, in);
    put_memory(&w, in);
    put_training(&w, in);
    put_scaling(&w, in);
    put_weights(&w, in);
    put_advice(&w, in);
    put_findings(&w, in);
    as_json_object_end(&w);
    as_out_char(out, '\n');
    return as_json_writer_finish(&w, err);
}
