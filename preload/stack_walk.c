/* preload/stack_walk.c - the stack of the calling thread, by rules that are found once for each
 * address and kept.
 *
 * A rule is kept under the address and what its module looks like (its first kilobyte, in which
 * the build id is), so that one of a library that was unloaded does not hold for what comes to its
 * place. Two words a rule, neither locked: the first is the key exclusive-or the second, so that
 * words of two writers never fit together. */
#include "stack_walk.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stack_rules.h"

#if defined __x86_64__ && __GLIBC_PREREQ(2, 35)

#define PAGE          4096u
#define BUCKET        4u
#define SLOTS         (AS_UNWIND_CACHE_BYTES / sizeof(struct slot))
#define PAGES         (AS_UNWIND_CACHE_BYTES / PAGE)
#define PAGE_SLOTS    (PAGE / sizeof(struct slot))
#define FACE_BYTES    1024u
#define MODULES       8u
#define STACK_MAX     (UINT64_C(100) << 20) /* beyond, it is another stack that is lower */
#define OTHER_PAGES   16u                   /* of another stack */
#define MAX_ALL       4096u                 /* frames, ours among them */
#define BITS_28       ((UINT64_C(1) << 28) - 1)
#define OFFSET_LIMIT  (1 << 27)
#define RULE_IS_THERE (UINT64_C(1) << 63)

struct slot {
    _Atomic uint64_t check, rule;
};

static struct slot *_Atomic cache;
static _Atomic bool asked;
static _Atomic uint8_t page_used[PAGES];
static uintptr_t first_stack_end;

void as_unwind_start(const void *stack_end)
{
    first_stack_end = (uintptr_t)stack_end;
}

/* ---- rules that are kept ---- */

static uint64_t pack(struct as_unwind_rule r)
{
    if (r.cfa_offset >= OFFSET_LIMIT || r.cfa_offset < -OFFSET_LIMIT ||
        r.rbp_offset >= OFFSET_LIMIT || r.rbp_offset < -OFFSET_LIMIT)
        r = (struct as_unwind_rule){.cfa = AS_CFA_REFUSED};
    return RULE_IS_THERE | (uint64_t)r.cfa << 60 | (uint64_t)r.rbp << 56 |
           ((uint64_t)(int64_t)r.cfa_offset & BITS_28) << 28 |
           ((uint64_t)(int64_t)r.rbp_offset & BITS_28);
}

static int32_t offset_of(uint64_t bits)
{
    return (int32_t)((uint32_t)(bits & BITS_28) << 4) >> 4;
}

static struct as_unwind_rule unpack(uint64_t word)
{
    return (struct as_unwind_rule){.cfa = (enum as_unwind_cfa)(word >> 60 & 7),
                                   .rbp = (enum as_unwind_rbp)(word >> 56 & 3),
                                   .cfa_offset = offset_of(word >> 28),
                                   .rbp_offset = offset_of(word)};
}

/* Whoever comes while it is being made goes without. */
static struct slot *have_cache(void)
{
    struct slot *at = atomic_load_explicit(&cache, memory_order_acquire);

    if (at || atomic_exchange(&asked, true))
        return at;
    at = as_unwind_memory();
    atomic_store_explicit(&cache, at, memory_order_release);
    return at;
}

void as_unwind_let_go(void)
{
    struct slot *at = atomic_exchange(&cache, NULL);

    if (at)
        (void)syscall(SYS_munmap, at, AS_UNWIND_CACHE_BYTES);
}

static uint64_t key_of(uintptr_t at, uint64_t face)
{
    uint64_t h = ((uint64_t)at ^ face) * UINT64_C(0x9e3779b97f4a7c15);

    return h ^ h >> 29;
}

static bool find_kept(struct slot *slots, uint64_t key, uint64_t *word)
{
    size_t first = (size_t)(key % (SLOTS / BUCKET)) * BUCKET;

    if (!atomic_load_explicit(&page_used[first / PAGE_SLOTS], memory_order_relaxed))
        return false;
    for (size_t i = first; i < first + BUCKET; i++) {
        *word = atomic_load_explicit(&slots[i].rule, memory_order_relaxed);
        if ((atomic_load_explicit(&slots[i].check, memory_order_relaxed) ^ *word) == key && *word)
            return true;
    }
    return false;
}

