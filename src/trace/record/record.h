/* trace/record/record.h - the kinds of events and how one is packed into 16 bytes.
 * Times are ticks of the session's clock until trace/run/timebase.h turns them into nanoseconds. */
#ifndef AS_TRACE_RECORD_RECORD_H
#define AS_TRACE_RECORD_RECORD_H

#include <assay/scope.h>
#include <stdbool.h>
#include <stdint.h>

/* In a record, `time` is a time stamp for the first group and plain data for the second, whose
 * records belong to the one before them on the same thread. The numbers stand in files: they are
 * never reused. */
enum as_record_kind {
    AS_RECORD_NONE = 0,
    AS_RECORD_BEGIN = ASSAY_KIND_BEGIN_,
    AS_RECORD_END = ASSAY_KIND_END_,
    AS_RECORD_FAIL = ASSAY_KIND_FAIL_,
    AS_RECORD_SWITCH = ASSAY_KIND_SWITCH_,
    AS_RECORD_ITER = ASSAY_KIND_ITER_, /* an iteration begins; its number follows */
    AS_RECORD_ITER_END = 6,
    AS_RECORD_SAMPLE = 7,     /* site: the channel; its value follows */
    AS_RECORD_LOST_FROM = 8,  /* site: low half of the count of events lost since this time */
    AS_RECORD_LOST_TO = 9,    /* site: high half of that count; time of the last one lost */
    AS_RECORD_WAIT_FROM = 10, /* the program waited for the recorder from here */
    AS_RECORD_WAIT_TO = 11,   /* to here */
    /* An instant event. With texts behind it a message, with an id a point of an async span or a
     * flow; see enum as_point_role. */
    AS_RECORD_POINT = ASSAY_KIND_POINT_,
    AS_RECORD_LOCK_WAIT = ASSAY_KIND_LOCK_WAIT_, /* site: the lock the thread waits for */
    AS_RECORD_LOCK_HELD = ASSAY_KIND_LOCK_HELD_,
    AS_RECORD_LOCK_FREE = ASSAY_KIND_LOCK_FREE_,
    AS_RECORD_VALUE = 16,  /* data: bits of a double, the value of the sample before */
    AS_RECORD_NUMBER = 17, /* data: the number of the iteration before */
    AS_RECORD_CPU = 18,    /* data: the thread's CPU nanoseconds at the mark before */
    AS_RECORD_LENGTH = 19, /* data: the sequence length of the running iteration */
    AS_RECORD_NOTE =
        20, /* data: bits of a double; site: the key; belongs to the innermost open scope */
    AS_RECORD_TEXT = 21, /* data: eight bytes of the message before, the first in the lowest bits;
                            zeros after its end */
    AS_RECORD_ID = 22,   /* data: the id of the point before; site: its enum as_point_role */
    AS_RECORD_PAD = 31,  /* nothing; fills the end of a chunk */
    AS_RECORD_COUNT = 32
};

/* What a point in time stands for. The numbers stand in files. */
enum as_point_role {
    AS_POINT_INSTANT = 0,
    AS_POINT_ASYNC_BEGIN = 1,
    AS_POINT_ASYNC_END = 2,
    AS_POINT_FLOW_BEGIN = 3,
    AS_POINT_FLOW_STEP = 4,
    AS_POINT_FLOW_END = 5,
    AS_POINT_MESSAGE = 6, /* never in a file: told by its texts */
    AS_POINT_COUNT = 7
};

/* A message with its mark. */
#define AS_MESSAGE_RECORDS (1 + ASSAY_MESSAGE_MAX / 8)
_Static_assert(ASSAY_MESSAGE_MAX % 8 == 0, "texts are kept by eight bytes");

/* Whether the record's first word is a time stamp. */
static inline bool as_kind_is_timed(uint32_t kind)
{
    return kind > AS_RECORD_NONE && kind < AS_RECORD_VALUE;
}

static inline uint64_t as_record_word(uint64_t tag, uint32_t kind, uint32_t site)
{
    return tag | (uint64_t)kind << 32 | site;
}

#define AS_TAG_SHIFT 40
#define AS_TAG_MASK  (~(uint64_t)0 << AS_TAG_SHIFT)

static inline uint32_t as_word_kind(uint64_t word)
{
    return (uint32_t)(word >> 32) & 0xff;
}

static inline uint32_t as_word_site(uint64_t word)
{
    return (uint32_t)word;
}

#endif
