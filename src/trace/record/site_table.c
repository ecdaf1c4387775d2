/* trace/record/site_table.c - the names of everything that is recorded, one table a process. */
#include "trace/record/site_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "trace/run/run_format.h"

#define AS_SITE_LOG_BYTES                                                                          \
    ((size_t)AS_BLOCK_MAX_BYTES) /* address space, used as it fills; one block holds it */
#define AS_SITE_MAX        AS_RUN_MAX_SITES
#define AS_SITE_HASH_SLOTS (2 * AS_SITE_MAX)

struct site {
    uint32_t hash, category, name_at, name_size; /* the name stands in the log */
};

static struct {
    pthread_mutex_t lock;
    uint8_t *log; /* entries as in a sites block, one after another */
    size_t log_size;
    struct site *site;      /* [id] */
    _Atomic uint32_t *slot; /* hash -> id, open addressing */
    uint32_t n_sites;       /* ids 1 to n_sites are in use */
    as_sites_sink sink;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Set once all three mappings stand; readers without the lock look only after it. */
static _Atomic int table_ready;

void as_signals_block(sigset_t *saved)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, saved);
}

void as_signals_restore(const sigset_t *saved)
{
    pthread_sigmask(SIG_SETMASK, saved, NULL);
}

void as_sites_lock(void)
{
    pthread_mutex_lock(&table.lock);
}

void as_sites_unlock(void)
{
    pthread_mutex_unlock(&table.lock);
}

static void *reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static bool make_ready(void)
{
    if (atomic_load_explicit(&table_ready, memory_order_relaxed))
        return true;
    if (!table.log)
        table.log = reserve(AS_SITE_LOG_BYTES);
    if (!table.site)
        table.site = reserve(sizeof *table.site * (AS_SITE_MAX + 1));
    if (!table.slot)
        table.slot = reserve(sizeof *table.slot * (size_t)AS_SITE_HASH_SLOTS);
    if (!table.log || !table.site || !table.slot)
        return false;
    atomic_store_explicit(&table_ready, 1, memory_order_release);
    return true;
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
static uint32_t find(const char *name, size_t size, uint32_t category, uint32_t hash,
                     uint32_t *slot_at)
{
    uint32_t at = hash % AS_SITE_HASH_SLOTS;

    for (;;) {
        uint32_t id = atomic_load_explicit(&table.slot[at], memory_order_acquire);
        const struct site *s = &table.site[id];

        if (id == 0) {
            *slot_at = at;
            return 0;
        }
        if (s->hash == hash && s->category == category && s->name_size == size &&
            same_text(table.log + s->name_at, name, size))
            return id;
        at = (at + 1) % AS_SITE_HASH_SLOTS;
    }
}

static uint8_t *put_text(uint8_t *to, const char *text)
{
    return as_put_text(to, text, text_size(text));
}

static void publish(const uint8_t *end)
{
    size_t size = (size_t)(end - table.log) - table.log_size;

    if (table.sink)
        table.sink(table.log + table.log_size, size);
    table.log_size += size;
}

static bool log_has_capacity(void)
{
    return AS_SITE_LOG_BYTES - table.log_size > (size_t)4 * (AS_SITE_TEXT_MAX + AS_VARINT_MAX);
}

/* The lock is held. */
static uint32_t add(const struct as_site_spec *spec, size_t name_size, uint32_t hash,
                    uint32_t slot_at)
{
    uint32_t id = table.n_sites + 1;
    uint8_t *to = table.log + table.log_size;

    if (id > AS_SITE_MAX || !log_has_capacity())
        return 0;
    *to++ = AS_ENTRY_SITE;
    to = as_put_varint(to, id);
    *to++ = (uint8_t)spec->category;
    to = as_put_varint(to, spec->line);
    to = as_put_varint(to, name_size);
    memcpy(to, spec->name, name_size);
    table.site[id] = (struct site){.hash = hash,
                                   .category = spec->category,
                                   .name_at = (uint32_t)(to - table.log),
                                   .name_size = (uint32_t)name_size};
    to = put_text(to + name_size, spec->file);
    to = put_text(to, spec->unit);
    publish(to); /* in the file before any event names it */
    __atomic_store_n(&table.n_sites, id, __ATOMIC_RELEASE);
    atomic_store_explicit(&table.slot[slot_at], id, memory_order_release);
    return id;
}

uint32_t as_site_intern(const struct as_site_spec *spec)
{
    size_t size = text_size(spec->name);
    uint32_t hash = hash_name(spec->name, size, spec->category);
    uint32_t slot_at, id;
    sigset_t saved;

    if (atomic_load_explicit(&table_ready, memory_order_acquire)) {
        id = find(spec->name, size, spec->category, hash, &slot_at);
        if (id)
            return id;
    }
    as_signals_block(&saved);
    as_sites_lock();
    id = 0;
    if (make_ready()) {
        id = find(spec->name, size, spec->category, hash, &slot_at);
        if (!id)
            id = add(spec, size, hash, slot_at);
    }
    as_sites_unlock();
    as_signals_restore(&saved);
    return id;
}

const char *as_site_name(uint32_t id, uint32_t *size)
{
    if (id == 0 || !atomic_load_explicit(&table_ready, memory_order_acquire) ||
        id > __atomic_load_n(&table.n_sites, __ATOMIC_ACQUIRE))
        return NULL;
    *size = table.site[id].name_size;
    return (const char *)table.log + table.site[id].name_at;
}

int as_site_attribute(uint32_t id, const char *key, const char *text, double number,
                      struct assay_error *err)
{
    int rc = ASSAY_OK;
    sigset_t saved;
    uint8_t *to;

    as_signals_block(&saved);
    as_sites_lock();
    if (id == 0 || id > table.n_sites) {
        rc = as_fail(err, ASSAY_ERR_NOTFOUND, "there is no layer with the id %u", id);
    } else if (!log_has_capacity()) {
        rc = as_fail(err, ASSAY_ERR_LIMIT,
                     "too many facts about layers: the limit is 16 MiB a process");
    } else {
        to = table.log + table.log_size;
        *to++ = text ? AS_ENTRY_TEXT : AS_ENTRY_NUMBER;
        to = put_text(as_put_varint(to, id), key);
        if (text) {
            to = put_text(to, text);
        } else {
            uint64_t bits;

            memcpy(&bits, &number, sizeof bits);
            to = as_put_u64le(to, bits);
        }
        publish(to);
    }
    as_sites_unlock();
    as_signals_restore(&saved);
    return rc;
}

void as_sites_follow(as_sites_sink sink)
{
    sigset_t saved;

    as_signals_block(&saved);
    as_sites_lock();
    table.sink = sink;
    if (sink && table.log_size)
        sink(table.log, table.log_size);
    as_sites_unlock();
    as_signals_restore(&saved);
}
