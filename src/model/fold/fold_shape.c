/* model/fold/fold_shape.c - parts of tensors: Slice, Split, Pad, Tile and Concat of constants.
 * The rules of the first three are here too, for they share their arithmetic with the folds. */
#include "model/fold/fold.h"

static bool attr_list(const struct as_infer *ctx, const char *name, struct as_dims *out)
{
    struct as_ints ints;

    out->rank = 0;
    if (!as_node_ints(ctx->node, name, &ints) || ints.n > AS_MAX_RANK)
        return false;
    for (; (size_t)out->rank < ints.n; out->rank++)
        out->at[out->rank] = ints.at[out->rank] == INT64_MIN ? INT64_MIN + 1 : ints.at[out->rank];
    return true;
}

/* ---- Slice ---- */

struct slice {
    struct as_dims in, out;
    bool known; /* where it begins and how it steps, on every axis */
    int64_t start[AS_MAX_RANK], step[AS_MAX_RANK];
};

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* One axis of length d >= 0; all numbers known, step not 0. Returns how many are taken. */
static int64_t cut_axis(int64_t d, int64_t *start, int64_t end, int64_t step)
{
    int64_t last = step > 0 ? d : d - 1, first = step > 0 ? 0 : -1;

    if (d == 0)
        return 0;
    *start = clamp(*start < 0 ? *start + d : *start, 0, last);
    end = clamp(end < 0 ? end + d : end, first, last);
    if (step > 0)
        return end > *start ? (end - *start - 1) / step + 1 : 0;
    return *start > end ? (*start - end - 1) / -step + 1 : 0;
}

static int slice_axis(struct as_infer *ctx, struct slice *s, int64_t said, int64_t start,
                      int64_t end, int64_t step)
{
    int axis;

    if (!as_axis(said, s->in.rank, &axis))
        return as_conflict(ctx, "axis %lld of a tensor with %d dimensions", (long long)said,
                           s->in.rank);
    if (step == 0)
        return as_conflict(ctx, "the step on axis %d is 0", axis);
    s->start[axis] = start;
    s->step[axis] = step;
    if (start == AS_DIM_UNKNOWN || end == AS_DIM_UNKNOWN || step == AS_DIM_UNKNOWN) {
        s->out.at[axis] = s->in.at[axis] == 0 ? 0 : AS_DIM_UNKNOWN;
        s->known = false;
    } else if (s->in.at[axis] == AS_DIM_UNKNOWN) {
        s->known = false;
    } else {
        s->out.at[axis] = cut_axis(s->in.at[axis], &s->start[axis], end, step);
    }
    return ASSAY_OK;
}

/* The four lists, each as an attribute before opset 10 and as an input since. */
struct slice_lists {
    struct as_dims starts, ends, axes, steps;
    bool has_starts, has_ends, has_axes, has_steps; /* they are known */
    bool axes_open;                                 /* they are there, but not known */
    int64_t n;                                      /* axes that are cut, or AS_DIM_UNKNOWN */
};

static void read_lists(const struct as_infer *ctx, struct slice_lists *l)
{
    if (as_node_attr(ctx->node, "starts")) {
        l->has_starts = attr_list(ctx, "starts", &l->starts);
        l->has_ends = attr_list(ctx, "ends", &l->ends);
        l->has_axes = attr_list(ctx, "axes", &l->axes);
        l->axes_open = false;
        l->has_steps = false;
        l->n = l->starts.rank;
        return;
    }
    l->has_starts = as_in_list(ctx, 1, &l->starts);
    l->has_ends = as_in_list(ctx, 2, &l->ends);
    l->has_axes = as_in_list(ctx, 3, &l->axes);
    for (int i = 0; i < l->axes.rank; i++)
        l->has_axes &= l->axes.at[i] != AS_DIM_UNKNOWN;
    l->axes_open = !l->has_axes && as_in_type(ctx, 3);
    l->has_steps = as_in_list(ctx, 4, &l->steps);
    if (!l->has_steps && as_in_type(ctx, 4)) {
        l->has_steps = true;
        for (l->steps.rank = 0; l->steps.rank < AS_MAX_RANK; l->steps.rank++)
            l->steps.at[l->steps.rank] = AS_DIM_UNKNOWN;
    }
    l->n = l->has_starts ? l->starts.rank : as_in_length(ctx, 1);
    if (l->n < 0)
        l->n = l->has_ends ? l->ends.rank : as_in_length(ctx, 2);
}

