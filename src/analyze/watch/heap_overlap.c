/* analyze/watch/heap_overlap.c - the most that several heaps can have held together.
 * Each has a peak of its own; only of those that were there at one time can they add up. */
#include "analyze/watch/target_read.h"

#include "base/cursor.h"

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return as_add_u64(a, b, &sum) ? sum : UINT64_MAX;
}

static bool is_there(const struct as_heap_span *s, uint64_t ns)
{
    return s->from_ns <= ns && ns < s->to_ns;
}

/* A sum is greatest where one of them begins. */
static uint64_t sum_at(const struct as_heap_span *span, size_t n, uint64_t ns)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        if (is_there(&span[i], ns))
            sum = plus(sum, span[i].peak_bytes);
    return sum;
}

uint64_t as_heap_overlap(struct as_heap_span *span, size_t n, uint64_t *slack_bytes)
{
    uint64_t most = 0, when = 0, surely = 0;

    for (size_t i = 0; i < n; i++) {
        if (span[i].to_ns > span[i].from_ns)
            continue;
        span[i].from_ns = 0; /* makes no sense: it may have been there all the time */
        span[i].to_ns = UINT64_MAX;
    }
    for (size_t i = 0; i < n; i++) {
        const struct as_heap_span *s = &span[i];
        uint64_t sum, least = s->peak_bytes - s->slack_bytes;

        if (s->slack_bytes > s->peak_bytes)
            least = 0;
        surely = least > surely ? least : surely;
        sum = sum_at(span, n, s->from_ns);
        if (i == 0 || sum > most) {
            most = sum;
            when = s->from_ns;
        }
    }
    for (size_t i = 0; i < n; i++)
        span[i].together = is_there(&span[i], when);
    *slack_bytes = most - surely;
    return most;
}
