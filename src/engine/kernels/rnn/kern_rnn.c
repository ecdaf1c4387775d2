/* engine/kernels/rnn/kern_rnn.c - LSTM, GRU and RNN: one product for the inputs of the whole
 * sequence, then step by step one for the state. Gates are in ONNX's order: i o f c, or z r h. */
#include "engine/kernels/rnn/kern_rnn.h"

#include <math.h>
#include <string.h>

#include "engine/kernels/gemm/kern_gemm.h"

enum { MAX_DIRECTIONS = 2, MAX_ACTS = 3 };

struct rnn {
    struct as_kernel_ctx *k;
    enum as_cell cell;
    int64_t seq, batch, in, hidden, dirs, gates;
    bool batch_first, reverse, couple, reset_last, swapped;
    float clip; /* 0: none */
    struct as_act acts[MAX_DIRECTIONS][MAX_ACTS];
    const float *x, *w, *r, *b, *p, *h0, *c0; /* b, p, h0, c0 may be NULL */
    const int32_t *lens;                      /* or NULL */
    float *y, *yh, *yc;                       /* or NULL */
    float *gates_x;                           /* [rows of x][gates * hidden] */
    float *step, *held;                       /* [batch][gates * hidden], [batch][hidden] */
    float *h, *c;                             /* [batch][hidden] */
    struct as_gemm_scratch scratch;
};

/* ---- one row of a cell ---- */

/* Gates of one sample: from the input, from the state; what is remembered. */
struct row {
    float *x, *s, *h, *c, *held;
    const float *rb, *p;
    const struct as_act *acts;
};

static void clip_row(const struct rnn *v, float *x, int64_t n)
{
    for (int64_t i = 0; v->clip > 0 && i < n; i++)
        x[i] = x[i] > v->clip ? v->clip : x[i] < -v->clip ? -v->clip : x[i];
}

static void activate(const struct rnn *v, const struct as_act *act, float *x, int64_t n)
{
    clip_row(v, x, n);
    as_act_run(act, x, (uint64_t)n);
}

AS_VECTOR(static, add_rows, (float *restrict to, const float *restrict from, int64_t n),
          (to, from, n))
{
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
}

AS_VECTOR(static, add_product,
          (float *restrict to, const float *restrict a, const float *restrict b, int64_t n),
          (to, a, b, n))
{
    for (int64_t i = 0; i < n; i++)
        to[i] += a[i] * b[i];
}

/* c = f * c + i * g */
AS_VECTOR(static, mix_cell,
          (float *restrict c, const float *restrict f, const float *restrict i,
           const float *restrict g, int64_t n),
          (c, f, i, g, n))
{
    for (int64_t j = 0; j < n; j++)
        c[j] = f[j] * c[j] + i[j] * g[j];
}

static void lstm_row(const struct rnn *v, const struct row *row)
{
    int64_t n = v->hidden;
    float *i = row->x, *o = i + n, *f = o + n, *g = f + n;

    add_rows(i, row->s, 4 * n);
    if (row->p) {
        add_product(i, row->p, row->c, n);
        add_product(f, row->p + 2 * n, row->c, n);
    }
    activate(v, &row->acts[0], i, n);
    activate(v, &row->acts[1], g, n);
    if (v->couple)
        for (int64_t j = 0; j < n; j++)
            f[j] = 1 - i[j];
    else
        activate(v, &row->acts[0], f, n);
    mix_cell(row->c, f, i, g, n);
    if (row->p)
        add_product(o, row->p + n, row->c, n);
    activate(v, &row->acts[0], o, n);
    memcpy(row->held, row->c, (size_t)n * sizeof *row->held);
    as_act_run(&row->acts[2], row->held, (uint64_t)n);
    for (int64_t j = 0; j < n; j++)
        row->h[j] = o[j] * row->held[j];
}

/* z and r; with linear_before_reset 0 what goes through the last weights is left in `held`. */
static void gru_gates(const struct rnn *v, const struct row *row)
{
    int64_t n = v->hidden;

    add_rows(row->x, row->s, 2 * n);
    activate(v, &row->acts[0], row->x, 2 * n);
    for (int64_t j = 0; !v->reset_last && j < n; j++)
        row->held[j] = row->x[n + j] * row->h[j];
}