static int64_t pick(bool has, const struct as_dims *list, int i, int64_t fallback)
{
    return has && i < list->rank ? list->at[i] : fallback;
}

static int read_slice(struct as_infer *ctx, struct slice *s)
{
    struct slice_lists l;
    int rc = ASSAY_OK;

    s->out = s->in;
    s->known = true;
    for (int i = 0; i < s->in.rank; i++) {
        s->start[i] = 0;
        s->step[i] = 1;
    }
    read_lists(ctx, &l);
    if (l.axes_open || (l.n < 0 && !l.has_axes)) {
        s->known = false;
        for (int i = 0; i < s->in.rank; i++)
            s->out.at[i] = AS_DIM_UNKNOWN;
        return ASSAY_OK;
    }
    if (l.n < 0)
        l.n = l.axes.rank;
    if (l.n > s->in.rank || (l.has_axes && l.axes.rank != l.n) ||
        (l.has_starts && l.has_ends && l.starts.rank != l.ends.rank))
        return as_conflict(ctx, "starts, ends and axes are not of one length within %d",
                           s->in.rank);
    for (int i = 0; i < l.n && rc == ASSAY_OK; i++)
        rc = slice_axis(
            ctx, s, l.has_axes ? l.axes.at[i] : i, pick(l.has_starts, &l.starts, i, AS_DIM_UNKNOWN),
            pick(l.has_ends, &l.ends, i, AS_DIM_UNKNOWN), pick(l.has_steps, &l.steps, i, 1));
    return rc;
}

int as_infer_slice(struct as_infer *ctx)
{
    struct slice s;
    int rc;

    if (!as_in_dims(ctx, 0, &s.in))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    rc = read_slice(ctx, &s);
    if (rc < 0)
        return rc;
    for (int i = 0; i < s.out.rank; i++)
        if (s.out.at[i] == AS_DIM_UNKNOWN && s.in.at[i] != AS_DIM_UNKNOWN) {
            (void)as_unknown(ctx, "where the slice begins or ends is not known before it runs");
            break;
        }
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &s.out);
}

int as_fold_slice(struct as_infer *ctx)
{
    int64_t strides[AS_MAX_RANK], base = 0;
    struct as_fold_out out;
    struct as_fold_in in;
    struct slice s;

    if (!as_fold_in(ctx, 0, &in))
        return ASSAY_OK;
    s.in = in.dims;
    if (read_slice(ctx, &s) < 0 || !s.known || !as_fold_start(ctx, &out, in.data->dtype, &s.out))
        return ASSAY_OK;
    if (out.data->n > 0)
        for (int i = 0; i < s.in.rank; i++) {
            base += s.start[i] * in.strides[i];
            strides[i] = s.out.at[i] > 1 ? s.step[i] * in.strides[i] : 0;
        }
    as_fold_view(&out, in.data, strides, base);
    return as_fold_end(ctx, 0, &out);
}

/* ---- Split ---- */

/* The length of part `i` along an axis of `d`. */
static int64_t part_length(const struct as_infer *ctx, uint32_t i, int64_t d, bool has_sizes,
                           const struct as_dims *sizes)
{
    int64_t n = ctx->node->n_outputs, each;

    if (has_sizes)
        return i < (uint32_t)sizes->rank ? sizes->at[i] : AS_DIM_UNKNOWN;
    if (d == AS_DIM_UNKNOWN || as_in_type(ctx, 1))
        return AS_DIM_UNKNOWN;
    each = d / n + (d % n != 0);
    return each * (int64_t)i >= d ? 0 : d - each * (int64_t)i < each ? d - each * (int64_t)i : each;
}

