/* base/file/temporaries.c - names that must go when a signal ends the program.
 * A table of fixed size that a signal handler can read: the one place where it can find them. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file/new_file.h"
#include "base/units.h"

enum { FREE, BEING_FILLED, HELD };

struct as_temporary {
    atomic_int state;
    pid_t owner; /* a child that was forked has the table, not the files */
    int folder;
    char name[40];
};

static struct as_temporary table[64];

struct as_temporary *as_temporary_add(int folder, const char *name)
{
    for (size_t i = 0; i < AS_COUNT_OF(table); i++) {
        struct as_temporary *t = &table[i];
        int none = FREE;

        if (!atomic_compare_exchange_strong(&t->state, &none, BEING_FILLED))
            continue;
        t->owner = getpid();
        t->folder = folder;
        (void)snprintf(t->name, sizeof t->name, "%s", name);
        atomic_store(&t->state, HELD);
        return t;
    }
    return NULL;
}

void as_temporary_forget(struct as_temporary *temporary)
{
    if (temporary)
        atomic_store(&temporary->state, FREE);
}

void as_temporaries_remove(void)
{
    pid_t self = getpid();

    for (size_t i = 0; i < AS_COUNT_OF(table); i++)
        if (atomic_load(&table[i].state) == HELD && table[i].owner == self)
            (void)unlinkat(table[i].folder, table[i].name, 0);
}
