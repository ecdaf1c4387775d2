/* trace/record/site_table.c - the names of everything that is recorded, one table a process. */
#include "trace/record/site_table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "trace/run/run_format.h"

#define AS_SITE_LOG_BYTES                                                                          \
    ((size_t)AS_BLOCK_MAX_BYTES) /* address space, used as it fills; one block holds it */
#define AS_SITE_MAX        AS_RUN_MAX_SITES
#define AS_SITE_HASH_SLOTS (2 * AS_SITE_MAX)

struct as_site {
    uint32_t hash, category, name_at, name_size; /* the name stands in the log */
};

static struct as_site_table recorder_table = {.lock = PTHREAD_MUTEX_INITIALIZER};

void as_signals_block(struct as_held *held)
{
    sigset_t all;

    held->error = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &held->cancel);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &held->mask);
}

void as_signals_restore(const struct as_held *held)
{
    pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
    pthread_setcancelstate(held->cancel, NULL);
    errno = held->error;
}

void as_sites_lock(void)
{
    pthread_mutex_lock(&recorder_table.lock);
}

void as_sites_unlock(void)
{
    pthread_mutex_unlock(&recorder_table.lock);
}

static void *reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static bool make_ready(struct as_site_table *t)
{
    if (atomic_load_explicit(&t->ready, memory_order_relaxed))
        return true;
    if (!t->log)
        t->log = reserve(AS_SITE_LOG_BYTES);
    if (!t->site)
        t->site = reserve(sizeof *t->site * (AS_SITE_MAX + 1));
    if (!t->slot)
        t->slot = reserve(sizeof *t->slot * (size_t)AS_SITE_HASH_SLOTS);
    if (!t->log || !t->site || !t->slot)
        return false;
    atomic_store_explicit(&t->ready, 1, memory_order_release);
    return true;
}

static void release(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes);
}

bool as_sites_prepare(void)
{
    struct as_held saved;
    bool ready;

    as_signals_block(&saved);
    as_sites_lock();
    ready = make_ready(&recorder_table);
    as_sites_unlock();
    as_signals_restore(&saved);
    return ready;
}

void as_site_table_fini(struct as_site_table *t)
{
    release(t->log, AS_SITE_LOG_BYTES);
    release(t->site, sizeof *t->site * (AS_SITE_MAX + 1));
    release(t->slot, sizeof *t->slot * (size_t)AS_SITE_HASH_SLOTS);
    *t = (struct as_site_table){.lock = PTHREAD_MUTEX_INITIALIZER};
}

static size_t text_size(const char *text)
{
    return text ? strnlen(text, AS_SITE_TEXT_MAX) : 0;
}

static uint32_t hash_name(const char *name, size_t size, uint32_t category)
{
    uint32_t h = 2166136261u ^ category; /* FNV-1a */

    for (size_t i = 0; i < size; i++)
        h = (h ^ (uint8_t)name[i]) * 16777619u;
    return h;
}

/* Not memcmp(): in a program built with ThreadSanitizer that is the sanitizer's, which sees the
 * bytes but not the atomic store that published them, as this library was built without it. */
static bool same_text(const uint8_t *a, const char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (a[i] != (uint8_t)b[i])
            return false;
    }
    return true;
}

/* The id, or 0 with the free slot in `*slot_at`. Safe without the lock: slots are filled once,
 * after the site. */
static uint32_t find(const struct as_site_table *t, const struct as_site_spec *spec, size_t size,
                     uint32_t hash, uint32_t *slot_at)
{
    uint32_t at = hash % AS_SITE_HASH_SLOTS;

    for (;;) {
        uint32_t id = atomic_load_explicit(&t->slot[at], memory_order_acquire);
        const struct as_site *s = &t->site[id];

        if (id == 0) {
            *slot_at = at;
            return 0;
        }
        if (s->hash == hash && s->category == spec->category && s->name_size == size &&
            same_text(t->log + s->name_at, spec->name, size))
            return id;
        at = (at + 1) % AS_SITE_HASH_SLOTS;
    }
}

static uint8_t *put_text(uint8_t *to, const char *text)
{
    return as_put_text(to, text, text_size(text));
}

static void publish(struct as_site_table *t, const uint8_t *end)
{
    size_t size = (size_t)(end - t->log) - t->log_size;

    if (t->sink)
        t->sink(t->log + t->log_size, size);
    t->log_size += size;
}

