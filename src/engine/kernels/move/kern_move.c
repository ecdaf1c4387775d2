/* engine/kernels/move/kern_move.c - elements moved from place to place by their width alone.
 * A box is first brought to as few axes as it has; then rows are copied, squares transposed, and
 * only what is left goes element by element. */
#include "engine/kernels/move/kern_move.h"

#include <string.h>

#include "model/infer/infer_context.h"

/* A transposition goes by squares of TILE rows and columns, so that few pages are in use at a time,
 * and inside of them by whole cache lines. */
enum { TILE = 32, LINE_F32 = 16 };

struct moving {
    struct as_move m;
    int cross;      /* the axis the input is contiguous along, of a transposition */
    uint64_t outer; /* places of all axes but the inner ones */
    uint64_t strips;
};

/* ---- fewer axes ---- */

static void merge_axes(struct as_move *m)
{
    int kept = 0;

    for (int i = 0; i < m->rank; i++) {
        if (m->n[i] == 1)
            continue;
        if (kept > 0 && m->to[kept - 1] == m->to[i] * m->n[i] &&
            m->from[kept - 1] == m->from[i] * m->n[i]) {
            m->n[kept - 1] *= m->n[i];
        } else {
            m->n[kept] = m->n[i];
            kept++;
        }
        m->to[kept - 1] = m->to[i];
        m->from[kept - 1] = m->from[i];
    }
    m->rank = kept;
}

/* Short rows that always move together become one wider element. */
static void widen(struct as_move *m)
{
    int last = m->rank - 1;
    uint64_t bytes;

    if (m->rank < 2 || m->to[last] != 1 || m->from[last] != 1)
        return;
    bytes = (uint64_t)m->n[last] * m->width;
    if (bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16)
        return;
    for (int i = 0; i < last; i++)
        if (m->to[i] % m->n[last] != 0 || m->from[i] % m->n[last] != 0)
            return;
    for (int i = 0; i < last; i++) {
        m->to[i] /= m->n[last];
        m->from[i] /= m->n[last];
    }
    m->width = bytes;
    m->rank--;
}

/* ---- walking the outer axes ---- */

struct place {
    int64_t at[AS_MOVE_RANK];
    int64_t to, from;
};

/* The place number `i` of the first `rank` axes without `skip`. */
static struct place place_at(const struct as_move *m, int rank, int skip, uint64_t i)
{
    struct place p = {0};

    for (int d = rank; d-- > 0;) {
        if (d == skip)
            continue;
        p.at[d] = (int64_t)(i % (uint64_t)m->n[d]);
        i /= (uint64_t)m->n[d];
        p.to += p.at[d] * m->to[d];
        p.from += p.at[d] * m->from[d];
    }
    return p;
}

static void next_place(const struct as_move *m, int rank, struct place *p)
{
    for (int d = rank; d-- > 0;) {
        p->to += m->to[d];
        p->from += m->from[d];
        if (++p->at[d] < m->n[d])
            return;
        p->at[d] = 0;
        p->to -= m->n[d] * m->to[d];
        p->from -= m->n[d] * m->from[d];
    }
}

/* ---- rows ---- */

static void copy_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct moving *w = arg;
    const struct as_move *m = &w->m;
    int outer = m->rank - 1;
    int64_t width = (int64_t)m->width;
    size_t bytes = (size_t)m->n[outer] * m->width;
    struct place p = place_at(m, outer, -1, from);

    for (uint64_t i = from; i < to; i++, next_place(m, outer, &p))
        memcpy(m->dst + p.to * width, m->src + p.from * width, bytes);
}

static void copy_block(void *arg, uint64_t from, uint64_t to)
{
    const struct moving *w = arg;

    memcpy(w->m.dst + from * w->m.width, w->m.src + from * w->m.width, (to - from) * w->m.width);
}

/* ---- element by element ---- */

#define LINE(bytes)                                                                                \
    AS_VECTOR(static, line_##bytes,                                                                \
              (uint8_t * dst, const uint8_t *src, int64_t n, int64_t to, int64_t from),            \
              (dst, src, n, to, from))                                                             \
    {                                                                                              \
        if (to == 1)                                                                               \
            for (int64_t i = 0; i < n; i++)                                                        \
                memcpy(dst + i * (bytes), src + i * from * (bytes), (bytes));                      \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                memcpy(dst + i * to * (bytes), src + i * from * (bytes), (bytes));                 \
    }
