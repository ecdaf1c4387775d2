/* trace/record/site_table.h - the names of everything that is recorded: one table of the recorder,
 * which the functions without a table mean, and one of each manager. Uses no heap and blocks
 * signals while it holds its lock, so a mark in a signal handler may be the first of its site. */
#ifndef AS_TRACE_RECORD_SITE_TABLE_H
#define AS_TRACE_RECORD_SITE_TABLE_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define AS_SITE_TEXT_MAX 1000u /* bytes of a name, file, key or value; longer text is cut */

struct as_site_spec {
    const char *name, *file, *unit; /* file and unit may be NULL */
    uint32_t line, category;
};

/* Called with each new piece of the table, in the format of a sites block, the table locked. */
typedef void (*as_sites_sink)(const void *entries, size_t size);

struct as_site;

/* {.lock = PTHREAD_MUTEX_INITIALIZER} is empty; it takes address space at its first site. */
struct as_site_table {
    pthread_mutex_t lock;
    uint8_t *log; /* entries as in a sites block, one after another */
    size_t log_size;
    struct as_site *site;   /* [id] */
    _Atomic uint32_t *slot; /* hash -> id, open addressing */
    uint32_t n_sites;       /* ids 1 to n_sites are in use */
    _Atomic int ready;      /* all three stand; whoever has no lock looks only after it */
    as_sites_sink sink;
};

/* As as_site_intern() and as_site_name() below. */
uint32_t as_site_table_intern(struct as_site_table *table, const struct as_site_spec *spec);
const char *as_site_table_name(const struct as_site_table *table, uint32_t id, uint32_t *size);
/* Nobody uses it any more. */
void as_site_table_fini(struct as_site_table *table);

/* The id of a site, made at its first mention; 0 when the table is full. */
uint32_t as_site_intern(const struct as_site_spec *spec);

/* Its name, cut to what is kept, for as long as the process lives; NULL for an id that is none.
 * Takes no lock. The text is not ended: `size` tells it. */
const char *as_site_name(uint32_t id, uint32_t *size);

/* Adds an attribute to a site: text when `text` is given, else the number. */
AS_MUST_USE int as_site_attribute(uint32_t id, const char *key, const char *text, double number,
                                  struct assay_error *err);

/* Maps the recorder's table, so that no mark has to. False when there is no memory. */
bool as_sites_prepare(void);

/* Hands all entries so far to `sink`, and each later one, until NULL is set. */
void as_sites_follow(as_sites_sink sink);

/* Around fork(): the table is whole on both sides. */
void as_sites_lock(void);
void as_sites_unlock(void);

/* What was so before our code ran on the thread. */
struct as_held {
    sigset_t mask;
    int cancel, error;
};

/* Every signal is held back between the two, and nobody can cancel the thread; errno is afterwards
 * what it was. */
void as_signals_block(struct as_held *held);
void as_signals_restore(const struct as_held *held);

#endif