static bool log_has_capacity(const struct as_site_table *t)
{
    return AS_SITE_LOG_BYTES - t->log_size > (size_t)4 * (AS_SITE_TEXT_MAX + AS_VARINT_MAX);
}

/* The lock is held. */
static uint32_t add(struct as_site_table *t, const struct as_site_spec *spec, size_t name_size,
                    uint32_t hash, uint32_t slot_at)
{
    uint32_t id = t->n_sites + 1;
    uint8_t *to = t->log + t->log_size;

    if (id > AS_SITE_MAX || !log_has_capacity(t))
        return 0;
    *to++ = AS_ENTRY_SITE;
    to = as_put_varint(to, id);
    *to++ = (uint8_t)spec->category;
    to = as_put_varint(to, spec->line);
    to = as_put_varint(to, name_size);
    memcpy(to, spec->name, name_size);
    t->site[id] = (struct as_site){.hash = hash,
                                   .category = spec->category,
                                   .name_at = (uint32_t)(to - t->log),
                                   .name_size = (uint32_t)name_size};
    to = put_text(to + name_size, spec->file);
    to = put_text(to, spec->unit);
    publish(t, to); /* in the file before any event names it */
    __atomic_store_n(&t->n_sites, id, __ATOMIC_RELEASE);
    atomic_store_explicit(&t->slot[slot_at], id, memory_order_release);
    return id;
}

uint32_t as_site_table_intern(struct as_site_table *t, const struct as_site_spec *spec)
{
    size_t size = text_size(spec->name);
    uint32_t hash = hash_name(spec->name, size, spec->category);
    uint32_t slot_at, id;
    struct as_held saved;

    if (atomic_load_explicit(&t->ready, memory_order_acquire)) {
        id = find(t, spec, size, hash, &slot_at);
        if (id)
            return id;
    }
    as_signals_block(&saved);
    pthread_mutex_lock(&t->lock);
    id = 0;
    if (make_ready(t)) {
        id = find(t, spec, size, hash, &slot_at);
        if (!id)
            id = add(t, spec, size, hash, slot_at);
    }
    pthread_mutex_unlock(&t->lock);
    as_signals_restore(&saved);
    return id;
}

const char *as_site_table_name(const struct as_site_table *t, uint32_t id, uint32_t *size)
{
    if (id == 0 || !atomic_load_explicit(&t->ready, memory_order_acquire) ||
        id > __atomic_load_n(&t->n_sites, __ATOMIC_ACQUIRE))
        return NULL;
    *size = t->site[id].name_size;
    return (const char *)t->log + t->site[id].name_at;
}

uint32_t as_site_intern(const struct as_site_spec *spec)
{
    return as_site_table_intern(&recorder_table, spec);
}

const char *as_site_name(uint32_t id, uint32_t *size)
{
    return as_site_table_name(&recorder_table, id, size);
}

int as_site_attribute(uint32_t id, const char *key, const char *text, double number,
                      struct assay_error *err)
{
    int rc = ASSAY_OK;
    struct as_held saved;
    uint8_t *to;

    as_signals_block(&saved);
    as_sites_lock();
    if (id == 0 || id > recorder_table.n_sites) {
        rc = as_fail(err, ASSAY_ERR_NOTFOUND, "there is no layer with the id %u", id);
    } else if (!log_has_capacity(&recorder_table)) {
        rc = as_fail(err, ASSAY_ERR_LIMIT,
                     "too many facts about layers: the limit is 16 MiB a process");
    } else {
        to = recorder_table.log + recorder_table.log_size;
        *to++ = text ? AS_ENTRY_TEXT : AS_ENTRY_NUMBER;
        to = put_text(as_put_varint(to, id), key);
        if (text) {
            to = put_text(to, text);
        } else {
            uint64_t bits;

            memcpy(&bits, &number, sizeof bits);
            to = as_put_u64le(to, bits);
        }
        publish(&recorder_table, to);
    }
    as_sites_unlock();
    as_signals_restore(&saved);
    return rc;
}

void as_sites_follow(as_sites_sink sink)
{
    struct as_held saved;

    as_signals_block(&saved);
    as_sites_lock();
    recorder_table.sink = sink;
    if (sink && recorder_table.log_size)
        sink(recorder_table.log, recorder_table.log_size);
    as_sites_unlock();
    as_signals_restore(&saved);
}