static void gru_row(const struct rnn *v, const struct row *row)
{
    int64_t n = v->hidden;
    float *z = row->x, *r = z + n, *h = r + n, *s = row->s + 2 * n;

    for (int64_t j = 0; j < n; j++) {
        float rb = row->rb ? row->rb[2 * n + j] : 0;

        h[j] += v->reset_last ? r[j] * (s[j] + rb) : s[j] + rb;
    }
    activate(v, &row->acts[1], h, n);
    for (int64_t j = 0; j < n; j++)
        row->h[j] = (1 - z[j]) * h[j] + z[j] * row->h[j];
}

static void rnn_row(const struct rnn *v, const struct row *row)
{
    add_rows(row->x, row->s, v->hidden);
    activate(v, &row->acts[0], row->x, v->hidden);
    memcpy(row->h, row->x, (size_t)v->hidden * sizeof *row->h);
}

/* ---- one direction ---- */

static int64_t row_of(const struct rnn *v, int64_t t, int64_t b)
{
    return v->batch_first ? b * v->seq + t : t * v->batch + b;
}

static float *y_at(const struct rnn *v, int64_t dir, int64_t t, int64_t b)
{
    int64_t at =
        v->batch_first ? (b * v->seq + t) * v->dirs + dir : (t * v->dirs + dir) * v->batch + b;

    return v->y + at * v->hidden;
}

static int64_t state_at(const struct rnn *v, int64_t dir, int64_t b)
{
    return (v->batch_first ? b * v->dirs + dir : dir * v->batch + b) * v->hidden;
}

static struct row row_at(const struct rnn *v, int64_t dir, int64_t t, int64_t b)
{
    int64_t width = v->gates * v->hidden;

    return (struct row){
        .x = v->gates_x + row_of(v, t, b) * width,
        .s = v->step + b * width,
        .h = v->h + b * v->hidden,
        .c = v->c ? v->c + b * v->hidden : NULL,
        .held = v->held + b * v->hidden,
        .rb = v->b ? v->b + (2 * dir + 1) * width : NULL,
        .p = v->p ? v->p + dir * 3 * v->hidden : NULL,
        .acts = v->acts[dir],
    };
}

/* What a state gives the gates [first, first + n). */
static int multiply_state(struct rnn *v, int64_t dir, const float *state, int64_t first, int64_t n)
{
    int64_t h = v->hidden, width = v->gates * h;
    const float *r = v->r + dir * width * h + first * h * (v->swapped ? 1 : h);
    struct as_gemm g = as_gemm_plain((uint64_t)v->batch, (uint64_t)(n * h), (uint64_t)h, state, r,
                                     !v->swapped, v->step + first * h);

    if (v->swapped)
        g.b_row = width;
    g.c_row = width;
    g.scratch = &v->scratch;
    return as_gemm_run(v->k, &g);
}

/* The biases of all gates; that of a GRU's last gate from the state is added where it is reset. */
static int multiply_inputs(struct rnn *v, int64_t dir)
{
    int64_t width = v->gates * v->hidden, rows = v->seq * v->batch;
    int64_t both = v->cell == AS_CELL_GRU ? 2 * v->hidden : width;
    struct as_gemm g = as_gemm_plain((uint64_t)rows, (uint64_t)width, (uint64_t)v->in, v->x,
                                     v->w + dir * width * v->in, !v->swapped, v->gates_x);
    const float *b = v->b ? v->b + 2 * dir * width : NULL;

    for (int64_t i = 0; b && i < rows; i++)
        for (int64_t j = 0; j < width; j++)
            v->gates_x[i * width + j] = b[j] + (j < both ? b[width + j] : 0);
    g.add = b != NULL;
    g.scratch = &v->scratch;
    return as_gemm_run(v->k, &g);
}

static void start_states(const struct rnn *v, int64_t dir)
{
    size_t bytes = (size_t)v->hidden * sizeof(float);

    memset(v->h, 0, bytes * (size_t)v->batch);
    if (v->c)
        memset(v->c, 0, bytes * (size_t)v->batch);
    for (int64_t b = 0; b < v->batch; b++) {
        if (v->h0)
            memcpy(v->h + b * v->hidden, v->h0 + state_at(v, dir, b), bytes);
        if (v->c && v->c0)
            memcpy(v->c + b * v->hidden, v->c0 + state_at(v, dir, b), bytes);
    }
}

