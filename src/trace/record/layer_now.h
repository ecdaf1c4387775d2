/* trace/record/layer_now.h - which layers the calling thread is in, read from its own ring.
 * Marks pay nothing for it: whoever asks catches up with the records since it last asked. For the
 * injected library, which asks inside malloc: takes no lock, allocates nothing. */
#ifndef AS_TRACE_RECORD_LAYER_NOW_H
#define AS_TRACE_RECORD_LAYER_NOW_H

#include <stdbool.h>
#include <stdint.h>

#define AS_LAYER_NOW_DEPTH 64 /* layers opened deeper count as the one at this depth */

struct as_open_layer {
    uint32_t layer; /* site id */
    uint64_t call;  /* tells this call of it from all others on the thread; never 0 */
};

struct as_layer_now {
    uint32_t depth; /* open layers, at most AS_LAYER_NOW_DEPTH; 0: in none */
    struct as_open_layer open[AS_LAYER_NOW_DEPTH]; /* outermost first */
    uint64_t iterations;                           /* iteration marks of this thread so far */
    uint64_t iteration;                            /* the number of the last one */
    uint64_t marks;                                /* changes whenever anything above did */
};

/* What the recorder gives to a library that was put into its program. */
#define AS_LAYER_SOURCE_VERSION 1u
struct as_layer_source {
    uint32_t version;
    /* Of the calling thread; borrowed until its next call. Never NULL. */
    const struct as_layer_now *(*now)(void);
    /* The name of a site, not ended, for as long as the process lives; NULL: no such site. */
    const char *(*name)(uint32_t layer, uint32_t *size);
};

/* The library's function of this name takes the source; found when a session is opened. NULL takes
 * it back: the session ended. */
#define AS_LAYER_BIND_NAME "assay_preload_bind_"
typedef void (*as_layer_bind)(const struct as_layer_source *source);

/* Session opened or closed: tells an injected library, if there is one. */
void as_layer_source_offer(bool open);

/* The chunk the calling thread fills is about to be given away: its records are looked at first. */
void as_layer_now_before_seal(void);

const struct as_layer_now *as_layer_now(void);

#endif
