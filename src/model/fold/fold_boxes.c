/* model/fold/fold_boxes.c - NonMaxSuppression: which boxes are kept, when boxes and scores are
 * known. Of every batch and class: by falling score, without those that overlap one that is kept.
 */
#include "model/fold/fold.h"

int as_infer_boxes(struct as_infer *ctx)
{
    struct as_dims boxes, scores, out = {2, {AS_DIM_UNKNOWN, 3}};

    if (as_in_dims(ctx, 0, &boxes) &&
        (boxes.rank != 3 || (boxes.at[2] != 4 && boxes.at[2] != AS_DIM_UNKNOWN)))
        return as_conflict(ctx, "the boxes are not [batch, boxes, 4]");
    if (as_in_dims(ctx, 1, &scores) && scores.rank != 3)
        return as_conflict(ctx, "the scores are not [batch, classes, boxes]");
    return as_out_tensor(ctx, 0, AS_DTYPE_I64, &out);
}

struct suppressing {
    struct as_fold_in boxes, scores;
    bool centered, has_floor;
    int64_t most; /* of a class */
    double overlap, floor;
    uint64_t n_boxes, n_classes, n_batches;
    uint64_t *order, *kept;
    uint64_t row; /* of the scores: batch and class */
};

struct box {
    double x0, y0, x1, y1;
};

static struct box box_at(const struct suppressing *s, uint64_t batch, uint64_t i)
{
    double c[4], swap;

    for (uint64_t k = 0; k < 4; k++)
        c[k] = as_data_f64(s->boxes.data, (batch * s->n_boxes + i) * 4 + k);
    if (s->centered)
        return (struct box){c[0] - c[2] / 2, c[1] - c[3] / 2, c[0] + c[2] / 2, c[1] + c[3] / 2};
    for (int k = 0; k < 2; k++)
        if (c[k] > c[k + 2]) {
            swap = c[k];
            c[k] = c[k + 2];
            c[k + 2] = swap;
        }
    return (struct box){c[1], c[0], c[3], c[2]};
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static double overlap_of(struct box a, struct box b)
{
    double width = least(a.x1, b.x1) - most(a.x0, b.x0);
    double height = least(a.y1, b.y1) - most(a.y0, b.y0);
    double shared = width > 0 && height > 0 ? width * height : 0;
    double both = (a.x1 - a.x0) * (a.y1 - a.y0) + (b.x1 - b.x0) * (b.y1 - b.y0) - shared;

    return both > 0 ? shared / both : 0;
}

static bool scores_more(const void *of, uint64_t a, uint64_t b)
{
    const struct suppressing *s = of;

    return as_fold_compare(s->scores.data, s->row * s->n_boxes + a, s->row * s->n_boxes + b) > 0;
}

/* Fills s->kept with the boxes of one class; returns how many. */
static uint64_t keep_class(struct suppressing *s, uint64_t batch, uint64_t kind)
{
    uint64_t n = 0, n_kept = 0;

    s->row = batch * s->n_classes + kind;
    for (uint64_t i = 0; i < s->n_boxes; i++)
        if (!s->has_floor || as_data_f64(s->scores.data, s->row * s->n_boxes + i) > s->floor)
            s->order[n++] = i;
    as_fold_sort(s->order, s->kept, n, scores_more, s);
    for (uint64_t i = 0; i < n && n_kept < (uint64_t)s->most; i++) {
        struct box box = box_at(s, batch, s->order[i]);
        bool free = true;

        for (uint64_t k = 0; k < n_kept && free; k++)
            free = overlap_of(box, box_at(s, batch, s->kept[k])) <= s->overlap;
        if (free)
            s->kept[n_kept++] = s->order[i];
    }
    return n_kept;
}

static bool read_limits(const struct as_infer *ctx, struct suppressing *s)
{
    if (as_in_type(ctx, 2) && !as_in_int(ctx, 2, &s->most))
        return false;
    if (as_in_type(ctx, 3) && !as_in_float(ctx, 3, &s->overlap))
        return false;
    s->has_floor = as_in_type(ctx, 4) != NULL;
    if (s->has_floor && !as_in_float(ctx, 4, &s->floor))
        return false;
    s->centered = as_node_int(ctx->node, "center_point_box", 0) != 0;
    s->most = s->most < 0 ? 0 : s->most;
    return true;
}

static bool read_boxes(const struct as_infer *ctx, struct suppressing *s)
{
    const struct as_dims *boxes = &s->boxes.dims, *scores = &s->scores.dims;

    if (!as_fold_in(ctx, 0, &s->boxes) || !as_fold_in(ctx, 1, &s->scores) ||
        !as_fold_ordered(s->boxes.data) || !as_fold_ordered(s->scores.data) || boxes->rank != 3 ||
        scores->rank != 3 || boxes->at[2] != 4 || boxes->at[0] != scores->at[0] ||
        boxes->at[1] != scores->at[2])
        return false;
    s->n_batches = (uint64_t)scores->at[0];
    s->n_classes = (uint64_t)scores->at[1];
    s->n_boxes = (uint64_t)scores->at[2];
    /* Every box may meet every other one. */
    return s->scores.data->n > 0 && s->scores.data->n * s->n_boxes <= 1u << 24;
}

int as_fold_boxes(struct as_infer *ctx)
{
    struct suppressing s = {0};
    struct as_dims dims = {2, {0, 3}};
    struct as_fold_out out;
    int64_t(*rows)[3];
    uint64_t n = 0;

    if (!read_limits(ctx, &s) || (s.most > 0 && !read_boxes(ctx, &s)))
        return ASSAY_OK;
    rows = as_arena_zero(ctx->arena, s.most ? s.scores.data->n : 1, sizeof *rows);
    s.order = as_arena_zero(ctx->arena, s.n_boxes + 1, sizeof *s.order);
    s.kept = as_arena_zero(ctx->arena, s.n_boxes + 1, sizeof *s.kept);
    if (!rows || !s.order || !s.kept)
        return ASSAY_OK;
    for (uint64_t batch = 0; batch < s.n_batches; batch++)
        for (uint64_t kind = 0; kind < s.n_classes; kind++) {
            uint64_t kept = keep_class(&s, batch, kind);

            for (uint64_t i = 0; i < kept; i++, n++) {
                rows[n][0] = (int64_t)batch;
                rows[n][1] = (int64_t)kind;
                rows[n][2] = (int64_t)s.kept[i];
            }
        }
    dims.at[0] = (int64_t)n;
    if (!as_fold_start(ctx, &out, AS_DTYPE_I64, &dims))
        return as_out_tensor(ctx, 0, AS_DTYPE_I64, &dims);
    for (uint64_t i = 0; i < 3 * n; i++)
        as_data_put_i64(out.data, i, rows[i / 3][i % 3]);
    return as_fold_end(ctx, 0, &out);
}
