/* measure/latency/sample_interference.c - what the system did to us while samples were taken. */
#include "measure/latency/sample_interference.h"

#include <stddef.h>

#include "base/clock.h"
#include "measure/peaks/peaks.h"
#include "probe/process/process_memory.h"
#include "probe/system/system_load.h"

#define MAX_COST_SHARE 0.005     /* of the time between two readings */
#define STEAL_EVERY_NS 200000000 /* its unit is 10 ms, and two files are read for it */
#define COST_TRIES     8
#define MAX_GROUP      100000

static const char *const cause_name[] = {
#define X(name, word, text) word,
    AS_CAUSES(X)
#undef X
};

static const char *const cause_text[] = {
#define X(name, word, text) text,
    AS_CAUSES(X)
#undef X
};

const char *as_cause_name(enum as_cause cause)
{
    return (unsigned)cause < AS_CAUSE_COUNT ? cause_name[cause] : "unknown";
}

const char *as_cause_text(enum as_cause cause)
{
    return (unsigned)cause < AS_CAUSE_COUNT ? cause_text[cause] : "something unknown";
}

/* ---- the machine ---- */

static uint64_t machine_now(void *user)
{
    (void)user;
    return as_clock_mono_ns();
}

static void put(struct as_interference_counts *out, enum as_cause cause, struct as_fact fact)
{
    out->known[cause] = !fact.why;
    out->of[cause] = fact.value;
}

static void read_events(struct as_interference_counts *out, bool thread_only)
{
    struct as_process_events e;

    as_process_events_read(&e, thread_only);
    put(out, AS_CAUSE_INVOLUNTARY, e.switches_involuntary);
    put(out, AS_CAUSE_VOLUNTARY, e.switches_voluntary);
    put(out, AS_CAUSE_MINOR_FAULT, e.minor_faults);
    put(out, AS_CAUSE_MAJOR_FAULT, e.major_faults);
}

static void thread_events(void *user, struct as_interference_counts *out)
{
    (void)user;
    read_events(out, true);
}

static void process_events(void *user, struct as_interference_counts *out)
{
    (void)user;
    read_events(out, false);
}

static void machine_steal(void *user, struct as_interference_counts *out)
{
    struct as_system_load load;

    (void)user;
    as_system_load_read(&load, "");
    put(out, AS_CAUSE_STEAL, load.steal_ticks);
}

static double machine_frequency(void *user)
{
    (void)user;
    return as_frequency_measure();
}

const struct as_interference_source *as_interference_machine(bool whole_process)
{
    static const struct as_interference_source thread = {.now_ns = machine_now,
                                                         .events = thread_events,
                                                         .steal = machine_steal,
                                                         .frequency_hz = machine_frequency};
    static const struct as_interference_source process = {.now_ns = machine_now,
                                                          .events = process_events,
                                                          .steal = machine_steal,
                                                          .frequency_hz = machine_frequency};

    return whole_process ? &process : &thread;
}

/* ---- watching ---- */

static void read_into(const struct as_interference *w, struct as_interference_counts *out,
                      bool steal)
{
    if (!steal && w->source->events)
        w->source->events(w->source->user, out);
    if (steal && w->source->steal)
        w->source->steal(w->source->user, out);
}

/* What one reading of events takes. */
static double reading_ns(const struct as_interference *w)
{
    struct as_interference_counts c = {0};
    uint64_t from = w->source->now_ns(w->source->user);

    for (int i = 0; i < COST_TRIES; i++)
        read_into(w, &c, false);
    return (double)(w->source->now_ns(w->source->user) - from) / COST_TRIES;
}

void as_interference_begin(struct as_interference *w, const struct as_interference_source *source,
                           double sample_ns)
{
    double least;

    *w = (struct as_interference){.source = source, .group = 1};
    least = reading_ns(w) / MAX_COST_SHARE;
    if (sample_ns > 0 && least > sample_ns)
        w->group = least / sample_ns < MAX_GROUP ? (size_t)(least / sample_ns) + 1 : MAX_GROUP;
    read_into(w, &w->first, false);
    read_into(w, &w->first, true);
    w->last = w->first;
    w->steal_ns = source->now_ns(source->user);
}

/* Marks the samples [from, n) with what grew since the last reading. */
static void mark(struct as_interference *w, bool steal, size_t from, size_t n, uint8_t *seen)
{
    struct as_interference_counts now = w->last;
    uint8_t bits = 0;

    read_into(w, &now, steal);
    for (unsigned c = 0; c < AS_CAUSE_COUNT; c++)
        if (now.known[c] && w->last.known[c] && now.of[c] > w->last.of[c])
            bits = (uint8_t)(bits | 1u << c);
    for (size_t i = from; i < n && bits; i++)
        seen[i] |= bits;
    w->last = now;
}

void as_interference_sample(struct as_interference *w, size_t n, uint64_t now_ns, uint8_t *seen)
{
    if (n - w->n_before >= w->group) {
        mark(w, false, w->n_before, n, seen);
        w->n_before = n;
    }
    if (w->source->steal && now_ns - w->steal_ns >= STEAL_EVERY_NS) {
        mark(w, true, w->n_before_steal, n, seen);
        w->n_before_steal = n;
        w->steal_ns = now_ns;
    }
}

void as_interference_end(struct as_interference *w, size_t n, uint8_t *seen)
{
    mark(w, false, w->n_before, n, seen);
    mark(w, true, w->n_before_steal, n, seen);
    w->n_before = w->n_before_steal = n;
}

uint64_t as_interference_count(const struct as_interference *w, enum as_cause cause)
{
    return w->last.of[cause] - w->first.of[cause];
}

bool as_interference_known(const struct as_interference *w, enum as_cause cause)
{
    return w->first.known[cause] && w->last.known[cause];
}