static void keep_states(const struct rnn *v, int64_t dir)
{
    size_t bytes = (size_t)v->hidden * sizeof(float);

    for (int64_t b = 0; b < v->batch; b++) {
        if (v->yh)
            memcpy(v->yh + state_at(v, dir, b), v->h + b * v->hidden, bytes);
        if (v->yc)
            memcpy(v->yc + state_at(v, dir, b), v->c + b * v->hidden, bytes);
    }
}

static int64_t length_of(const struct rnn *v, int64_t b)
{
    return v->lens ? v->lens[b] : v->seq;
}

/* The time of step `s` of sample `b`: a shorter one going backwards begins at its own end. */
static int64_t time_of(const struct rnn *v, int64_t dir, int64_t s, int64_t b)
{
    return v->reverse || dir == 1 ? length_of(v, b) - 1 - s : s;
}

typedef void (*each_row)(const struct rnn *v, const struct row *row);

static void each_sample(const struct rnn *v, int64_t dir, int64_t s, each_row run)
{
    for (int64_t b = 0; b < v->batch; b++) {
        struct row row;

        if (s >= length_of(v, b))
            continue;
        row = row_at(v, dir, time_of(v, dir, s, b), b);
        run(v, &row);
    }
}

static int run_step(struct rnn *v, int64_t dir, int64_t s)
{
    static const each_row rows[] = {
        [AS_CELL_RNN] = rnn_row, [AS_CELL_GRU] = gru_row, [AS_CELL_LSTM] = lstm_row};
    bool twice = v->cell == AS_CELL_GRU && !v->reset_last;
    int rc = multiply_state(v, dir, v->h, 0, twice ? 2 : v->gates);

    if (rc == ASSAY_OK && v->cell == AS_CELL_GRU)
        each_sample(v, dir, s, gru_gates);
    if (rc == ASSAY_OK && twice)
        rc = multiply_state(v, dir, v->held, 2, 1);
    if (rc == ASSAY_OK)
        each_sample(v, dir, s, rows[v->cell]);
    for (int64_t b = 0; rc == ASSAY_OK && v->y && b < v->batch; b++) {
        size_t bytes = (size_t)v->hidden * sizeof(float);

        if (s < length_of(v, b))
            memcpy(y_at(v, dir, time_of(v, dir, s, b), b), v->h + b * v->hidden, bytes);
        else
            memset(y_at(v, dir, s, b), 0, bytes);
    }
    return rc;
}

static int run_all(struct rnn *v)
{
    int rc = ASSAY_OK;

    for (int64_t dir = 0; rc == ASSAY_OK && dir < v->dirs; dir++) {
        rc = multiply_inputs(v, dir);
        start_states(v, dir);
        for (int64_t s = 0; rc == ASSAY_OK && s < v->seq; s++)
            rc = run_step(v, dir, s);
        keep_states(v, dir);
    }
    return rc;
}

/* ---- attributes ---- */

static float param(const struct as_attr *list, uint32_t *next, float fallback)
{
    if (!list || list->kind != AS_ATTR_FLOATS || *next >= list->n)
        return fallback;
    return list->floats[(*next)++];
}

