/* profiler/mark_unit.h - what stands in the lanes of a manager (profiler/mark_lane.h), a unit at a
 * time: a layer begins or ends, with what was read then.
 *
 *   unit   = leading record, then records of data that belong to it, in one chunk
 *   leading: BEGIN, END, FAIL of assay/scope.h, with a time stamp, the layer's site in the low 17
 * bits and the session in those above: a layer that was begun as its session ended is nobody's;
 *            DROP (data: how many of the innermost open layers were left without an end);
 *            RESTART (site: id of the thread that now uses the lane, data: its number)
 *   data:    FIELD (site: enum as_mark_field), PAIR (site: key; a number), WORDS (site: key, 0 for
 *            the reason of a failure; data: bytes of text), TEXT (eight bytes of that text)
 *
 * The leading record is stored last: when it is there, its data is. */
#ifndef AS_PROFILER_MARK_UNIT_H
#define AS_PROFILER_MARK_UNIT_H

#include <assay/manager.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/memory_profile.h"

#define AS_MARK_MAX_PAIRS 32u
#define AS_MARK_MAX_TEXT  255u

/* Beyond the kinds that stand in files. */
enum as_mark_kind {
    AS_MARK_DROP = 64,
    AS_MARK_RESTART,
    AS_MARK_FIELD,
    AS_MARK_PAIR,
    AS_MARK_WORDS,
    AS_MARK_TEXT
};

/* What is known of a call beside its times; signed values and pointers as their bits. */
enum as_mark_field {
    AS_MARK_ON,     /* profilers that were on when it ended */
    AS_MARK_BEFORE, /* ticks that profiling took before it began */
    AS_MARK_AFTER,  /* and after it ended: the time of no layer */
    AS_MARK_STEP,
    AS_MARK_PROCESS_BYTES, /* resident, without what the profiler holds */
    AS_MARK_HEAP_BYTES,    /* in use of the heap, likewise */
    AS_MARK_LEFT_BYTES,    /* taken and not given back by the call itself */
    AS_MARK_CPU_NS,        /* used by the call itself: see layer_usage.h */
    AS_MARK_MINOR_FAULTS,
    AS_MARK_MAJOR_FAULTS,
    AS_MARK_SWITCHES,
    AS_MARK_SLEEPS,
    AS_MARK_IO_BLOCKS,
    AS_MARK_UNREAD_NS, /* spent in layers inside it whose usage was not read */
    AS_MARK_MEMORY,    /* from here on: the words of struct as_memory_change */
    AS_MARK_FIELDS = AS_MARK_MEMORY + sizeof(struct as_memory_change) / sizeof(uint64_t)
};
_Static_assert(AS_MARK_FIELDS <= 64, "a bit each");

struct as_mark_fields {
    uint64_t known; /* bits; the others have no value */
    uint64_t value[AS_MARK_FIELDS];
};

static inline void as_mark_set_field(struct as_mark_fields *to, unsigned field, uint64_t value)
{
    to->value[field] = value;
    to->known |= UINT64_C(1) << field;
}

static inline uint64_t as_mark_get(const struct as_mark_fields *from, unsigned field,
                                   uint64_t otherwise)
{
    return from->known >> field & 1 ? from->value[field] : otherwise;
}

static inline bool as_mark_has(const struct as_mark_fields *from, unsigned field)
{
    return from->known >> field & 1;
}

/* ---- mark_read.c ---- */

struct as_mark_set;
struct as_mark_thread;

/* A call that ended, or begins, as the lane has it. Texts are borrowed until the visitor returns.
 */
struct as_mark_unit {
    uint32_t kind; /* AS_RECORD_BEGIN, _END, _FAIL, AS_MARK_DROP, AS_MARK_RESTART */
    uint32_t site; /* of a layer: as_mark_layer() */
    uint64_t time; /* or the leading record's data */
    struct as_mark_fields fields;
    struct assay_metadata *pair;
    size_t n_pairs;
    const char *reason; /* NULL: none */
};
typedef void (*as_mark_visit)(void *user, struct as_mark_thread *t,
                              const struct as_mark_unit *unit);

/* Memory for the texts of a unit; one reader at a time. */
struct as_mark_scratch;
struct as_mark_scratch *as_mark_scratch_new(void);
void as_mark_scratch_free(struct as_mark_scratch *scratch);

/* Hands out what every lane has up to `until` ticks, in the order of time. A mark that is being
 * made meanwhile may be earlier than what was handed out. Returns how many units there were. */
size_t as_mark_take(struct as_mark_set *set, struct as_mark_scratch *scratch, uint64_t until,
                    as_mark_visit visit, void *user);

/* Whether half of some lane waits to be taken. */
bool as_mark_is_urgent(const struct as_mark_set *set);

#endif
