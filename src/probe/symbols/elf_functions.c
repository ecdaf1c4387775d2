/* probe/symbols/elf_functions.c - the functions of an ELF file by address, from its symbols and
 * from those of the debug file apart from it. Sorted once; each question is a bisection. */
#include "probe/symbols/elf_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

#define TYPE_FUNCTION 2u
#define TYPE_INDIRECT 10u /* chosen by the loader: memcpy and friends */
#define NO_SECTION    0u  /* defined elsewhere */

#define COMPARED_NAME 64u /* bytes of names that compete for one address */
#define WALK_BACK     32u /* functions that may lie inside a larger one before it */

static bool is_function(const struct as_elf_symbol *s)
{
    unsigned type = s->info & 15u;

    return (type == TYPE_FUNCTION || type == TYPE_INDIRECT) && s->section != NO_SECTION;
}

int as_elf_functions_add(struct as_elf_functions *list, const struct as_elf_table *table,
                         struct assay_error *err)
{
    struct as_cursor c = table->symbols;
    struct as_elf_symbol s;

    if (as_cursor_left(&c) == 0 || list->n_tables == AS_ELF_MAX_TABLES)
        return ASSAY_OK;
    list->names[list->n_tables++] =
        table->names; /* first: some functions stay without memory too */
    while (list->n < AS_ELF_MAX_FUNCTIONS && as_elf_take_symbol(&c, &s)) {
        if (!is_function(&s) || s.name >= as_cursor_left(&table->names))
            continue;
        if (!AS_VEC_RESERVE(list->function, list->n, list->capacity))
            return as_fail_nomem(err);
        list->function[list->n++] =
            (struct as_elf_function){s.value, s.size, s.name, (uint32_t)list->n_tables - 1};
    }
    return ASSAY_OK;
}

static int by_start(const void *a, const void *b)
{
    const struct as_elf_function *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

static const char *name_of(const struct as_elf_functions *list, const struct as_elf_function *f,
                           size_t most, size_t *size)
{
    const struct as_cursor *names = &list->names[f->table];
    const char *name = (const char *)names->at + f->name;
    size_t left = as_cursor_left(names) - f->name;

    *size = strnlen(name, left < most ? left : most);
    return name;
}

/* Of several names of one function the one people use: malloc, not __libc_malloc. */
static bool is_plainer(const struct as_elf_functions *list, const struct as_elf_function *a,
                       const struct as_elf_function *b)
{
    size_t size[2], dashes[2];
    const char *name[2] = {name_of(list, a, COMPARED_NAME, &size[0]),
                           name_of(list, b, COMPARED_NAME, &size[1])};

    if ((a->size == 0) != (b->size == 0))
        return a->size != 0;
    if ((size[0] == 0) != (size[1] == 0))
        return size[0] != 0;
    for (int i = 0; i < 2; i++)
        for (dashes[i] = 0; dashes[i] < size[i] && name[i][dashes[i]] == '_';)
            dashes[i]++;
    if (dashes[0] != dashes[1])
        return dashes[0] < dashes[1];
    return size[0] < size[1];
}

void as_elf_functions_sort(struct as_elf_functions *list)
{
    size_t kept = 0;

    if (list->n == 0)
        return;
    qsort(list->function, list->n, sizeof *list->function, by_start);
    for (size_t i = 1; i < list->n; i++) {
        struct as_elf_function *last = &list->function[kept], *f = &list->function[i];

        if (f->start != last->start)
            list->function[++kept] = *f;
        else if (is_plainer(list, f, last))
            *last = *f;
    }
    list->n = kept + 1;
}

void as_elf_functions_fini(struct as_elf_functions *list)
{
    as_free(list->function);
    *list = (struct as_elf_functions){0};
}

/* How many functions begin at `address` or before. */
static size_t begun_at(const struct as_elf_functions *list, uint64_t address)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list->function[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t as_elf_functions_find(const struct as_elf_functions *list, uint64_t address)
{
    size_t i = begun_at(list, address);
    size_t first = i > WALK_BACK ? i - WALK_BACK : 0;

    /* One without a size ends where the next begins, so it holds the address when it is the last
     * before it. */
    if (i > 0 && list->function[i - 1].size == 0)
        return i - 1;
    while (i-- > first) {
        if (address - list->function[i].start < list->function[i].size)
            return i;
    }
    return SIZE_MAX;
}

const char *as_elf_functions_name(const struct as_elf_functions *list, size_t i, size_t *size)
{
    return name_of(list, &list->function[i], AS_ELF_MAX_NAME, size);
}
