/* measure/peaks/peak_lookup.c - what the measured peaks say about a thread count, a size, an
 * intensity. Pure functions of the figures; what is not known comes out as NaN. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "measure/peaks/peak_kernels.h"

static const struct {
    const char *name, *unit;
} types[] = {
#define X(name, key, unit) [AS_PEAK_##name] = {key, unit},
    AS_PEAK_TYPES(X)
#undef X
};

const char *as_peak_type_name(enum as_peak_type type)
{
    return types[type].name;
}

const char *as_peak_type_unit(enum as_peak_type type)
{
    return types[type].unit;
}

const char *as_peak_level_name(enum as_peak_level level)
{
    static const char *const names[] = {
        [AS_PEAK_L1] = "L1",
        [AS_PEAK_L2] = "L2",
        [AS_PEAK_L3] = "L3",
        [AS_PEAK_DRAM] = "DRAM",
    };
    _Static_assert(AS_COUNT_OF(names) == AS_PEAK_LEVEL_COUNT, "name every level");

    return names[level];
}

const char *as_peak_access_name(enum as_peak_access access)
{
    static const char *const names[] = {
        [AS_PEAK_READ] = "read",
        [AS_PEAK_WRITE] = "write",
        [AS_PEAK_TRIAD] = "triad",
    };
    _Static_assert(AS_COUNT_OF(names) == AS_PEAK_ACCESS_COUNT, "name every access");

    return names[access];
}

const char *as_peak_reason_text(enum as_peak_reason reason)
{
    static const char *const texts[] = {
#define X(name, text) [AS_PEAK_##name] = (text),
        AS_PEAK_REASONS(X)
#undef X
    };

    return texts[reason];
}

static bool is_word(const char *word, const char *name, size_t size)
{
    return strlen(word) == size && memcmp(word, name, size) == 0;
}

const char *as_peak_isa_find(const char *name, size_t size)
{
    const struct as_compute_kernel *c;
    const struct as_memory_kernel *m;

    for (size_t i = 0; (c = as_compute_kernel_at(i)); i++)
        if (is_word(c->isa, name, size))
            return c->isa;
    for (size_t i = 0; (m = as_memory_kernel_at(i)); i++)
        if (is_word(m->isa, name, size))
            return m->isa;
    return NULL;
}

const char *as_peak_reason_find(const char *text, size_t size)
{
    for (int i = 0; i < AS_PEAK_REASON_COUNT; i++)
        if (is_word(as_peak_reason_text((enum as_peak_reason)i), text, size))
            return as_peak_reason_text((enum as_peak_reason)i);
    return NULL;
}

unsigned as_peaks_counts(unsigned max, unsigned out[AS_PEAK_MAX_COUNTS])
{
    unsigned n = 0;

    if (max > AS_PEAK_MAX_THREADS)
        max = AS_PEAK_MAX_THREADS;
    for (unsigned count = 1; count < max && n < AS_PEAK_MAX_COUNTS - 1; count *= 2)
        out[n++] = count;
    out[n++] = max ? max : 1;
    return n;
}

void as_peaks_from_rates(struct as_peaks *out, const struct as_peak_rates *rates, unsigned threads)
{
    *out = (struct as_peaks){
        .n_counts = 1, .threads = {threads}, .frequency_hz = AS_UNKNOWN, .vector_hz = AS_UNKNOWN};
    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
        out->compute[type][0].rate = rates->flops[type] > 0 ? rates->flops[type] : AS_UNKNOWN;
    for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++) {
        bool known = rates->bytes[level] > 0 && (level == AS_PEAK_DRAM || rates->size[level]);

        for (int access = 0; access < AS_PEAK_ACCESS_COUNT; access++)
            out->bandwidth[level][access][0].rate = AS_UNKNOWN;
        if (known)
            out->bandwidth[level][AS_PEAK_READ][0].rate = rates->bytes[level];
        out->place[level].size_bytes = known ? rates->size[level] : 0;
    }
}

/* Between the neighbors of `threads`; a reason instead of a rate at either makes it NaN. */
static double at_threads(const struct as_peaks *p, const struct as_peak *row, unsigned threads)
{
    unsigned i = 0;
    double share;

    if (p->n_counts == 0 || threads == 0)
        return AS_UNKNOWN;
    while (i < p->n_counts && p->threads[i] < threads)
        i++;
    if (i == p->n_counts)
        return row[i - 1].rate;
    if (p->threads[i] == threads || i == 0)
        return row[i].rate;
    share = (double)(threads - p->threads[i - 1]) / (double)(p->threads[i] - p->threads[i - 1]);
    return row[i - 1].rate + share * (row[i].rate - row[i - 1].rate);
}

double as_peak_flops(const struct as_peaks *p, enum as_peak_type type, unsigned threads)
{
    return at_threads(p, p->compute[type], threads);
}

double as_peak_bandwidth_of(const struct as_peaks *p, enum as_peak_level level,
                            enum as_peak_access access, unsigned threads)
{
    return at_threads(p, p->bandwidth[level][access], threads);
}

double as_peak_bandwidth(const struct as_peaks *p, enum as_peak_level level, unsigned threads)
{
    double best = AS_UNKNOWN;

    for (int access = 0; access < AS_PEAK_ACCESS_COUNT; access++)
        best = fmax(best, as_peak_bandwidth_of(p, level, (enum as_peak_access)access, threads));
    return best;
}

enum as_peak_level as_peak_level(const struct as_peaks *p, uint64_t bytes)
{
    for (int level = AS_PEAK_L1; level < AS_PEAK_DRAM; level++)
        if (p->place[level].size_bytes && bytes <= p->place[level].size_bytes)
            return (enum as_peak_level)level;
    return AS_PEAK_DRAM;
}

double as_peak_ridge(const struct as_peaks *p, enum as_peak_type type, enum as_peak_level level,
                     unsigned threads)
{
    return as_peak_flops(p, type, threads) / as_peak_bandwidth(p, level, threads);
}

double as_peak_fma_a_cycle(const struct as_peaks *p)
{
    const char *isa = p->n_counts ? p->compute[AS_PEAK_F32][0].isa : NULL;
    const struct as_compute_kernel *k;

    for (size_t i = 0; isa && (k = as_compute_kernel_at(i)); i++)
        if (k->type == AS_PEAK_F32 && strcmp(k->isa, isa) == 0)
            return p->compute[AS_PEAK_F32][0].rate / (2 * (double)k->lanes) / p->vector_hz;
    return AS_UNKNOWN;
}