static void keep(struct slot *slots, uint64_t key, uint64_t word)
{
    size_t first = (size_t)(key % (SLOTS / BUCKET)) * BUCKET, i = first;

    if (!atomic_exchange(&page_used[first / PAGE_SLOTS], 1))
        as_unwind_count(PAGE);
    while (i < first + BUCKET && atomic_load_explicit(&slots[i].rule, memory_order_relaxed))
        i++;
    if (i == first + BUCKET)
        i = first + (size_t)(key >> 32) % BUCKET;
    atomic_store_explicit(&slots[i].check, key ^ word, memory_order_relaxed);
    atomic_store_explicit(&slots[i].rule, word, memory_order_relaxed);
}

/* ---- modules ---- */

struct known {
    struct as_unwind_module module;
    uint64_t face;
};

struct walk {
    uintptr_t at, rsp, rbp; /* at: where the caller goes on; its registers */
    uintptr_t top;          /* of the stack */
    uintptr_t readable;     /* the page that was read last */
    bool is_exact;          /* `at` is where a signal came, and not behind a call */
    struct known known[MODULES];
    uint32_t n_known, oldest;
    struct slot *slots;
};

/* What a module looks like; two of the same place differ in it. False: its beginning is gone. */
static bool face_of(const struct as_unwind_module *m, uint64_t *face)
{
    const uint64_t prime = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h[4] = {m->start, m->end, m->index, m->bias},
             word[FACE_BYTES / sizeof(uint64_t)] = {0};

    if (m->end - m->start < PAGE || !as_unwind_read(word, m->start, sizeof word))
        return false;
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        h[i % 4] = (h[i % 4] ^ word[i]) * prime;
    *face =
        h[0] ^ (h[1] << 16 | h[1] >> 48) ^ (h[2] << 32 | h[2] >> 32) ^ (h[3] << 48 | h[3] >> 16);
    return true;
}

/* The module that the address is in; NULL: none. */
static struct known *find_module(struct walk *w, uintptr_t at)
{
    struct dl_find_object found;
    struct as_unwind_module module;
    struct known *k;
    uint64_t face;

    for (uint32_t i = 0; i < w->n_known; i++)
        if (at >= w->known[i].module.start && at < w->known[i].module.end)
            return &w->known[i];
    if (_dl_find_object((void *)at, &found) != 0) // NOLINT(performance-no-int-to-ptr)
        return NULL;
    module = (struct as_unwind_module){.start = (uintptr_t)found.dlfo_map_start,
                                       .end = (uintptr_t)found.dlfo_map_end,
                                       .bias = found.dlfo_link_map->l_addr,
                                       .index = (uintptr_t)found.dlfo_eh_frame};
    if (!face_of(&module, &face))
        return NULL;
    k = &w->known[w->n_known < MODULES ? w->n_known++ : w->oldest++ % MODULES];
    *k = (struct known){module, face};
    return k;
}

/* Code that nobody describes ends the stack: what is there may be anything, and is not read. */
static const struct as_unwind_rule of_no_module = {.cfa = AS_CFA_END};

static struct as_unwind_rule find_rule(struct walk *w)
{
    uintptr_t within = w->at - (w->is_exact ? 0 : 1); /* a call may be the last of its function */
    struct known *k = find_module(w, within);
    struct as_unwind_rule rule;
    uint64_t key, word;

    if (!k)
        return of_no_module;
    key = key_of(within, k->face);
    if (w->slots && find_kept(w->slots, key, &word))
        return unpack(word);
    rule = as_unwind_rule_find(&k->module, within);
    word = pack(rule);
    if (w->slots)
        keep(w->slots, key, word);
    return unpack(word);
}

/* ---- the stack ---- */

/* A stack that the program made itself goes on at least as far as can be read, up to some pages. */
static uintptr_t end_of_readable(uintptr_t at)
{
    uintptr_t end = (at | (PAGE - 1)) + 1;
    char byte = 0;

    for (unsigned i = 0; i < OTHER_PAGES && as_unwind_read(&byte, end, 1); i++)
        end += PAGE;
    return end;
}

/* How far the stack that `at` is on goes. Threads have what the C
 * library keeps of them above their stacks. */
static uintptr_t top_of(uintptr_t at)
{
    uintptr_t self = (uintptr_t)pthread_self();

    if (at < self && self - at < STACK_MAX)
        return self;
    if (at < first_stack_end && first_stack_end - at < STACK_MAX)
        return first_stack_end;
    return end_of_readable(at);
}

