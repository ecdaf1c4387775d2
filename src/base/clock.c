/* base/clock.c - what time it is: the processor's counter where it can be trusted, the system's
 * clock elsewhere. */
#include "base/clock.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>

#include "base/file/file_open.h"
#endif

#define AS_ANCHOR_TRIES 64

static uint64_t read_clock(clockid_t id)
{
    struct timespec t = {0};

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t as_clock_mono_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

bool as_clock_thread_cpu_ns(uint64_t *out)
{
    struct timespec t;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
        return false;
    *out = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return true;
}

#if defined(__x86_64__)
static bool tsc_is_invariant(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

/* The kernel marks the counter unstable when cores disagree; its choice of clock source says so. */
static bool kernel_trusts_tsc(void)
{
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char text[16] = {0};
    int fd = as_open(path, O_RDONLY);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    return n >= 3 && memcmp(text, "tsc", 3) == 0 && (text[3] == '\n' || text[3] == '\0');
}
#endif

struct as_clock_choice as_clock_choose(bool allow_counter)
{
    if (!allow_counter)
        return (struct as_clock_choice){AS_CLOCK_MONOTONIC, "the counter was not wanted"};
#if defined(__x86_64__)
    if (!tsc_is_invariant())
        return (struct as_clock_choice){AS_CLOCK_MONOTONIC,
                                        "the processor does not call its counter invariant"};
    if (!kernel_trusts_tsc())
        return (struct as_clock_choice){AS_CLOCK_MONOTONIC,
                                        "the kernel does not use the counter as its clock source"};
    return (struct as_clock_choice){AS_CLOCK_TSC, "invariant, and the kernel's clock source"};
#elif defined(__aarch64__)
    return (struct as_clock_choice){AS_CLOCK_COUNTER, "the architecture's counter is constant"};
#else
    return (struct as_clock_choice){AS_CLOCK_MONOTONIC, "no counter is known on this architecture"};
#endif
}

const char *as_clock_name(enum as_clock_kind kind)
{
    return kind == AS_CLOCK_TSC ? "tsc" : kind == AS_CLOCK_COUNTER ? "counter" : "monotonic";
}

uint64_t as_clock_ticks(enum as_clock_kind kind)
{
#if defined(__x86_64__)
    if (kind == AS_CLOCK_TSC)
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (kind == AS_CLOCK_COUNTER) {
        uint64_t ticks;

        __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    (void)kind;
    return as_clock_mono_ns();
}

double as_clock_unix_seconds(void)
{
    return (double)read_clock(CLOCK_REALTIME) / 1e9;
}

struct as_clock_anchor as_clock_read_anchor(enum as_clock_kind kind)
{
    struct as_clock_anchor best = {.width = UINT64_MAX};

    for (int i = 0; i < AS_ANCHOR_TRIES; i++) {
        uint64_t before = as_clock_ticks(kind);
        uint64_t mono = as_clock_mono_ns();
        uint64_t after = as_clock_ticks(kind);

        if (after >= before && after - before < best.width) {
            best.width = after - before;
            best.ticks = before + (after - before) / 2;
            best.mono_ns = mono;
        }
    }
    /* The wall clock places the run in the day; it may be less exact than the two above. */
    best.real_ns = read_clock(CLOCK_REALTIME) - (as_clock_mono_ns() - best.mono_ns);
    return best;
}
