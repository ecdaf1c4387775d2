/* trace/run/run_reader.h - opens a run, whatever state it is in, and tells how much of it is there.
 * Reads the ring that a killed program left; writes nothing. The bytes are hostile until checked.
 */
#ifndef AS_TRACE_RUN_RUN_READER_H
#define AS_TRACE_RUN_RUN_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "trace/run/run_format.h"
#include "trace/run/timebase.h"

struct as_run_attribute {
    struct as_run_attribute *next;
    const char *key, *text; /* text: NULL for a number */
    double number;
};

struct as_run_site {
    const char *name, *file,
        *unit; /* name: never NULL; "(unknown)" for an id whose block was lost */
    uint32_t line, category;
    bool known;
    struct as_run_attribute *attributes; /* a key stands once: the last word won */
};

/* One events block: in the file, or taken from a ring into memory. */
struct as_run_chunk {
    uint64_t sequence;
    uint64_t offset;       /* of the payload in the file; unused with `memory` */
    const uint8_t *memory; /* NULL: in the file */
    uint32_t size, records, crc;
};

struct as_run_thread {
    uint64_t index, tid;
    const char *name; /* never NULL */
    struct as_run_chunk *chunk;
    size_t n_chunks, capacity;
    uint64_t pending_lost, pending_from,
        pending_to; /* events its ring had no room for when the program was killed */
};

/* One data block. */
struct as_run_data {
    const char *kind, *json; /* both NUL-terminated, in the run's arena; json: not yet checked */
    size_t json_size;
};

/* How whole the run is. */
struct as_run_health {
    bool closed; /* the session was ended properly */
    bool live;   /* a program is still recording it */
    long live_pid;
    int write_sys;   /* errno: the session was closed, and could not write the run to its end */
    bool ring_found; /* the ring of this run stands beside it */
    uint64_t ring_events;                   /* recovered from the ring */
    uint64_t events;                        /* all that can be read, the ring's included */
    uint64_t damaged_blocks, damaged_bytes; /* passed over */
    uint64_t damaged_events;                /* events in damaged blocks whose header was whole */
    uint64_t cut_bytes;                     /* of an unfinished block at the end */
    uint64_t cut_events;
    uint64_t expected_events,
        told_lost; /* by the session's own account; 0 when it was not closed */
    uint64_t lost[AS_LOSS_REASON_COUNT]; /* by reason, as the recorder counted */
    uint64_t unknown_blocks;             /* of kinds this version does not know */
};

/* Of all reasons together. */
static inline uint64_t as_run_health_lost(const struct as_run_health *h)
{
    uint64_t lost = 0;

    for (int i = 0; i < AS_LOSS_REASON_COUNT; i++)
        lost = h->lost[i] > UINT64_MAX - lost ? UINT64_MAX : lost + h->lost[i];
    return lost;
}

struct as_run {
    struct as_arena ring_arena;
    struct as_arena arena;
    char *path;
    bool redacted; /* set by who shows it: no argument of a command may be shown */
    int fd;
    int unread; /* errno of the first read that failed; -1: the file was cut short meanwhile */
    uint64_t size_bytes;
    struct as_run_header header;
    uint32_t next_number; /* of a block added after the last */
    const char **meta;    /* JSON objects, in order; a later one's keys win */
    size_t n_meta;
    struct as_run_data *data; /* in order of the file */
    size_t n_data, data_capacity;
    struct as_run_site *site; /* [id], 1 to n_sites */
    uint32_t n_sites, site_capacity;
    struct as_run_thread *thread;
    size_t n_threads, thread_capacity;
    uint32_t *thread_place; /* while opening: [index] -> place in `thread` plus one */
    size_t place_capacity;
    struct as_clock_anchor *anchor;
    size_t n_anchors, anchor_capacity;
    bool cut_known; /* the file ends inside the block of this chunk */
    uint64_t cut_thread, cut_sequence;
    struct as_timebase time;
    struct as_run_health health;
};

/* Opens `path`; the caller closes it. A file cut or damaged opens with what is left of it. */
AS_MUST_USE int as_run_open(struct as_run **out, const char *path, struct assay_error *err);

/* The same for a run that is only in memory, behind a descriptor, which becomes the run's. `name`
 * is what it is called. */
AS_MUST_USE int as_run_open_fd(struct as_run **out, int fd, const char *name,
                               struct assay_error *err);

/* Accepts NULL. */
void as_run_close(struct as_run *run);

/* Whether it is no thread of the program but the recorder's samples of its memory. */
bool as_run_thread_is_ours(const struct as_run_thread *thread);

/* Borrowed; "(unknown)" and no attributes for an id the run does not name. */
const struct as_run_site *as_run_site_at(const struct as_run *run, uint32_t id);

/* The attribute of that key, or NULL. */
const struct as_run_attribute *as_run_site_get(const struct as_run_site *site, const char *key);

/* While opening: the thread of that index, made when it is new; NULL without memory or past the
 * limit. */
struct as_run_thread *as_run_thread_for(struct as_run *run, uint64_t index);

/* Adds a chunk to a thread, in any order; one that is there twice is dropped at the end of opening.
 */
AS_MUST_USE int as_run_add_chunk(struct as_run *run, struct as_run_thread *thread,
                                 const struct as_run_chunk *chunk, struct assay_error *err);

/* ---- run_facts.c ---- */

/* The text there, in the run's own memory; NULL when there is none. */
const char *as_run_fact_text(struct as_run *run, const char *path);

/* Whether the text there is this one; copies nothing. */
bool as_run_fact_is(const struct as_run *run, const char *path, const char *text);

/* The number there; false when there is none. */
bool as_run_fact_number(const struct as_run *run, const char *path, double *out);

/* The strings of the array there, joined by spaces, in the run's own memory; NULL when there is
 * none. */
const char *as_run_fact_list(struct as_run *run, const char *path);

/* ---- run_blocks.c ---- */

/* 1 when the block was taken, 0 when its payload is nonsense, negative when memory ran out. */
AS_MUST_USE int as_run_take_block(struct as_run *run, const struct as_block_header *block,
                                  const uint8_t *payload, uint64_t payload_at,
                                  struct assay_error *err);

#endif
