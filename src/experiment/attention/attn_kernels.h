/* experiment/attention/attn_kernels.h - the loops over numbers of attention, once for each kind of
 * processor. All give the same bits: every number is made by the same chain of fused operations in
 * each. */
#ifndef AS_EXPERIMENT_ATTENTION_ATTN_KERNELS_H
#define AS_EXPERIMENT_ATTENTION_ATTN_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns are packed in panels: keys as [panel][dim][16], values as [16 columns][position][16]. */
enum { AS_ATTN_PANEL = 16, AS_ATTN_MOST_ROWS = 12 };

/* Logits of a few rows against one panel of keys. */
struct as_attn_scores {
    const float *q; /* [rows][q_stride] */
    size_t q_stride;
    size_t rows;        /* 1 to the kernels' `rows` */
    const float *panel; /* [dim][16] */
    size_t dim;
    float scale; /* applied to the finished sum */
    float *s;    /* [rows][s_stride], 16 of each row are written */
    size_t s_stride;
};

/* acc += p v for a few rows and 16 columns of v, in the order of the positions. */
struct as_attn_mix {
    const float *p; /* [rows][p_stride], 16 for each panel listed */
    size_t p_stride;
    size_t rows;
    const float *v; /* [position][16] */
    const uint32_t *panels;
    size_t n_panels;
    float *acc; /* [rows][16] */
    bool first; /* acc holds nothing yet */
};

struct as_attn_kernels {
    const char *name;
    size_t rows; /* a tile has */
    void (*scores)(const struct as_attn_scores *job);
    void (*mix)(const struct as_attn_mix *job);
    /* Turns the logits of a row into exp(logit - greatest), 0 where a bit of the panel is 0; the
     * sum in units of 2^-30, each term rounded to it, which is 0 for a row without entries. */
    int64_t (*softmax)(float *s, const uint16_t *bits, size_t n_panels);
    /* Sets a bit for each of the first `n` values above `eps`, the others of the words to 0;
     * returns the greatest of those above, or 0. */
    float (*above)(const float *x, size_t n, float eps, uint64_t *words);
    /* Values with a bit as whole multiples of 1 / scale, at least 1; 0 for the others. Products
     * stay below 2^51. Returns their sum. */
    int64_t (*capacities)(const float *x, const uint64_t *words, size_t n, double scale,
                          int64_t *to);
    /* The bits of the greatest magnitude: from 0x7f800000 on one is not finite. */
    uint32_t (*largest)(const float *x, size_t n);
};

/* Those this machine can run below the cap on instruction sets, the fastest first; NULL after the
 * last. */
const struct as_attn_kernels *as_attn_kernels_at(size_t i);

extern const struct as_attn_kernels as_attn_kernels_plain;
#if defined(__x86_64__)
extern const struct as_attn_kernels as_attn_kernels_avx2, as_attn_kernels_avx512;
#endif

#endif
