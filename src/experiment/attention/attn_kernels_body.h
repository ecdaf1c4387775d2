/* experiment/attention/attn_kernels_body.h - the loops of attention, written over a few vector
 * operations. Included once by each source that defines them: AS_TARGET, ROWS, LANES, vec, sums,
 * V_... and SUMS_... No sum depends on LANES: chains run over dim or over positions, lanes over
 * columns. */

enum { PARTS = AS_ATTN_PANEL / LANES }; /* vectors a panel is wide */

#define UNROLLED _Pragma("GCC unroll 16")

static AS_TARGET void scores(const struct as_attn_scores *job)
{
    const float *row[ROWS];
    vec acc[ROWS][PARTS], scale = V_SET(job->scale);

    UNROLLED
    for (size_t r = 0; r < ROWS; r++) {
        /* Rows that are not there repeat the last one. */
        row[r] = job->q + (r < job->rows ? r : job->rows - 1) * job->q_stride;
        UNROLLED
        for (size_t i = 0; i < PARTS; i++)
            acc[r][i] = V_SET(0);
    }
    for (size_t p = 0; p < job->dim; p++) {
        vec key[PARTS];

        UNROLLED
        for (size_t i = 0; i < PARTS; i++)
            key[i] = V_LOAD(job->panel + p * AS_ATTN_PANEL + i * LANES);
        UNROLLED
        for (size_t r = 0; r < ROWS; r++) {
            vec q = V_SET(row[r][p]);

            UNROLLED
            for (size_t i = 0; i < PARTS; i++)
                acc[r][i] = V_FMA(q, key[i], acc[r][i]);
        }
    }
    UNROLLED
    for (size_t r = 0; r < ROWS; r++)
        if (r < job->rows) {
            UNROLLED
            for (size_t i = 0; i < PARTS; i++)
                V_STORE(job->s + r * job->s_stride + i * LANES, V_MUL(acc[r][i], scale));
        }
}

static AS_TARGET void mix(const struct as_attn_mix *job)
{
    const float *row[ROWS];
    vec acc[ROWS][PARTS];

    UNROLLED
    for (size_t r = 0; r < ROWS; r++) {
        size_t there = r < job->rows ? r : job->rows - 1;

        row[r] = job->p + there * job->p_stride;
        UNROLLED
        for (size_t i = 0; i < PARTS; i++)
            acc[r][i] =
                job->first ? V_SET(0) : V_LOAD(job->acc + there * AS_ATTN_PANEL + i * LANES);
    }
    for (size_t a = 0; a < job->n_panels; a++) {
        const float *v = job->v + (size_t)job->panels[a] * AS_ATTN_PANEL * AS_ATTN_PANEL;

        for (size_t j = 0; j < AS_ATTN_PANEL; j++) {
            vec value[PARTS];

            UNROLLED
            for (size_t i = 0; i < PARTS; i++)
                value[i] = V_LOAD(v + j * AS_ATTN_PANEL + i * LANES);
            UNROLLED
            for (size_t r = 0; r < ROWS; r++) {
                vec p = V_SET(row[r][a * AS_ATTN_PANEL + j]);

                UNROLLED
                for (size_t i = 0; i < PARTS; i++)
                    acc[r][i] = V_FMA(p, value[i], acc[r][i]);
            }
        }
    }
    UNROLLED
    for (size_t r = 0; r < ROWS; r++)
        if (r < job->rows) {
            UNROLLED
            for (size_t i = 0; i < PARTS; i++)
                V_STORE(job->acc + r * AS_ATTN_PANEL + i * LANES, acc[r][i]);
        }
}

/* Puts minus infinity where nothing is kept and returns the greatest of the rest. */
static AS_TARGET float row_top(float *s, const uint16_t *bits, size_t n_panels)
{
    vec none = V_SET(-__builtin_inff()), most[PARTS];
    float lane[AS_ATTN_PANEL], top;

    for (size_t i = 0; i < PARTS; i++)
        most[i] = none;
    for (size_t a = 0; a < n_panels; a++, s += AS_ATTN_PANEL)
        for (size_t i = 0; i < PARTS; i++) {
            vec x = V_LOAD(s + i * LANES);

            if (bits[a] != 0xffff) {
                x = V_CHOOSE((unsigned)bits[a] >> (i * LANES), x, none);
                V_STORE(s + i * LANES, x);
            }
            most[i] = V_MAX(most[i], x);
        }
    for (size_t i = 0; i < PARTS; i++)
        V_STORE(lane + i * LANES, most[i]);
    top = lane[0];
    for (size_t i = 1; i < AS_ATTN_PANEL; i++)
        top = lane[i] > top ? lane[i] : top;
    return top;
}