static bool sizes_of(const struct as_infer *ctx, struct as_dims *sizes)
{
    return attr_list(ctx, "split", sizes) || as_in_list(ctx, 1, sizes);
}

static int check_split(struct as_infer *ctx, const struct as_dims *in, int axis, bool has_sizes,
                       const struct as_dims *sizes)
{
    int64_t sum = 0, d = in->at[axis];

    if (!has_sizes) {
        if (d != AS_DIM_UNKNOWN && d % ctx->node->n_outputs != 0 && !as_in_type(ctx, 1) &&
            !as_node_attr(ctx->node, "num_outputs") && !as_node_attr(ctx->node, "split"))
            return as_conflict(ctx, "%lld cannot be split into %u equal parts", (long long)d,
                               ctx->node->n_outputs);
        return ASSAY_OK;
    }
    for (int i = 0; i < sizes->rank; i++) {
        if (sizes->at[i] < 0 && sizes->at[i] != AS_DIM_UNKNOWN)
            return as_conflict(ctx, "part %d would have length %lld", i, (long long)sizes->at[i]);
        sum = as_dim_add(sum, sizes->at[i]);
    }
    if (sum != AS_DIM_UNKNOWN && d != AS_DIM_UNKNOWN && sum != d)
        return as_conflict(ctx, "the parts are %lld together, the axis is %lld", (long long)sum,
                           (long long)d);
    return ASSAY_OK;
}

/* In TensorFlow Lite one length may be -1: the rest. */
static void fill_rest(struct as_dims *sizes, int64_t d)
{
    int64_t sum = 0;

    for (int i = 0; i < sizes->rank; i++)
        sum = sizes->at[i] == -1 ? sum : as_dim_add(sum, sizes->at[i]);
    for (int i = 0; i < sizes->rank; i++)
        if (sizes->at[i] == -1)
            sizes->at[i] =
                d == AS_DIM_UNKNOWN || sum == AS_DIM_UNKNOWN || sum > d ? AS_DIM_UNKNOWN : d - sum;
}

int as_infer_split(struct as_infer *ctx)
{
    bool lowered = as_node_is_lowered(ctx->node); /* then the axis is an input */
    int64_t said = as_node_int(ctx->node, "axis", 0), d;
    struct as_dims in, sizes;
    bool has_sizes = sizes_of(ctx, &sizes), has_dims = as_in_dims(ctx, 0, &in);
    int axis = 0, rc = ASSAY_OK;

    if (ctx->node->n_outputs == 0)
        return ASSAY_OK;
    if (lowered && !as_in_int(ctx, 2, &said)) {
        has_dims = false;
        (void)as_unknown(ctx, "its axis is not a constant");
    }
    if (has_dims && !as_axis(said, in.rank, &axis))
        return as_conflict(ctx, "axis %lld of a tensor with %d dimensions", (long long)said,
                           in.rank);
    if (lowered && has_dims && has_sizes)
        fill_rest(&sizes, in.at[axis]);
    if (has_dims)
        rc = check_split(ctx, &in, axis, has_sizes, &sizes);
    d = has_dims ? in.at[axis] : AS_DIM_UNKNOWN;
    if (has_dims && !has_sizes && as_in_type(ctx, 1))
        (void)as_unknown(ctx, "the lengths of the parts are not known before it runs");
    for (uint32_t i = 0; i < ctx->node->n_outputs && rc == ASSAY_OK; i++) {
        if (has_dims)
            in.at[axis] = part_length(ctx, i, d, has_sizes, &sizes);
        rc = as_out_tensor(ctx, i, as_in_dtype(ctx, 0), has_dims ? &in : NULL);
    }
    return rc;
}

