/* engine/kernels/image/kern_boxes.c - NonMaxSuppression: of every batch and class the boxes by
 * falling score, without those that overlap one that is kept. */
#include <math.h>
#include <string.h>

#include "engine/kernels/move/kern_move.h"
#include "model/fold/fold.h"

struct box {
    float low[2], high[2], area;
};

struct suppressing {
    const float *scores; /* of the class at hand */
    struct box *boxes;   /* of the batch at hand */
    uint64_t n, most;
    bool centered, has_floor;
    double overlap, floor;
    uint64_t *order, *kept, *spare;
};

static void read_boxes(struct suppressing *s, const float *from)
{
    for (uint64_t i = 0; i < s->n; i++, from += 4) {
        struct box *box = &s->boxes[i];

        for (int d = 0; d < 2; d++) {
            float a = from[d], b = from[d + 2];

            box->low[d] = s->centered ? a - b / 2 : fminf(a, b);
            box->high[d] = s->centered ? a + b / 2 : fmaxf(a, b);
        }
        box->area = (box->high[0] - box->low[0]) * (box->high[1] - box->low[1]);
    }
}

static bool overlaps(const struct suppressing *s, const struct box *a, const struct box *b)
{
    float x = fminf(a->high[0], b->high[0]) - fmaxf(a->low[0], b->low[0]);
    float y = fminf(a->high[1], b->high[1]) - fmaxf(a->low[1], b->low[1]);
    float shared, both;

    if (!(x > 0) || !(y > 0))
        return false;
    shared = x * y;
    both = a->area + b->area - shared;
    return both > 0 && (double)(shared / both) > s->overlap;
}

static bool scores_more(const void *of, uint64_t a, uint64_t b)
{
    const float *scores = of;

    return scores[a] > scores[b];
}

/* Fills s->kept with the boxes of one class; returns how many. */
static uint64_t keep_class(struct suppressing *s)
{
    uint64_t n = 0, n_kept = 0;

    for (uint64_t i = 0; i < s->n; i++)
        if (!isnan(s->scores[i]) && (!s->has_floor || (double)s->scores[i] > s->floor))
            s->order[n++] = i;
    as_fold_sort(s->order, s->spare, n, scores_more, s->scores);
    for (uint64_t i = 0; i < n && n_kept < s->most; i++) {
        const struct box *box = &s->boxes[s->order[i]];
        bool free = true;

        for (uint64_t j = 0; j < n_kept && free; j++)
            free = !overlaps(s, box, &s->boxes[s->kept[j]]);
        if (free)
            s->kept[n_kept++] = s->order[i];
    }
    return n_kept;
}

static int check_shapes(struct as_kernel_ctx *k)
{
    const struct as_val *boxes = k->in[0], *scores = k->in[1];

    if (boxes->dtype != AS_DTYPE_F32 || scores->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "boxes of %s", as_dtype_name(boxes->dtype));
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 ||
        boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2])
        return as_kernel_fail(k, "boxes and scores do not fit together");
    return ASSAY_OK;
}

/* Rows are found one class at a time, and as many as there may be have room. */
static int suppress(struct as_kernel_ctx *k, struct suppressing *s, int64_t *rows, uint64_t *n)
{
    const struct as_val *boxes = k->in[0], *scores = k->in[1];
    uint64_t classes = (uint64_t)scores->dims[1];

    *n = 0;
    for (uint64_t b = 0; b < (uint64_t)scores->dims[0]; b++) {
        read_boxes(s, (const float *)boxes->data + b * s->n * 4);
        for (uint64_t c = 0; c < classes; c++) {
            uint64_t kept;

            s->scores = (const float *)scores->data + (b * classes + c) * s->n;
            kept = keep_class(s);
            for (uint64_t i = 0; i < kept; i++, (*n)++) {
                rows[3 * *n] = (int64_t)b;
                rows[3 * *n + 1] = (int64_t)c;
                rows[3 * *n + 2] = (int64_t)s->kept[i];
            }
        }
    }
    return ASSAY_OK;
}

int as_kern_boxes(struct as_kernel_ctx *k)
{
    struct suppressing s = {0};
    struct as_dims dims = {2, {0, 3}};
    double most = as_in_number(k, 2, 0);
    uint64_t n = 0, classes;
    int64_t *rows = NULL;
    int rc = check_shapes(k);

    if (rc < 0)
        return rc;
    s.n = (uint64_t)k->in[0]->dims[1];
    s.most = !(most > 0) ? 0 : most < (double)s.n ? (uint64_t)most : s.n;
    s.overlap = as_in_number(k, 3, 0);
    s.has_floor = as_has_in(k, 4);
    s.floor = as_in_number(k, 4, 0);
    s.centered = as_node_int(k->node, "center_point_box", 0) != 0;
    if (s.most > 0 && k->in[1]->n > 0) {
        classes = k->in[1]->n / s.n;
        s.boxes = as_kernel_work(k, s.n, sizeof *s.boxes);
        s.order = as_kernel_work(k, s.n, 3 * sizeof *s.order);
        rows = as_kernel_work(k, classes * s.most, 3 * sizeof *rows);
        if (!s.boxes || !s.order || !rows)
            return ASSAY_ERR_NOMEM;
        s.kept = s.order + s.n;
        s.spare = s.kept + s.n;
        rc = suppress(k, &s, rows, &n);
    }
    dims.at[0] = (int64_t)n;
    if (rc == ASSAY_OK)
        rc = as_kernel_out(k, 0, AS_DTYPE_I64, &dims);
    if (rc == ASSAY_OK && as_has_out(k, 0) && n > 0)
        memcpy(k->out[0]->data, rows, n * 3 * sizeof *rows);
    return rc;
}
