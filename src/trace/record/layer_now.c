/* trace/record/layer_now.c - which layers the calling thread is in, read from its own ring.
 * Runs inside malloc of other programs: no lock, no heap, no system call. */
#include "trace/record/layer_now.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "trace/record/ring.h"
#include "trace/record/site_table.h"

#define CHUNK_MASK (~(uintptr_t)(ASSAY_CHUNK_BYTES_ - 1))

struct follower {
    uintptr_t seen; /* the slot after the last record looked at; 0: none */
    uint64_t epoch; /* of the session it was in */
    uint64_t calls;
    uint32_t too_deep; /* open beyond what is kept */
    uint32_t switched; /* depth + 1 of the layer opened by a switch; 0: none */

    struct as_layer_now now;
};

static __thread struct follower follower __attribute__((tls_model("initial-exec")));
static _Atomic bool wanted; /* somebody asks: chunks are looked at before they are given away */

static void open_layer(struct follower *f, uint32_t layer)
{
    f->calls++;
    f->now.marks++;
    if (f->now.depth == AS_LAYER_NOW_DEPTH) {
        f->too_deep++;
        return;
    }
    f->now.open[f->now.depth++] = (struct as_open_layer){layer, f->calls};
}

/* Whatever was left open inside ends with it; an end of something that is not open is passed over.
 */
static void close_layer(struct follower *f, uint32_t layer)
{
    f->now.marks++;
    if (f->too_deep) {
        f->too_deep--;
        return;
    }
    for (uint32_t i = f->now.depth; i > 0; i--) {
        if (f->now.open[i - 1].layer != layer)
            continue;
        f->now.depth = i - 1;
        if (f->switched > f->now.depth)
            f->switched = 0;
        return;
    }
}

static void switch_layer(struct follower *f, uint32_t layer)
{
    if (f->switched) {
        f->now.depth = f->switched - 1;
        f->now.marks++;
        f->switched = 0;
    }
    if (!layer)
        return;
    open_layer(f, layer);
    f->switched = f->now.depth;
}

static void take(struct follower *f, const struct assay_record_ *r, uint64_t word)
{
    uint32_t kind = as_word_kind(word), site = as_word_site(word);

    switch (kind) {
    case AS_RECORD_BEGIN:
        open_layer(f, site);
        break;
    case AS_RECORD_END:
    case AS_RECORD_FAIL:
        close_layer(f, site);
        break;
    case AS_RECORD_SWITCH:
        switch_layer(f, site);
        break;
    case AS_RECORD_ITER:
        f->now.iterations++;
        f->now.marks++;
        break;
    case AS_RECORD_NUMBER:
        f->now.iteration = __atomic_load_n(&r->time, __ATOMIC_RELAXED);
        break;
    case AS_RECORD_LOST_FROM: /* what was open then cannot be known */
        f->now.depth = f->too_deep = f->switched = 0;
        f->now.marks++;
        break;
    default:
        break;
    }
}

static void catch_up(struct follower *f)
{
    uintptr_t at = assay_lane_.at, chunk;
    uint64_t tag;

    if (f->epoch != assay_lane_.epoch) { /* another session: nothing of before is open */
        f->epoch = assay_lane_.epoch;
        f->seen = 0;
        f->now.depth = f->too_deep = f->switched = 0;
        f->now.marks++;
    }
    if (at <= ASSAY_CHUNK_BYTES_)
        return; /* has no chunk */
    chunk = (at - 1) & CHUNK_MASK;
    if ((f->seen & CHUNK_MASK) != chunk || f->seen > at)
        f->seen = chunk + AS_CHUNK_FIRST * sizeof(struct assay_record_);
    tag = __atomic_load_n((const uint64_t *)chunk, __ATOMIC_RELAXED);
    for (; f->seen + sizeof(struct assay_record_) <= at; f->seen += sizeof(struct assay_record_)) {
        const struct assay_record_ *r = (const struct assay_record_ *)f->seen;
        uint64_t word = __atomic_load_n(&r->word, __ATOMIC_RELAXED);

        if ((f->seen & (ASSAY_CHUNK_BYTES_ - 1)) >= ASSAY_CHUNK_END_ || (word & AS_TAG_MASK) != tag)
            break; /* claimed by code that we interrupt, and not yet stored */
        take(f, r, word);
    }
}

const struct as_layer_now *as_layer_now(void)
{
    struct follower *f = &follower;

    if (f->seen != assay_lane_.at || f->epoch != assay_lane_.epoch)
        catch_up(f);
    return &f->now;
}

void as_layer_now_before_seal(void)
{
    if (atomic_load_explicit(&wanted, memory_order_relaxed))
        (void)as_layer_now();
}

void as_layer_source_offer(bool open)
{
    static const struct as_layer_source source = {AS_LAYER_SOURCE_VERSION, as_layer_now,
                                                  as_site_name};
    void *found = dlsym(RTLD_DEFAULT, AS_LAYER_BIND_NAME);
    as_layer_bind bind;

    if (!found)
        return;
    memcpy(&bind, &found, sizeof bind);
    atomic_store(&wanted, open);
    bind(open ? &source : NULL);
}