int as_fold_split(struct as_infer *ctx)
{
    int64_t said = as_node_int(ctx->node, "axis", 0), begin = 0;
    struct as_fold_out out;
    struct as_fold_in in;
    struct as_dims dims, sizes;
    bool has_sizes = sizes_of(ctx, &sizes);
    int axis, rc = ASSAY_OK;

    if (!as_fold_in(ctx, 0, &in) || !as_axis(said, in.dims.rank, &axis))
        return ASSAY_OK;
    dims = in.dims;
    for (uint32_t i = 0; i < ctx->node->n_outputs && rc == ASSAY_OK; i++) {
        dims.at[axis] = part_length(ctx, i, in.dims.at[axis], has_sizes, &sizes);
        if (dims.at[axis] < 0 || dims.at[axis] > in.dims.at[axis] - begin)
            return ASSAY_OK;
        if (as_node_output(ctx->graph, ctx->node, i)) {
            if (!as_fold_start(ctx, &out, in.data->dtype, &dims))
                return ASSAY_OK;
            as_fold_view(&out, in.data, in.strides, out.data->n ? begin * in.strides[axis] : 0);
            rc = as_fold_end(ctx, i, &out);
        }
        begin += dims.at[axis];
    }
    return rc;
}

/* ---- Pad ---- */

struct pads {
    int64_t before[AS_MAX_RANK], after[AS_MAX_RANK]; /* AS_DIM_UNKNOWN: not known */
};

/* All at once, since a list of pads is twice as long as a shape may be. */
static bool pad_numbers(const struct as_infer *ctx, struct as_ints *out)
{
    const struct as_data *pairs = as_node_is_lowered(ctx->node) ? as_in_data(ctx, 1) : NULL;
    uint64_t n = pairs ? pairs->n / 2 : 0;
    int64_t *at;

    /* In TensorFlow Lite the two of an axis are beside each other. */
    if (pairs && pairs->n <= (uint64_t)2 * AS_MAX_RANK && as_dtype_is_integer(pairs->dtype)) {
        at = as_arena_zero(ctx->arena, 2 * n + 1, sizeof *at);
        for (uint64_t i = 0; at && i < 2 * n; i++)
            at[i % 2 * n + i / 2] = as_data_i64(pairs, i);
        *out = (struct as_ints){at ? pairs->n : 0, at};
        return at != NULL;
    }
    if (as_node_ints(ctx->node, "pads", out) || as_node_ints(ctx->node, "paddings", out))
        return true;
    return as_in_length(ctx, 1) <= (int64_t)2 * AS_MAX_RANK && as_in_ints(ctx, 1, out);
}

static int read_pads(struct as_infer *ctx, int rank, struct pads *pads)
{
    bool has_axes = as_in_type(ctx, 3) != NULL, open;
    struct as_dims axes = {0};
    struct as_ints list;
    int64_t n = rank;

    for (int i = 0; i < rank; i++)
        pads->before[i] = pads->after[i] = has_axes ? 0 : AS_DIM_UNKNOWN;
    open = has_axes && !as_in_list(ctx, 3, &axes);

    for (int i = 0; i < axes.rank; i++)
        open |= axes.at[i] == AS_DIM_UNKNOWN;
    if (open) {
        for (int i = 0; i < rank; i++)
            pads->before[i] = pads->after[i] = AS_DIM_UNKNOWN;
        return ASSAY_OK;
    }
    if (has_axes)
        n = axes.rank;
    if (pad_numbers(ctx, &list) && list.n != 2 * (size_t)n)
        return as_conflict(ctx, "%zu pads for %lld axes", list.n, (long long)n);
    for (int i = 0; i < n; i++) {
        int axis;

        if (!as_axis(has_axes ? axes.at[i] : i, rank, &axis))
            return as_conflict(ctx, "axis %lld of a tensor with %d dimensions",
                               (long long)axes.at[i], rank);
        pads->before[axis] = list.at ? list.at[i] : AS_DIM_UNKNOWN;
        pads->after[axis] = list.at ? list.at[n + i] : AS_DIM_UNKNOWN;
        if (as_node_is_lowered(ctx->node) && list.at && (list.at[i] < 0 || list.at[n + i] < 0))
            return as_conflict(ctx, "a padding of %lld and %lld", (long long)list.at[i],
                               (long long)list.at[n + i]);
    }
    return ASSAY_OK;
}

