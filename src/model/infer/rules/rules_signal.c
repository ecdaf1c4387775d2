/* model/infer/rules/rules_signal.c - shape rules of Fourier transforms.
 * A signal's last axis holds the real and, where there is one, the imaginary part. */
#include "model/infer/infer_rules.h"

/* From opset 20 the axis is an input; the length may be given anew in either. */
static int infer_dft(struct as_infer *ctx)
{
    bool onesided = as_node_int(ctx->node, "onesided", 0) != 0;
    int64_t said = ctx->opset >= 20 ? -2 : as_node_int(ctx->node, "axis", 1), length;
    bool axis_known = true;
    struct as_dims x;
    int axis, rc;

    if (onesided && as_node_int(ctx->node, "inverse", 0) != 0)
        return as_conflict(ctx, "inverse and onesided exclude each other");
    if (!as_in_dims(ctx, 0, &x))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (x.rank < 2)
        return as_conflict(ctx, "the input has %d dimensions, at least 2 are needed", x.rank);
    if (ctx->opset >= 20 && as_in_type(ctx, 2))
        axis_known = as_in_int(ctx, 2, &said);
    if (!axis_known) {
        for (int i = 0; i < x.rank - 1; i++)
            x.at[i] = as_in_type(ctx, 1) || onesided ? AS_DIM_UNKNOWN : x.at[i];
        x.at[x.rank - 1] = 2;
        rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &x);
        return rc == ASSAY_OK ? as_unknown(ctx, "its axis is not a constant") : rc;
    }
    if (!as_axis(said, x.rank, &axis) || axis == x.rank - 1)
        return as_conflict(ctx, "axis %lld is none of a signal of %d dimensions", (long long)said,
                           x.rank);
    length = x.at[axis];
    if (as_in_type(ctx, 1) && !as_in_int(ctx, 1, &length))
        length = AS_DIM_UNKNOWN;
    if (length != AS_DIM_UNKNOWN && length < 0)
        return as_conflict(ctx, "dft_length is %lld", (long long)length);
    x.at[axis] = onesided && length != AS_DIM_UNKNOWN ? length / 2 + 1 : length;
    x.at[x.rank - 1] = 2;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &x);
}

/* The frame is as long as the window, where its length is not given. */
static int frame_length(struct as_infer *ctx, int64_t *length)
{
    struct as_dims window;

    *length = AS_DIM_UNKNOWN;
    if (as_in_type(ctx, 3)) {
        (void)as_in_int(ctx, 3, length);
    } else if (as_in_dims(ctx, 2, &window)) {
        if (window.rank != 1)
            return as_conflict(ctx, "the window has %d dimensions instead of 1", window.rank);
        *length = window.at[0];
    }
    if (*length != AS_DIM_UNKNOWN && *length < 1)
        return as_conflict(ctx, "frames of %lld", (long long)*length);
    return ASSAY_OK;
}

static int infer_stft(struct as_infer *ctx)
{
    struct as_dims x, out = {4, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN, AS_DIM_UNKNOWN, 2}};
    int64_t step, frame;
    int rc = frame_length(ctx, &frame);

    if (rc < 0)
        return rc;
    if (frame != AS_DIM_UNKNOWN)
        out.at[2] = as_node_int(ctx->node, "onesided", 1) != 0 ? frame / 2 + 1 : frame;
    if (!as_in_int(ctx, 1, &step)) {
        (void)as_unknown(ctx, "its frame_step is not a constant");
        step = AS_DIM_UNKNOWN;
    } else if (step < 1) {
        return as_conflict(ctx, "frame_step is %lld", (long long)step);
    }
    if (as_in_dims(ctx, 0, &x)) {
        if (x.rank < 2 || x.rank > 3)
            return as_conflict(ctx, "the signal has %d dimensions instead of 3", x.rank);
        out.at[0] = x.at[0];
        if (x.at[1] != AS_DIM_UNKNOWN && frame != AS_DIM_UNKNOWN && step != AS_DIM_UNKNOWN) {
            if (x.at[1] < frame)
                return as_conflict(ctx, "a signal of %lld is shorter than a frame of %lld",
                                   (long long)x.at[1], (long long)frame);
            out.at[1] = (x.at[1] - frame) / step + 1;
        }
    }
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int infer_mel_weights(struct as_infer *ctx)
{
    struct as_dims out = {2, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};
    int64_t bins, length;

    if (as_in_int(ctx, 1, &length)) {
        if (length < 1)
            return as_conflict(ctx, "dft_length is %lld", (long long)length);
        out.at[0] = length / 2 + 1;
    }
    if (as_in_int(ctx, 0, &bins)) {
        if (bins < 1)
            return as_conflict(ctx, "num_mel_bins is %lld", (long long)bins);
        out.at[1] = bins;
    }
    return as_out_tensor(ctx, 0, as_dtype_of_onnx(as_node_int(ctx->node, "output_datatype", 1)),
                         &out);
}

const struct as_op_rule as_rules_signal[] = {
    {AS_OP_DFT, infer_dft, NULL},
    {AS_OP_STFT, infer_stft, NULL},
    {AS_OP_MelWeightMatrix, infer_mel_weights, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