/* exp(x) for x <= 0: x is n ln 2 and a rest up to 0.35, whose polynomial was fitted to 2^-26 of the
 * value. Adding 1.5 * 2^23 leaves n in the low bits. Below -86.5, and for NaN, it is 0. */
static AS_TARGET int64_t softmax(float *s, const uint16_t *bits, size_t n_panels)
{
    const vec top = V_SET(row_top(s, bits, n_panels)), least = V_SET(-86.5F);
    const vec shift = V_SET(12582912.0F), per_ln2 = V_SET(1.44269504F), one = V_SET(1);
    const vec ln2_high = V_SET(-0.693145752F), ln2_low = V_SET(-1.42860677e-6F);
    const vec units = V_SET(0x1p30F);
    sums sum = SUMS_ZERO();
    int64_t total;

    for (size_t i = 0; i < n_panels * AS_ATTN_PANEL; i += LANES) {
        vec x = V_SUB(V_LOAD(s + i), top);
        vec t = V_FMA(x, per_ln2, shift);
        vec n = V_SUB(t, shift);
        vec r = V_FMA(n, ln2_low, V_FMA(n, ln2_high, x));
        vec y = V_FMA(V_SET(0x1.6d4322p-10F), r, V_SET(0x1.120b74p-7F));

        y = V_FMA(y, r, V_SET(0x1.5554eap-5F));
        y = V_FMA(y, r, V_SET(0x1.5554dcp-3F));
        y = V_FMA(y, r, V_SET(0.5F));
        y = V_FMA(y, r, one);
        y = V_FMA(y, r, one);
        y = V_SCALE(y, t);
        y = V_WHERE_LEAST(x, least, y);
        V_STORE(s + i, y);
        y = V_MUL(y, units);
        SUMS_ADD(sum, y);
    }
    SUMS_TOTAL(sum, total);
    return total;
}

static AS_TARGET float above(const float *x, size_t n, float eps, uint64_t *words)
{
    vec floor = V_SET(eps), most = V_SET(0);
    float lane[LANES], top = 0;
    size_t j = 0;

    for (size_t i = 0; i < (n + 63) / 64; i++)
        words[i] = 0;
    for (; j + LANES <= n; j += LANES) {
        vec part = V_LOAD(x + j);

        words[j / 64] |= (uint64_t)V_ABOVE(part, floor) << j % 64;
        most = V_MAX(most, part);
    }
    V_STORE(lane, most);
    for (size_t i = 0; i < LANES; i++)
        top = lane[i] > top ? lane[i] : top;
    for (; j < n; j++) {
        words[j / 64] |= (uint64_t)(x[j] > eps) << j % 64;
        top = x[j] > top ? x[j] : top;
    }
    return top > eps ? top : 0;
}

/* Adding 2^52 rounds to a whole number that can be read from the bits. */
static AS_TARGET int64_t capacities(const float *x, const uint64_t *words, size_t n, double scale,
                                    int64_t *to)
{
    int64_t sum = 0;

    for (size_t j = 0; j < n; j++) {
        union {
            double number;
            int64_t bits;
        } whole = {.number = (double)x[j] * scale};
        int64_t kept = -(int64_t)(words[j / 64] >> j % 64 & 1), cap;

        whole.number += 0x1p52;
        cap = whole.bits - 0x4330000000000000;
        cap = cap < 1 ? 1 : cap;
        cap &= kept;
        to[j] = cap;
        sum += cap;
    }
    return sum;
}

static AS_TARGET uint32_t largest(const float *x, size_t n)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++) {
        union {
            float number;
            uint32_t bits;
        } one = {.number = x[i]};
        uint32_t size = one.bits & 0x7fffffff;

        most = size > most ? size : most;
    }
    return most;
}

const struct as_attn_kernels KERNELS = {
    .name = NAME_TEXT,
    .rows = ROWS,
    .scores = scores,
    .mix = mix,
    .softmax = softmax,
    .above = above,
    .capacities = capacities,
    .largest = largest,
};