/* d + before + after, where pads may be negative. False: past any number. */
static bool padded(int64_t d, int64_t before, int64_t after, int64_t *out)
{
    *out = AS_DIM_UNKNOWN;
    if (d == AS_DIM_UNKNOWN || before == AS_DIM_UNKNOWN || after == AS_DIM_UNKNOWN)
        return true;
    return !__builtin_add_overflow(d, before, out) && !__builtin_add_overflow(*out, after, out) &&
           *out >= 0 && *out <= INT64_MAX / 2;
}

int as_infer_pad(struct as_infer *ctx)
{
    struct as_dims in;
    struct pads pads;
    bool open = false;
    int rc;

    if (!as_in_dims(ctx, 0, &in))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    rc = read_pads(ctx, in.rank, &pads);
    if (rc < 0)
        return rc;
    for (int i = 0; i < in.rank; i++) {
        open |= pads.before[i] == AS_DIM_UNKNOWN || pads.after[i] == AS_DIM_UNKNOWN;
        if (!padded(in.at[i], pads.before[i], pads.after[i], &in.at[i]))
            return as_conflict(ctx, "dimension %d cannot be padded by %lld and %lld", i,
                               (long long)pads.before[i], (long long)pads.after[i]);
    }
    if (open)
        (void)as_unknown(ctx, "the pads are not known before it runs");
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &in);
}

/* Where place `o` of a padded axis comes from; -1: from nowhere. */
static int64_t pad_source(int64_t o, int64_t d, int mode)
{
    if (o >= 0 && o < d)
        return o;
    switch (mode) {
    case 'e':
        return o < 0 ? 0 : d - 1;
    case 'w':
        return (o % d + d) % d;
    case 'r': {
        int64_t period = 2 * (d - 1), k = period ? (o % period + period) % period : 0;

        return k < d ? k : period - k;
    }
    default:
        return -1;
    }
}

static int pad_mode(const struct as_node *node)
{
    struct as_text mode;

    return as_node_text(node, "mode", &mode) && mode.size > 0 ? mode.at[0] : 'c';
}

/* What fills a pad: input 2, else the attribute of older opsets, else zero. NULL: not known. */
static const struct as_data *pad_fill(const struct as_infer *ctx, unsigned dtype)
{
    struct as_data *zero;
    struct as_fold_in in;

    if (as_in_type(ctx, 2))
        return as_fold_in(ctx, 2, &in) && in.data->n == 1 && in.data->dtype == dtype ? in.data
                                                                                     : NULL;
    zero = dtype == AS_DTYPE_STRING ? NULL : as_data_new(ctx->arena, dtype, 1);
    if (zero && as_node_attr(ctx->node, "value"))
        as_data_put_f64(zero, 0, as_node_float(ctx->node, "value", 0));
    return zero;
}

int as_fold_pad(struct as_infer *ctx)
{
    struct as_fold_walk walk = {0};
    const struct as_data *fill;
    struct as_fold_out out;
    struct as_fold_in in;
    struct as_dims dims;
    struct pads pads = {{0}, {0}};
    int mode = pad_mode(ctx->node);

    if (!as_fold_in(ctx, 0, &in) || in.data->n == 0 || read_pads(ctx, in.dims.rank, &pads) < 0 ||
        !as_type_dims(as_fold_type(ctx, 0), &dims) || dims.rank != in.dims.rank ||
        !as_fold_start(ctx, &out, in.data->dtype, &dims))
        return ASSAY_OK;
    fill = pad_fill(ctx, in.data->dtype);
    if (!fill)
        return ASSAY_OK;
    for (int i = 0; i < dims.rank; i++)
        if (pads.before[i] == AS_DIM_UNKNOWN || pads.before[i] < -in.dims.at[i] ||
            pads.before[i] > dims.at[i] + in.dims.at[i])
            return ASSAY_OK;
    walk.dims = &out.dims;
    for (uint64_t i = 0; i < out.data->n; i++, as_fold_step(&walk)) {
        bool inside = true;
        int64_t from = 0;

        for (int d = 0; d < dims.rank; d++) {
            int64_t k = pad_source(walk.at[d] - pads.before[d], in.dims.at[d], mode);

            inside &= k >= 0;
            from += k * in.strides[d];
        }
        as_fold_copy(&out, i, inside ? in.data : fill, inside ? (uint64_t)from : 0);
    }
    return as_fold_end(ctx, 0, &out);
}