static bool load(struct walk *w, uintptr_t from, uintptr_t at, uintptr_t *out)
{
    char byte = 0;

    if (at < from || at > w->top - sizeof *out || at % sizeof *out != 0)
        return false;
    /* Between the stacks of a program there are pages that nobody may read. */
    if (at / PAGE != w->readable && !as_unwind_read(&byte, at, 1))
        return false;
    w->readable = at / PAGE;
    memcpy(out, (const void *)at, sizeof *out);
    return true;
}

/* To the caller. False: what is there cannot be one. */
static bool step_out(struct walk *w, struct as_unwind_rule rule, uintptr_t lowest)
{
    uintptr_t cfa = rule.cfa == AS_CFA_RSP ? w->rsp : w->rbp, rbp = w->rbp, back;

    cfa += (uintptr_t)(intptr_t)rule.cfa_offset;
    if (rule.cfa == AS_CFA_AT_RBP && !load(w, lowest, cfa, &cfa))
        return false;
    if (cfa <= w->rsp || cfa > w->top || !load(w, lowest, cfa - sizeof back, &back))
        return false;
    if (rule.rbp != AS_RBP_KEPT) {
        rbp = (rule.rbp == AS_RBP_FROM_CFA ? cfa : w->rbp) + (uintptr_t)(intptr_t)rule.rbp_offset;
        if (!load(w, lowest, rbp, &rbp))
            return false;
    }
    w->at = back;
    w->rsp = cfa;
    w->rbp = rbp;
    w->is_exact = false;
    return true;
}

/* Out of the return from a handler: behind it lies what the system kept of the program, with its
 * registers (struct ucontext of Linux for x86-64). */
static bool step_over_signal(struct walk *w, uintptr_t lowest)
{
    enum { OF_RBP = 120, OF_RSP = 160, OF_RIP = 168 };
    uintptr_t at, rsp, rbp;

    if (!load(w, lowest, w->rsp + OF_RBP, &rbp) || !load(w, lowest, w->rsp + OF_RSP, &rsp) ||
        !load(w, lowest, w->rsp + OF_RIP, &at))
        return false;
    if (rsp <= w->rsp || rsp > w->top) { /* the handler has a stack of its own */
        w->top = top_of(rsp);
        if (!w->top || rsp >= w->top)
            return false;
    }
    w->at = at;
    w->rsp = rsp;
    w->rbp = rbp;
    w->is_exact = true;
    return true;
}

static bool walk(struct walk *w, uintptr_t skip_from, uintptr_t skip_to, struct as_unwound *out)
{
    uintptr_t lowest = w->rsp - 2 * sizeof(uintptr_t);

    for (uint32_t i = 0; w->at && i < MAX_ALL; i++) {
        struct as_unwind_rule rule;

        if (w->at < skip_from || w->at >= skip_to) {
            out->cut = out->n == out->capacity;
            if (out->cut)
                return true;
            out->frame[out->n++] = w->at;
        }
        rule = find_rule(w);
        if (rule.cfa == AS_CFA_REFUSED)
            return false;
        if (rule.cfa == AS_CFA_END)
            return true;
        if (!(rule.cfa == AS_CFA_SIGNAL ? step_over_signal(w, lowest)
                                        : step_out(w, rule, lowest))) {
            out->cut = true;
            return true;
        }
        if (rule.cfa == AS_CFA_SIGNAL)
            lowest = w->rsp;
    }
    return true;
}

bool as_unwind(const void *frame, uintptr_t skip_from, uintptr_t skip_to, struct as_unwound *out)
{
    struct walk w = {.rsp = (uintptr_t)frame + 2 * sizeof(uintptr_t)};
    const uintptr_t *words = frame;

    w.top = top_of((uintptr_t)frame);
    w.rbp = words[0];
    w.at = words[1];
    w.slots = have_cache();
    return walk(&w, skip_from, skip_to, out);
}

#else

void as_unwind_start(const void *stack_end)
{
    (void)stack_end;
}

void as_unwind_let_go(void)
{
}

bool as_unwind(const void *frame, uintptr_t skip_from, uintptr_t skip_to, struct as_unwound *out)
{
    (void)frame;
    (void)skip_from;
    (void)skip_to;
    (void)out;
    return false;
}

#endif