LINE(1)
LINE(2)
LINE(4)
LINE(8)
LINE(16)
#undef LINE

static void copy_line(const struct as_move *m, uint8_t *dst, const uint8_t *src, int64_t n,
                      int64_t to, int64_t from)
{
    switch (m->width) {
    case 1:
        line_1(dst, src, n, to, from);
        break;
    case 2:
        line_2(dst, src, n, to, from);
        break;
    case 4:
        line_4(dst, src, n, to, from);
        break;
    case 8:
        line_8(dst, src, n, to, from);
        break;
    default:
        line_16(dst, src, n, to, from);
    }
}

static void copy_lines(void *arg, uint64_t from, uint64_t to)
{
    const struct moving *w = arg;
    const struct as_move *m = &w->m;
    int last = m->rank - 1;
    int64_t width = (int64_t)m->width;
    struct place p = place_at(m, last, -1, from);

    for (uint64_t i = from; i < to; i++, next_place(m, last, &p)) {
        uint8_t *dst = m->dst + p.to * width;
        const uint8_t *src = m->src + p.from * width;

        if (m->to[last] == 1 && m->from[last] == 0)
            as_move_fill(dst, src, (uint64_t)m->n[last], m->width);
        else
            copy_line(m, dst, src, m->n[last], m->to[last], m->from[last]);
    }
}

/* ---- transposing ---- */