/* ---- Tile and Concat ---- */

int as_fold_tile(struct as_infer *ctx)
{
    struct as_fold_walk walk = {0};
    struct as_fold_out out;
    struct as_fold_in in;
    struct as_dims dims;

    if (!as_fold_in(ctx, 0, &in) || !as_type_dims(as_fold_type(ctx, 0), &dims) ||
        dims.rank != in.dims.rank || !as_fold_start(ctx, &out, in.data->dtype, &dims))
        return ASSAY_OK;
    walk.dims = &out.dims;
    for (uint64_t i = 0; i < out.data->n; i++, as_fold_step(&walk)) {
        int64_t from = 0;

        for (int d = 0; d < dims.rank; d++)
            from += walk.at[d] % in.dims.at[d] * in.strides[d];
        as_fold_copy(&out, i, in.data, (uint64_t)from);
    }
    return as_fold_end(ctx, 0, &out);
}

/* Copies one input into its place along the axis; one without numbers leaves unknown ones. */
static bool put_part(struct as_fold_out *out, int axis, int64_t begin, const struct as_data *from,
                     const struct as_dims *dims)
{
    int64_t outer = as_dims_product(dims, 0, axis), run = as_dims_product(dims, axis, dims->rank);
    int64_t all = as_dims_product(&out->dims, axis, out->dims.rank);
    int64_t inner = as_dims_product(dims, axis + 1, dims->rank);

    if (run <= 0)
        return run == 0;
    for (int64_t o = 0; o < outer; o++) {
        uint64_t to = (uint64_t)(o * all + begin * inner);

        if (from)
            as_fold_copy_run(out, to, from, (uint64_t)(o * run), (uint64_t)run);
        for (uint64_t i = 0; !from && i < (uint64_t)run; i++)
            if (!as_fold_put_unknown(out, to + i))
                return false;
    }
    return true;
}

/* At least one input has numbers; of the others only those of shapes are worth a place. */
static bool worth_folding(const struct as_infer *ctx, const struct as_type *out)
{
    uint32_t n_known = 0;
    struct as_fold_in in;

    for (uint32_t i = 0; i < ctx->node->n_inputs; i++)
        n_known += as_fold_in(ctx, i, &in) ? 1 : 0;
    return n_known == ctx->node->n_inputs || (n_known > 0 && out->dtype == AS_DTYPE_I64 &&
                                              out->rank == 1 && out->dims[0] <= AS_MAX_RANK);
}

int as_fold_concat(struct as_infer *ctx)
{
    int64_t said = as_node_int(ctx->node, "axis", 1), begin = 0;
    struct as_fold_out out;
    struct as_dims dims;
    int axis;

    if (!as_type_dims(as_fold_type(ctx, 0), &dims) || !as_axis(said, dims.rank, &axis) ||
        !worth_folding(ctx, as_fold_type(ctx, 0)) ||
        !as_fold_start(ctx, &out, as_fold_type(ctx, 0)->dtype, &dims))
        return ASSAY_OK;
    if (out.data->n == 0)
        return as_fold_end(ctx, 0, &out);
    for (uint32_t i = 0; i < ctx->node->n_inputs; i++) {
        struct as_fold_in in = {0};
        struct as_dims part;

        (void)as_fold_in(ctx, i, &in);
        if (!as_in_dims(ctx, i, &part) || part.rank != dims.rank ||
            (in.data && in.data->dtype != out.data->dtype))
            return ASSAY_OK;
        if (part.at[axis] < 0 || part.at[axis] > dims.at[axis] - begin ||
            !put_part(&out, axis, begin, in.data, &part))
            return ASSAY_OK;
        begin += part.at[axis];
    }
    return as_fold_end(ctx, 0, &out);
}
