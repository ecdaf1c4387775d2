/* measure/peaks/peak_frequency.c - how fast the processor really runs, from a chain of additions.
 * Each waits for the one before and takes one cycle, so their number over the time is the speed. */
#include <math.h>

#include "base/clock.h"
#include "base/units.h"
#include "measure/peaks/peak_kernels.h"

#define TRIES         12
#define VECTOR_TRIES  40
#define ROUNDS        300
#define VECTOR_ROUNDS 100000 /* a fifth of a millisecond: long enough for the clock to follow */

#if defined(__x86_64__)
/* Of two registers: additions of constants may be folded before they are executed. */
#define ADD "add %1, %0\n\t"
#elif defined(__aarch64__)
#define ADD "add %0, %0, %1\n\t"
#endif

#ifdef ADD
#define ADD_10  ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD
#define ADD_100 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10 ADD_10

static double chain_ns(void)
{
    uint64_t sum = 1, step = 3, begin = as_clock_mono_ns();

    for (int i = 0; i < ROUNDS; i++)
        __asm__ __volatile__(ADD_100 : "+r"(sum) : "r"(step));
    return (double)(as_clock_mono_ns() - begin);
}

static double best_hz(const struct as_compute_kernel *before, char *scratch)
{
    double best_ns = (double)INFINITY;

    for (int i = 0; i < (before ? VECTOR_TRIES : TRIES); i++) {
        double ns;

        if (before)
            before->run(VECTOR_ROUNDS, scratch);
        ns = chain_ns();
        if (ns > 0 && ns < best_ns)
            best_ns = ns;
    }
    return isfinite(best_ns) ? ROUNDS * 100 / best_ns * 1e9 : AS_UNKNOWN;
}
#else
static double best_hz(const struct as_compute_kernel *before, char *scratch)
{
    (void)before;
    (void)scratch;
    return AS_UNKNOWN;
}
#endif

double as_frequency_measure(void)
{
    return best_hz(NULL, NULL);
}

double as_frequency_under_vectors(void)
{
    _Alignas(64) char scratch[AS_PEAK_SCRATCH_BYTES];
    const char *why;

    as_compute_scratch(AS_PEAK_F32, scratch);
    return best_hz(as_compute_kernel_find(AS_PEAK_F32, &why), scratch);
}