/* Eight rows of eight become eight columns, both within rows of a cache line. */
#define PAIR(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
static inline __attribute__((always_inline)) void square_8(uint32_t *to, const uint32_t *from)
{
    uint32_t __attribute__((vector_size(32))) r[8], s[8];

    for (int64_t i = 0; i < 8; i++)
        memcpy(&r[i], from + i * LINE_F32, 32);
    for (int64_t i = 0; i < 4; i++) {
        s[2 * i] = PAIR(r[2 * i], r[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        s[2 * i + 1] = PAIR(r[2 * i], r[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int64_t i = 0; i < 2; i++) {
        r[4 * i] = PAIR(s[4 * i], s[4 * i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        r[4 * i + 1] = PAIR(s[4 * i], s[4 * i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        r[4 * i + 2] = PAIR(s[4 * i + 1], s[4 * i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        r[4 * i + 3] = PAIR(s[4 * i + 1], s[4 * i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int64_t i = 0; i < 4; i++) {
        s[i] = PAIR(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        s[i + 4] = PAIR(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int64_t i = 0; i < 8; i++)
        memcpy(to + i * LINE_F32, &s[i], 32);
}
#undef PAIR

/* Every line is read and written once and whole: steps that are a power of two send all of them to
 * the same few places of the cache. */
AS_VECTOR(static, square_16,
          (uint8_t * dst, int64_t dst_step, const uint8_t *src, int64_t src_step),
          (dst, dst_step, src, src_step))
{
    uint32_t in[LINE_F32 * LINE_F32], out[LINE_F32 * LINE_F32];
    const int64_t lower = (int64_t)8 * LINE_F32; /* the second eight rows */

    for (int64_t i = 0; i < LINE_F32; i++)
        memcpy(in + i * LINE_F32, src + i * src_step, sizeof *in * LINE_F32);
    square_8(out, in);
    square_8(out + 8, in + lower);
    square_8(out + lower, in + 8);
    square_8(out + lower + 8, in + lower + 8);
    for (int64_t i = 0; i < LINE_F32; i++)
        memcpy(dst + i * dst_step, out + i * LINE_F32, sizeof *out * LINE_F32);
}

/* A tile of `rows` by `columns` of the output, whose rows are `to` apart. */
static void tile_4(const struct as_move *m, uint8_t *dst, const uint8_t *src, int64_t rows,
                   int64_t columns, int64_t to)
{
    int64_t step = m->from[m->rank - 1], i = 0;

    for (; i + LINE_F32 <= rows; i += LINE_F32) {
        int64_t j = 0;

        for (; j + LINE_F32 <= columns; j += LINE_F32)
            square_16(dst + (i * to + j) * 4, to * 4, src + (i + j * step) * 4, step * 4);
        for (int64_t r = i; r < i + LINE_F32 && j < columns; r++)
            line_4(dst + (r * to + j) * 4, src + (r + j * step) * 4, columns - j, 1, step);
    }
    for (; i < rows; i++)
        line_4(dst + i * to * 4, src + i * 4, columns, 1, step);
}

static void tile_any(const struct as_move *m, uint8_t *dst, const uint8_t *src, int64_t rows,
                     int64_t columns, int64_t to)
{
    int64_t width = (int64_t)m->width, step = m->from[m->rank - 1];

    for (int64_t j = 0; j < columns; j += 16) {
        int64_t n = columns - j < 16 ? columns - j : 16;

        for (int64_t i = 0; i < rows; i++)
            copy_line(m, dst + (i * to + j) * width, src + (i + j * step) * width, n, 1, step);
    }
}

static void copy_strips(void *arg, uint64_t first, uint64_t end)
{
    const struct moving *w = arg;
    const struct as_move *m = &w->m;
    int64_t width = (int64_t)m->width, rows = m->n[w->cross], to = m->to[w->cross];

    for (uint64_t item = first; item < end; item++) {
        struct place p = place_at(m, m->rank - 1, w->cross, item / w->strips);
        int64_t i = (int64_t)(item % w->strips) * TILE, length = m->n[m->rank - 1];
        int64_t n = rows - i < TILE ? rows - i : TILE;
        uint8_t *dst = m->dst + (p.to + i * to) * width;
        const uint8_t *src = m->src + (p.from + i) * width;

        for (int64_t j = 0; j < length; j += TILE) {
            int64_t columns = length - j < TILE ? length - j : TILE;

            (width == 4 ? tile_4 : tile_any)(
                m, dst + j * width, src + j * m->from[m->rank - 1] * width, n, columns, to);
        }
    }
}

/* The axis along which the input is contiguous, when that is not the last one; else -1. */
static int find_cross(const struct as_move *m)
{
    int last = m->rank - 1;

    if (m->to[last] != 1 || m->from[last] == 0 || m->n[last] < 4)
        return -1;
    for (int i = 0; i < last; i++)
        if (m->from[i] == 1 && m->n[i] >= 4)
            return i;
    return -1;
}

void as_move_run(struct as_kernel_ctx *k, struct as_move *m)
{
    struct moving w;
    int last;

    for (int i = 0; i < m->rank; i++)
        if (m->n[i] <= 0)
            return;
    merge_axes(m);
    widen(m);
    if (m->rank == 0)
        as_move_axis(m, 1, 1, 1);
    last = m->rank - 1;
    w = (struct moving){.m = *m, .outer = 1};
    for (int i = 0; i < last; i++)
        w.outer *= (uint64_t)m->n[i];
    if (m->to[last] == 1 && m->from[last] == 1) {
        uint64_t bytes = (uint64_t)m->n[last] * m->width;

        if (m->rank == 1)
            as_kernel_parallel(k, (uint64_t)m->n[0], as_move_grain(m->width), copy_block, &w);
        else
            as_kernel_parallel(k, w.outer, as_move_grain(bytes), copy_rows, &w);
        return;
    }
    w.cross = find_cross(m);
    if (w.cross < 0) {
        as_kernel_parallel(k, w.outer, as_move_grain((uint64_t)m->n[last] * m->width), copy_lines,
                           &w);
        return;
    }
    w.strips = ((uint64_t)m->n[w.cross] + TILE - 1) / TILE;
    as_kernel_parallel(k, w.outer / (uint64_t)m->n[w.cross] * w.strips,
                       as_move_grain((uint64_t)m->n[last] * m->width * TILE), copy_strips, &w);
}

/* ---- what kernels share ---- */

int as_move_width(struct as_kernel_ctx *k, const struct as_val *val, size_t *width)
{
    const struct as_dtype_info *info = as_dtype_at(val->dtype);

    *width = val->dtype == AS_DTYPE_STRING ? sizeof(struct as_text) : info->block_bytes;
    if (info->block_elems != 1 || *width == 0)
        return as_kernel_cannot(k, "elements of %s cannot be moved one by one", info->name);
    return ASSAY_OK;
}

int as_move_own_texts(struct as_kernel_ctx *k, struct as_val *out)
{
    struct as_text *texts = out->data;

    if (out->dtype != AS_DTYPE_STRING)
        return ASSAY_OK;
    if (!out->hold)
        return as_kernel_cannot(k, "the output has nowhere to keep texts");
    for (uint64_t i = 0; i < out->n; i++) {
        texts[i].at = as_arena_text(&out->hold->texts, texts[i].at ? texts[i].at : "",
                                    texts[i].at ? texts[i].size : 0);
        if (!texts[i].at)
            return as_fail_nomem(k->err);
    }
    return ASSAY_OK;
}

int as_move_view(struct as_kernel_ctx *k, struct as_val *out, const struct as_val *in, int64_t base,
                 const int64_t *steps)
{
    struct as_move m = {0};
    int64_t to[AS_MAX_RANK];
    int rc = as_move_width(k, in, &m.width);

    if (rc < 0 || out->n == 0)
        return rc;
    m.dst = out->data;
    m.src = (const uint8_t *)in->data + base * (int64_t)m.width;
    as_strides(out, to);
    for (int i = 0; i < out->rank; i++)
        as_move_axis(&m, out->dims[i], to[i], steps[i]);
    as_move_run(k, &m);
    return as_move_own_texts(k, out);
}

int as_move_part(struct as_kernel_ctx *k, struct as_val *out, const struct as_val *in,
                 uint64_t outer, uint64_t all, uint64_t begin)
{
    struct as_move m = {0};
    uint64_t run;
    int rc = as_move_width(k, out, &m.width);

    if (rc < 0 || in->n == 0)
        return rc;
    run = in->n / outer;
    if (in->dtype != out->dtype || begin > all || run > all - begin || outer > out->n / all)
        return as_kernel_fail(k, "a part of %s does not fit into the output",
                              as_dtype_name(in->dtype));
    m.dst = (uint8_t *)out->data + begin * m.width;
    m.src = in->data;
    as_move_axis(&m, (int64_t)outer, (int64_t)all, (int64_t)run);
    as_move_axis(&m, (int64_t)run, 1, 1);
    as_move_run(k, &m);
    return ASSAY_OK;
}

void as_move_fill(uint8_t *dst, const void *one, uint64_t n, size_t width)
{
    uint64_t done = 1;

    if (n == 0)
        return;
    if (width == 1) {
        memset(dst, *(const uint8_t *)one, n);
        return;
    }
    memcpy(dst, one, width);
    while (done < n) {
        uint64_t more = done < 4096 ? done : 4096;

        more = more < n - done ? more : n - done;
        memcpy(dst + done * width, dst, more * width);
        done += more;
    }
}

int as_move_axis_of(struct as_kernel_ctx *k, const char *name, int64_t fallback, int rank,
                    int *axis)
{
    int64_t said = as_node_int(k->node, name, fallback);

    if (!as_axis(said, rank, axis))
        return as_kernel_fail(k, "axis %lld is outside of rank %d", (long long)said, rank);
    return ASSAY_OK;
}

int as_move_check_indices(struct as_kernel_ctx *k, const struct as_val *at, int64_t bound)
{
    if (at->dtype != AS_DTYPE_I32 && at->dtype != AS_DTYPE_I64)
        return as_kernel_fail(k, "its indices are %s", as_dtype_name(at->dtype));
    for (uint64_t i = 0; i < at->n; i++) {
        int64_t index = as_move_index(at, i);

        if (index < -bound || index >= bound)
            return as_kernel_fail(k, "index %lld is outside of %lld elements", (long long)index,
                                  (long long)bound);
    }
    return ASSAY_OK;
}

bool as_move_step(int64_t *at, const int64_t *dims, int rank)
{
    for (int d = rank; d-- > 0;) {
        if (++at[d] < dims[d])
            return true;
        at[d] = 0;
    }
    return false;
}
