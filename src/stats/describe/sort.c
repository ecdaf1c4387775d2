/* stats/describe/sort.c - sorts samples in linear time, by the digits of their binary form.
 * The scratch is as long as the array, does not overlap it, and holds rubbish afterwards. */
#include "stats/describe/sorted.h"

#include <math.h>
#include <stdbool.h>

#define SMALL 64 /* below this, counting digits costs more than moving neighbors */

/* Six bits, so that a pass writes to no more pages than a first-level TLB knows: with eight, a pass
 * over 5 million keys took about twice as long, with eleven three times. */
#define DIGIT_BITS 6
#define DIGITS     ((size_t)1 << DIGIT_BITS)
#define MAX_PASSES (64 / DIGIT_BITS + 1)

/* Keys are loaded and stored through memcpy, which compiles to a move, because the same code sorts
 * arrays of doubles whose bits were turned into keys in place. */
static inline uint64_t load(const unsigned char *v, size_t i)
{
    uint64_t key;

    memcpy(&key, v + i * sizeof key, sizeof key);
    return key;
}

static inline void store(unsigned char *v, size_t i, uint64_t key)
{
    memcpy(v + i * sizeof key, &key, sizeof key);
}

static void sort_small(unsigned char *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t key = load(v, i);
        size_t j = i;

        for (; j > 0 && load(v, j - 1) > key; j--)
            store(v, j, load(v, j - 1));
        store(v, j, key);
    }
}

static inline size_t digit(uint64_t key, unsigned shift)
{
    return (size_t)(key >> shift) & (DIGITS - 1);
}

/* The bits that are not the same in all keys; none when the keys are in order already. */
static uint64_t varying_bits(const unsigned char *v, size_t n)
{
    uint64_t first = load(v, 0), before = first, bits = 0;
    bool ordered = true;

    for (size_t i = 1; i < n; i++) {
        uint64_t key = load(v, i);

        ordered &= before <= key;
        before = key;
        bits |= key ^ first;
    }
    return ordered ? 0 : bits;
}

/* One digit starts at each lowest varying bit not yet covered; returns how many there are. */
static unsigned place_digits(uint64_t bits, unsigned shift[MAX_PASSES])
{
    unsigned n = 0;

    while (bits) {
        shift[n] = (unsigned)__builtin_ctzll(bits);
        bits &= ~((uint64_t)(DIGITS - 1) << shift[n]);
        n++;
    }
    return n;
}

/* Moves the keys to where their digit puts them. The digit of the next pass is counted on the way,
 * which spares a reading of its own. `at` holds the counts of this digit and is used up. */
static void scatter(unsigned char *to, const unsigned char *from, size_t n, const unsigned shift[2],
                    size_t at[DIGITS], size_t next[DIGITS])
{
    size_t sum = 0;

    for (size_t i = 0; i < DIGITS; i++) {
        size_t count = at[i];

        at[i] = sum;
        sum += count;
        next[i] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t key = load(from, i);

        next[digit(key, shift[1])]++;
        store(to, at[digit(key, shift[0])]++, key);
    }
}

static void sort_keys(unsigned char *v, size_t n, unsigned char *scratch)
{
    unsigned shift[MAX_PASSES + 1] = {0}; /* one more, for the count that no pass follows */
    size_t count[2][DIGITS] = {{0}};
    unsigned char *from = v, *to = scratch;
    unsigned n_passes;

    if (n < SMALL) {
        sort_small(v, n);
        return;
    }
    n_passes = place_digits(varying_bits(v, n), shift);
    for (size_t i = 0; n_passes && i < n; i++)
        count[0][digit(load(v, i), shift[0])]++;
    for (unsigned pass = 0; pass < n_passes; pass++) {
        unsigned char *swap = from;

        scatter(to, from, n, shift + pass, count[pass % 2], count[(pass + 1) % 2]);
        from = to;
        to = swap;
    }
    if (from != v)
        memcpy(v, from, n * sizeof(uint64_t));
}

void as_sort_u64(uint64_t *v, size_t n, uint64_t *scratch)
{
    sort_keys((unsigned char *)v, n, (unsigned char *)scratch);
}

void as_sort_f64(double *v, size_t n, double *scratch)
{
    unsigned char *bytes = (unsigned char *)v;

    for (size_t i = 0; i < n; i++)
        store(bytes, i, as_sort_key(v[i]));
    sort_keys(bytes, n, (unsigned char *)scratch);
    for (size_t i = 0; i < n; i++)
        v[i] = as_sort_unkey(load(bytes, i));
}

size_t as_sort_find_bad(const double *v, size_t n)
{
    size_t i = 0;

    while (i < n && isfinite(v[i]))
        i++;
    return i;
}
