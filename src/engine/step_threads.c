/* engine/step_threads.c - on how many threads a step runs. Its time on one thread is estimated from
 * its work, with rates that kernels reach on most machines: where they are wrong by half, a step
 * that would gain little either way is decided the other way. What handing over costs is measured,
 * because it differs by ten times with the machine and what else runs on it. */
#include "engine/step_threads.h"

#include "base/clock.h"
#include "base/units.h"

#define ROUNDS   64
#define GAP_NS   50000   /* between two pieces of work: threads have gone to sleep, or nearly */
#define LEAST_NS 4000    /* nobody is handed work in less */
#define MOST_NS  1000000 /* more is a machine that is busy right now */
#define MARGIN   4       /* what sharing must save, in what it costs */

/* Of one thread. */
#define ELEMENTS_PER_NS   1.5 /* simple ones; others take `weight` times as long */
#define PLAIN_MACS_PER_NS 4.0

/* By what holds the constants: an inference reads them from there. */
static double bytes_per_ns(const struct as_exec_plan *p)
{
    return p->constant_bytes < 2 << 20 ? 60 : p->constant_bytes < 24 << 20 ? 25 : 12;
}

/* What is known of a tensor, static or not. */
struct shape {
    int rank;
    const int64_t *dims;
    double n, bytes;
};

static double macs_per_ns(const struct as_step *step)
{
    static const double of_isa[AS_ISA_COUNT] = {
        [AS_ISA_GENERIC] = 2,
        [AS_ISA_SSE41] = 8,
        [AS_ISA_AVX] = 15,
        [AS_ISA_AVX2] = 30,
        [AS_ISA_AVX2_VNNI] = 30,
        [AS_ISA_AVX512_CORE] = 60,
        [AS_ISA_AVX512_CORE_VNNI] = 60,
        [AS_ISA_AVX512_CORE_BF16] = 60,
    };
    bool integer = step->op == AS_OP_QLinearConv || step->op == AS_OP_QLinearMatMul ||
                   step->op == AS_OP_ConvInteger || step->op == AS_OP_MatMulInteger ||
                   step->op == AS_OP_MS_QGemm;

    return of_isa[as_isa_get()] * (integer ? 2 : 1);
}

/* ---- work ---- */

static double last_dim(const struct shape *s, int from_last)
{
    return s->rank > from_last ? (double)s->dims[s->rank - 1 - from_last] : 1;
}

/* Multiplications with each element of the weights, or of the second matrix. */
static double macs_of(enum as_op op, const struct shape *in, size_t n_in, const struct shape *out)
{
    const struct shape *x = &in[0], *w = n_in > 1 ? &in[1] : NULL;

    switch (op) {
    case AS_OP_QLinearConv:
        w = n_in > 3 ? &in[3] : w;
        __attribute__((fallthrough));
    case AS_OP_Conv:
    case AS_OP_ConvInteger:
        return w && w->rank > 0 && w->dims[0] > 0 ? out->n * w->n / (double)w->dims[0] : 0;
    case AS_OP_ConvTranspose:
        return w && w->rank > 0 && w->dims[0] > 0 ? x->n * w->n / (double)w->dims[0] : 0;
    case AS_OP_MatMul:
    case AS_OP_MatMulInteger:
    case AS_OP_QLinearMatMul:
        return out->n * last_dim(x, 0);
    case AS_OP_Gemm:
    case AS_OP_MS_QGemm:
        return last_dim(out, 1) > 0 ? out->n * (x->n / last_dim(out, 1)) : 0;
    case AS_OP_LSTM:
    case AS_OP_GRU:
    case AS_OP_RNN:
        return w && n_in > 2 && last_dim(x, 0) > 0 ? x->n / last_dim(x, 0) * (w->n + in[2].n) : 0;
    default:
        return 0;
    }
}

/* How much longer an element takes than one of an addition. */
static double weight_of(enum as_op op)
{
    static const struct {
        enum as_op op;
        double weight;
    } heavy[] = {
        {AS_OP_Softmax, 3},
        {AS_OP_LayerNormalization, 2},
        {AS_OP_Erf, 2},
        {AS_OP_Gelu, 3},
        {AS_OP_Exp, 2},
        {AS_OP_Sigmoid, 2},
        {AS_OP_Tanh, 2},
        {AS_OP_Resize, 4},
        {AS_OP_GridSample, 30},
        {AS_OP_RoiAlign, 200},
        {AS_OP_InstanceNormalization, 2},
        {AS_OP_MaxPool, 6},
        {AS_OP_AveragePool, 6},
        {AS_OP_Pow, 8},
        {AS_OP_Sin, 4},
        {AS_OP_Cos, 4},
        {AS_OP_Einsum, 50},
        {AS_OP_TopK, 10},
    };

    for (size_t i = 0; i < AS_COUNT_OF(heavy); i++)
        if (heavy[i].op == op)
            return heavy[i].weight;
    return 1;
}