static int read_acts(struct rnn *v)
{
    static const char *const usual[][MAX_ACTS] = {
        [AS_CELL_RNN] = {"Tanh", "Tanh", "Tanh"},
        [AS_CELL_GRU] = {"Sigmoid", "Tanh", "Tanh"},
        [AS_CELL_LSTM] = {"Sigmoid", "Tanh", "Tanh"},
    };
    const struct as_attr *names = as_node_attr(v->k->node, "activations");
    const struct as_attr *alphas = as_node_attr(v->k->node, "activation_alpha");
    const struct as_attr *betas = as_node_attr(v->k->node, "activation_beta");
    uint32_t per = v->cell == AS_CELL_LSTM ? 3 : v->cell == AS_CELL_GRU ? 2 : 1;
    uint32_t alpha = 0, beta = 0;

    if (names && (names->kind != AS_ATTR_TEXTS || names->n == 0))
        names = NULL;
    if (names && names->n != per * (uint32_t)v->dirs)
        return as_kernel_fail(v->k, "it names %u activations", names->n);
    for (uint32_t i = 0; i < per * (uint32_t)v->dirs; i++) {
        struct as_act *act = &v->acts[i / per][i % per];
        struct as_text name = {usual[v->cell][i % per], strlen(usual[v->cell][i % per])};
        int n_params;

        if (names)
            name = names->texts[i];
        if (!as_act_find(name, act, &n_params))
            return as_kernel_cannot(v->k, "the activation '%.*s'", (int)(name.size & 63), name.at);
        if (n_params > 0)
            act->alpha = param(alphas, &alpha, act->alpha);
        if (n_params > 1)
            act->beta = param(betas, &beta, act->beta);
    }
    return ASSAY_OK;
}

static int read_attrs(struct rnn *v)
{
    const struct as_node *node = v->k->node;

    v->dirs = as_node_text_is(node, "direction", "bidirectional") ? 2 : 1;
    v->reverse = as_node_text_is(node, "direction", "reverse");
    v->batch_first = as_node_int(node, "layout", 0) != 0;
    v->couple = as_node_int(node, "input_forget", 0) != 0;
    v->reset_last = as_node_int(node, "linear_before_reset", 0) != 0;
    v->clip = (float)as_node_float(node, "clip", 0);
    v->gates = v->cell == AS_CELL_LSTM ? 4 : v->cell == AS_CELL_GRU ? 3 : 1;
    return read_acts(v);
}

/* An input of f32 with that many elements; NULL when it is left out. */
static int optional(struct rnn *v, size_t i, int64_t n, const float **to)
{
    const struct as_val *in = as_has_in(v->k, i) ? v->k->in[i] : NULL;

    if (!in)
        return ASSAY_OK;
    if (in->dtype != AS_DTYPE_F32 || in->n != (uint64_t)n)
        return as_kernel_fail(v->k, "input %zu has %llu elements of %s instead of %lld", i,
                              (unsigned long long)in->n, as_dtype_name(in->dtype), (long long)n);
    *to = in->data;
    return ASSAY_OK;
}

static int output(struct rnn *v, size_t i, int64_t n, float **to)
{
    if (!as_has_out(v->k, i))
        return ASSAY_OK;
    if (v->k->out[i]->dtype != AS_DTYPE_F32 || v->k->out[i]->n != (uint64_t)n)
        return as_kernel_fail(v->k, "output %zu has no room for %lld elements", i, (long long)n);
    *to = v->k->out[i]->data;
    return ASSAY_OK;
}

static int read_lengths(struct rnn *v)
{
    const struct as_val *in = as_has_in(v->k, 4) ? v->k->in[4] : NULL;

    if (!in)
        return ASSAY_OK;
    if (in->dtype != AS_DTYPE_I32 || in->n != (uint64_t)v->batch)
        return as_kernel_fail(v->k, "sequence_lens is not a list of %lld numbers",
                              (long long)v->batch);
    v->lens = in->data;
    for (int64_t b = 0; b < v->batch; b++)
        if (v->lens[b] < 0 || v->lens[b] > v->seq)
            return as_kernel_fail(v->k, "a sequence of %d in a tensor of %lld", (int)v->lens[b],
                                  (long long)v->seq);
    return ASSAY_OK;
}

