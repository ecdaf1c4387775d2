/* experiment/attention/hysteresis.c - a mask whose entries flip only when they keep disagreeing.
 * The counters of eight entries lie across bytes, one byte for each binary digit, so that eight are
 * counted at once and a counter takes no more bits than tau has. */
#include "experiment/attention/attn_worker.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"

struct assay_hysteresis {
    unsigned tau;
    unsigned n_digits;
    uint64_t step;
    uint8_t *mask;   /* NULL before the first */
    uint8_t *digits; /* [n_digits][bytes], in the same block */
    size_t n_bits;
};

int assay_hysteresis_new(struct assay_hysteresis **out,
                         const struct assay_hysteresis_options *options, struct assay_error *err)
{
    struct assay_hysteresis_options o;
    int rc;
    struct assay_hysteresis *h;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the tracker was given");
    *out = NULL;
    rc = as_sized_take(&o, sizeof o, options, "options of hysteresis", err);
    if (rc < 0)
        return rc;
    h = as_alloc_zero(1, sizeof *h);
    if (!h)
        return as_fail_nomem(err);
    h->tau = o.tau > 0 ? o.tau : 1;
    for (uint64_t left = h->tau; left > 0; left /= 2)
        h->n_digits++;
    *out = h;
    return ASSAY_OK;
}

void assay_hysteresis_free(struct assay_hysteresis *h)
{
    if (!h)
        return;
    as_free(h->mask);
    as_free(h);
}

static size_t bytes_of(size_t n_bits)
{
    return n_bits / 8 + (n_bits % 8 > 0);
}

/* Takes the first mask of a length. */
static int begin(struct assay_hysteresis *h, const uint8_t *raw, size_t n_bits,
                 struct assay_error *err)
{
    size_t bytes = bytes_of(n_bits);
    uint8_t *block = as_alloc_zero(h->n_digits + 1, bytes ? bytes : 1);

    if (!block)
        return as_fail_nomem(err);
    if (bytes > 0)
        memcpy(block, raw, bytes);
    if (n_bits % 8 > 0)
        block[bytes - 1] &= (uint8_t)((1U << n_bits % 8) - 1);
    as_free(h->mask);
    h->mask = block;
    h->digits = block + bytes;
    h->n_bits = n_bits;
    return ASSAY_OK;
}

/* One more disagreement where there is one, none elsewhere; those that reach tau flip. */
static void count_byte(struct assay_hysteresis *h, size_t i, size_t bytes, unsigned raw)
{
    unsigned differs = raw ^ h->mask[i], carry = differs, flips = differs;

    for (unsigned d = 0; d < h->n_digits; d++) {
        uint8_t *digit = h->digits + d * bytes + i;
        unsigned sum = (*digit ^ carry) & differs;

        carry &= *digit;
        *digit = (uint8_t)sum;
        flips &= h->tau >> d & 1 ? sum : ~sum;
    }
    for (unsigned d = 0; d < h->n_digits; d++)
        h->digits[d * bytes + i] &= (uint8_t)~flips;
    h->mask[i] ^= (uint8_t)flips;
}

int assay_hysteresis_apply(struct assay_hysteresis *h, const uint8_t *raw, size_t n_bits,
                           uint8_t *out, struct assay_error *err)
{
    size_t bytes = bytes_of(n_bits);

    if (!h || ((!raw || !out) && n_bits > 0))
        return as_fail(err, ASSAY_ERR_USAGE, "a tracker and two masks are needed");
    if (!h->mask || h->n_bits != n_bits) {
        int rc = begin(h, raw, n_bits, err);

        if (rc < 0)
            return rc;
    } else {
        for (size_t i = 0; i < bytes; i++) {
            unsigned last = i + 1 == bytes && n_bits % 8 > 0 ? (1U << n_bits % 8) - 1 : 0xff;

            count_byte(h, i, bytes, raw[i] & last);
        }
    }
    h->step++;
    if (bytes > 0)
        memcpy(out, h->mask, bytes);
    return ASSAY_OK;
}

uint64_t assay_hysteresis_step(const struct assay_hysteresis *h)
{
    return h ? h->step : 0;
}

const uint8_t *assay_hysteresis_current_mask(const struct assay_hysteresis *h, size_t *n_bits)
{
    if (n_bits)
        *n_bits = h ? h->n_bits : 0;
    return h ? h->mask : NULL;
}

uint64_t as_hysteresis_bytes(const struct assay_hysteresis *h)
{
    return h && h->mask ? (uint64_t)bytes_of(h->n_bits) * (h->n_digits + 1) : 0;
}