static double time_ns(const struct as_exec_plan *p, const struct as_step *step, bool library,
                      const struct shape *in, size_t n_in, const struct shape *out)
{
    double macs = macs_of(step->op, in, n_in, out), bytes = out->bytes, most = out->n;
    double rate = library ? macs_per_ns(step) : PLAIN_MACS_PER_NS, compute, move;

    for (size_t i = 0; i < n_in; i++) {
        bytes += in[i].bytes;
        most = in[i].n > most ? in[i].n : most;
    }
    compute = macs > 0 ? macs / rate
                       : (weight_of(step->op) > 10 ? out->n : most) * weight_of(step->op) /
                             ELEMENTS_PER_NS;
    move = bytes / bytes_per_ns(p);
    return compute > move ? compute : move;
}

static unsigned decide(const struct as_exec_plan *p, double ns, bool library)
{
    double n = p->options->threads;
    double cost = library ? p->library_hand_over_ns : p->pool_hand_over_ns;

    return n > 1 && ns * (1 - 1 / n) < MARGIN * cost ? 1 : p->options->threads;
}

enum { LOOKED_AT = 8 };

static struct shape shape_of_type(const struct as_type *type)
{
    struct shape s = {0};
    uint64_t n, bytes;

    if (type->kind != AS_VALUE_TENSOR || !as_type_elems(type, &n) || !as_type_bytes(type, &bytes))
        return s;
    return (struct shape){
        .rank = type->rank, .dims = type->dims, .n = (double)n, .bytes = (double)bytes};
}

unsigned as_step_threads(const struct as_exec_plan *p, const struct as_step *step, bool library)
{
    struct shape in[LOOKED_AT] = {{0}}, out = {0};
    size_t n_in = step->n_in < LOOKED_AT ? step->n_in : LOOKED_AT;

    if (p->options->threads < 2 || step->n_out < 1 || step->out[0] == AS_NONE)
        return p->options->threads;
    for (size_t i = 0; i < n_in; i++)
        in[i] = step->in[i] == AS_NONE ? out : shape_of_type(&p->slots[step->in[i]].type);
    out = shape_of_type(&p->slots[step->out[0]].type);
    return decide(p, time_ns(p, step, library, in, n_in, &out), library);
}

static struct shape shape_of_val(const struct as_val *val)
{
    if (!val || !val->present || val->kind != AS_VALUE_TENSOR)
        return (struct shape){0};
    return (struct shape){
        .rank = val->rank, .dims = val->dims, .n = (double)val->n, .bytes = (double)val->bytes};
}

unsigned as_step_threads_now(const struct as_exec_plan *p, const struct as_step *step, bool library)
{
    struct shape in[LOOKED_AT] = {{0}}, out = {0};
    size_t n_in = step->n_in < LOOKED_AT ? step->n_in : LOOKED_AT;

    if (p->options->threads < 2 || step->n_out < 1)
        return p->options->threads;
    for (size_t i = 0; i < n_in; i++)
        in[i] = shape_of_val(step->ins[i]);
    out = shape_of_val(step->outs[0]);
    return decide(p, time_ns(p, step, library, in, n_in, &out), library);
}

/* ---- what handing over costs ---- */

static void nothing(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to;
}

static void hand_to_pool(struct as_exec_plan *p)
{
    as_thread_pool_run(p->pool, p->options->threads, 1, nothing, NULL);
}

static void wait_ns(uint64_t ns)
{
    uint64_t until = as_clock_mono_ns() + ns;

    while (as_clock_mono_ns() < until) {
    }
}

/* The mean of some rounds, each in bounds: on a busy machine it is the long ones that cost. */
static double measure(struct as_exec_plan *p, void (*hand_over)(struct as_exec_plan *p))
{
    double sum = 0;

    hand_over(p);
    for (size_t i = 0; i < ROUNDS; i++) {
        double ns;
        uint64_t from;

        wait_ns(GAP_NS);
        from = as_clock_mono_ns();
        hand_over(p);
        ns = (double)(as_clock_mono_ns() - from);
        sum += ns < LEAST_NS ? LEAST_NS : ns > MOST_NS ? MOST_NS : ns;
    }
    return sum / ROUNDS;
}

void as_step_threads_measure(struct as_exec_plan *p)
{
    for (uint32_t i = 0; i < p->n_slots; i++) {
        uint64_t bytes;

        if (p->slots[i].is_const && as_type_bytes(&p->slots[i].type, &bytes))
            p->constant_bytes += bytes;
    }
    if (p->options->threads < 2)
        return;
    p->pool_hand_over_ns = measure(p, hand_to_pool);
    p->library_hand_over_ns = p->has_library && as_provider_onednn.hand_over
                                  ? measure(p, as_provider_onednn.hand_over)
                                  : p->pool_hand_over_ns;
}