/* The weights of the node itself. */
static int own_weights(struct rnn *v, struct as_rnn_weights *weights)
{
    const struct as_val *w = as_has_in(v->k, 1) ? v->k->in[1] : NULL;
    const struct as_val *r = as_has_in(v->k, 2) ? v->k->in[2] : NULL;

    if (!w || !r || w->rank != 3 || r->rank != 3 || w->dtype != AS_DTYPE_F32 ||
        r->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(v->k, "weights that are not f32 of three dimensions");
    *weights = (struct as_rnn_weights){w->data, r->data, w->dims[2], r->dims[2], false};
    if (w->dims[0] != v->dirs || r->dims[0] != v->dirs || r->dims[2] < 1 ||
        w->dims[1] != r->dims[1] || r->dims[1] / v->gates != r->dims[2] ||
        r->dims[1] % v->gates != 0)
        return as_kernel_fail(v->k, "the weights do not fit each other");
    return ASSAY_OK;
}

static int read_inputs(struct rnn *v)
{
    int64_t all = v->seq * v->batch * v->dirs * v->hidden, states = v->batch * v->dirs * v->hidden;
    bool lstm = v->cell == AS_CELL_LSTM;
    int rc = optional(v, 3, v->dirs * 2 * v->gates * v->hidden, &v->b);

    if (rc == ASSAY_OK)
        rc = read_lengths(v);
    if (rc == ASSAY_OK)
        rc = optional(v, 5, states, &v->h0);
    if (rc == ASSAY_OK && lstm)
        rc = optional(v, 6, states, &v->c0);
    if (rc == ASSAY_OK && lstm)
        rc = optional(v, 7, v->dirs * 3 * v->hidden, &v->p);
    if (rc == ASSAY_OK)
        rc = output(v, 0, all, &v->y);
    if (rc == ASSAY_OK)
        rc = output(v, 1, states, &v->yh);
    if (rc == ASSAY_OK && lstm)
        rc = output(v, 2, states, &v->yc);
    return rc;
}

static int take_work(struct rnn *v)
{
    int64_t width = v->gates * v->hidden, states = v->batch * v->hidden, gates;
    float *work;

    if (__builtin_mul_overflow(v->seq * v->batch, width, &gates))
        return as_kernel_fail(v->k, "the sequence is too long");
    v->gates_x = as_kernel_work(v->k, (uint64_t)gates, sizeof(float));
    work = as_kernel_work(v->k, (uint64_t)(v->batch * width + 3 * states), sizeof(float));
    if (!v->gates_x || !work)
        return ASSAY_ERR_NOMEM;
    v->step = work;
    v->held = work + v->batch * width;
    v->h = v->held + states;
    v->c = v->cell == AS_CELL_LSTM ? v->h + states : NULL;
    return ASSAY_OK;
}

int as_kernel_rnn(struct as_kernel_ctx *k, enum as_cell cell, const struct as_rnn_weights *weights)
{
    const struct as_val *x = as_has_in(k, 0) ? k->in[0] : NULL;
    struct rnn v = {.k = k, .cell = cell};
    struct as_rnn_weights own = {0};
    int rc;

    if (!x || x->rank != 3 || x->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "an input that is not f32 of three dimensions");
    rc = read_attrs(&v);
    if (rc == ASSAY_OK && !weights)
        rc = own_weights(&v, &own);
    if (rc < 0)
        return rc;
    weights = weights ? weights : &own;
    v.x = x->data;
    v.seq = x->dims[v.batch_first];
    v.batch = x->dims[!v.batch_first];
    v.in = x->dims[2];
    v.w = weights->w;
    v.r = weights->r;
    v.hidden = weights->hidden;
    v.swapped = weights->swapped;
    if (v.seq > INT32_MAX || v.batch > INT32_MAX || v.hidden > INT32_MAX / 16)
        return as_kernel_fail(k, "the sequence is too long");
    if (weights->in != v.in)
        return as_kernel_fail(k, "rows of %lld meet weights for %lld", (long long)v.in,
                              (long long)weights->in);
    rc = read_inputs(&v);
    if (rc == ASSAY_OK)
        rc = take_work(&v);
    return rc < 0 ? rc : run_all(&v);
}

static int run_lstm(struct as_kernel_ctx *k)
{
    return as_kernel_rnn(k, AS_CELL_LSTM, NULL);
}

static int run_gru(struct as_kernel_ctx *k)
{
    return as_kernel_rnn(k, AS_CELL_GRU, NULL);
}

static int run_rnn(struct as_kernel_ctx *k)
{
    return as_kernel_rnn(k, AS_CELL_RNN, NULL);
}

const struct as_kernel as_kernels_rnn[] = {
    {AS_OP_LSTM, run_lstm, 0},
    {AS_OP_GRU, run_gru, 0},
    {AS_OP_RNN, run_rnn, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
