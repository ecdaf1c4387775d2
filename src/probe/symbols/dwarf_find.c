/* probe/symbols/dwarf_find.c - what debug information says about an address, by libdw. It runs in a
 * process of its own: libdw may crash on what it reads, or never end.
 * libdw is opened when it is needed, so that assay runs where it is not. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/symbols/dwarf_internal.h"

#if ASSAY_HAS_LIBDW

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/alloc.h"
#include "base/file/file_open.h"
#include "base/units.h"
#include "base/vec.h"

#define MAX_LEVELS 64u /* of entries within each other */

#define FUNCTIONS(X)                                                                               \
    X(dwarf_begin)                                                                                 \
    X(dwarf_end)                                                                                   \
    X(dwarf_addrdie)                                                                               \
    X(dwarf_get_units)                                                                             \
    X(dwarf_child)                                                                                 \
    X(dwarf_siblingof)                                                                             \
    X(dwarf_tag)                                                                                   \
    X(dwarf_attr)                                                                                  \
    X(dwarf_attr_integrate)                                                                        \
    X(dwarf_formstring)                                                                            \
    X(dwarf_formudata)                                                                             \
    X(dwarf_haspc)                                                                                 \
    X(dwarf_ranges)                                                                                \
    X(dwarf_dieoffset)                                                                             \
    X(dwarf_getsrc_die)                                                                            \
    X(dwarf_lineno)                                                                                \
    X(dwarf_linesrc)                                                                               \
    X(dwarf_getsrcfiles)                                                                           \
    X(dwarf_filesrc)

struct as_dwarf_library {
#define X(name) __typeof__(&(name)) name; /* NOLINT(bugprone-macro-parentheses): a member */
    FUNCTIONS(X)
#undef X
};

/* Where an entry of a unit has code. */
struct span {
    uint64_t low, high;
    Dwarf_Die die;
};

struct spans {
    struct span *at;
    size_t n, capacity;
};

/* The functions of a compilation unit, by address. */
struct unit {
    Dwarf_Die die;
    uint64_t offset;
    struct spans functions;
    struct unit *next;
};

struct as_dwarf_file {
    const struct as_dwarf_library *dw;
    int fd;
    Dwarf *dwarf;
    struct unit *units; /* those that were asked for */
    bool listed;
    struct spans all; /* of all units, where the file has no table of them */
};

const struct as_dwarf_library *as_dwarf_library_open(void)
{
    static struct as_dwarf_library library;
    void *handle;

    /* It would otherwise look for debug files on the network. */
    (void)unsetenv("DEBUGINFOD_URLS");
    handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return NULL;
        /* A pointer to a function comes as one to an object: POSIX allows it, ISO C has no cast. */
#define X(name)                                                                                    \
    *(void **)&library.name = dlsym(handle, #name);                                                \
    if (!library.name)                                                                             \
        return NULL;
    FUNCTIONS(X)
#undef X
    return &library;
}

struct as_dwarf_file *as_dwarf_file_open(const struct as_dwarf_library *library, const char *path)
{
    struct as_dwarf_file *f = as_alloc_zero(1, sizeof *f);

    if (!f)
        return NULL;
    f->dw = library;
    f->fd = as_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    f->dwarf = f->fd >= 0 ? library->dwarf_begin(f->fd, DWARF_C_READ) : NULL;
    if (!f->dwarf) {
        as_dwarf_file_close(f);
        return NULL;
    }
    return f;
}

void as_dwarf_file_close(struct as_dwarf_file *file)
{
    if (!file)
        return;
    for (struct unit *u = file->units, *next; u; u = next) {
        next = u->next;
        as_free(u->functions.at);
        as_free(u);
    }
    as_free(file->all.at);
    if (file->dwarf)
        file->dw->dwarf_end(file->dwarf);
    if (file->fd >= 0)
        close(file->fd);
    as_free(file);
}

/* ---- lists of code ---- */

static int by_low(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->high == y->high ? 0 : x->high > y->high ? -1 : 1;
}

static void spans_sort(struct spans *s)
{
    if (s->n)
        qsort(s->at, s->n, sizeof *s->at, by_low);
}

static void spans_add(const struct as_dwarf_file *f, struct spans *s, Dwarf_Die *die)
{
    Dwarf_Addr base = 0, low = 0, high = 0;
    ptrdiff_t at = 0;

    while ((at = f->dw->dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        if (low >= high)
            continue;
        if (!AS_VEC_RESERVE(s->at, s->n, s->capacity))
            return;
        s->at[s->n++] = (struct span){low, high, *die};
    }
}

/* The innermost: of those that hold the address the one that begins last. A function without code
 * of its own may stand at 0, which holds many. */
static struct span *spans_find(const struct spans *s, uint64_t address)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->at[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && low - i < MAX_LEVELS; i--)
        if (address < s->at[i - 1].high)
            return &s->at[i - 1];
    return NULL;
}

/* ---- units ---- */

/* Compilers other than gcc write no table of the addresses of units. */
static bool find_unit_die(struct as_dwarf_file *f, uint64_t address, Dwarf_Die *out)
{
    struct span *found;

    if (f->dw->dwarf_addrdie(f->dwarf, address, out))
        return true;
    if (!f->listed) {
        Dwarf_CU *cu = NULL;
        Dwarf_Die die, sub;
        Dwarf_Half version;
        uint8_t type;

        f->listed = true;
        while (f->dw->dwarf_get_units(f->dwarf, cu, &cu, &version, &type, &die, &sub) == 0)
            spans_add(f, &f->all, type == DW_UT_skeleton && sub.addr ? &sub : &die);
        spans_sort(&f->all);
    }
    found = spans_find(&f->all, address);
    if (found)
        *out = found->die;
    return found != NULL;
}

static bool may_hold_functions(int tag)
{
    static const int tags[] = {DW_TAG_namespace,  DW_TAG_module,       DW_TAG_structure_type,
                               DW_TAG_class_type, DW_TAG_union_type,   DW_TAG_enumeration_type,
                               DW_TAG_subprogram, DW_TAG_lexical_block};

    for (size_t i = 0; i < AS_COUNT_OF(tags); i++)
        if (tag == tags[i])
            return true;
    return false;
}

/* All functions with code beneath the unit, however they are nested. */
static void list_functions(const struct as_dwarf_file *f, struct unit *u)
{
    Dwarf_Die at[MAX_LEVELS];
    size_t level = 0;
    int rc = f->dw->dwarf_child(&u->die, &at[0]);

    while (rc == 0) {
        int tag = f->dw->dwarf_tag(&at[level]);

        if (tag == DW_TAG_subprogram)
            spans_add(f, &u->functions, &at[level]);
        if (level + 1 < MAX_LEVELS && may_hold_functions(tag) &&
            f->dw->dwarf_child(&at[level], &at[level + 1]) == 0) {
            level++;
            continue;
        }
        while ((rc = f->dw->dwarf_siblingof(&at[level], &at[level])) != 0 && level > 0)
            level--;
    }
    spans_sort(&u->functions);
}

static struct unit *find_unit(struct as_dwarf_file *f, uint64_t address)
{
    struct unit *u;
    Dwarf_Die die;
    uint64_t offset;

    if (!find_unit_die(f, address, &die))
        return NULL;
    offset = f->dw->dwarf_dieoffset(&die);
    for (u = f->units; u; u = u->next)
        if (u->offset == offset && u->die.cu == die.cu)
            return u;
    u = as_alloc_zero(1, sizeof *u);
    if (!u)
        return NULL;
    *u = (struct unit){.die = die, .offset = offset, .next = f->units};
    f->units = u;
    list_functions(f, u);
    return u;
}

/* ---- frames ---- */

static const char *text_of(const struct as_dwarf_file *f, Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute a;

    return f->dw->dwarf_formstring(f->dw->dwarf_attr_integrate(die, attribute, &a));
}

static uint64_t number_of(const struct as_dwarf_file *f, Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute a;
    Dwarf_Word value;

    return f->dw->dwarf_formudata(f->dw->dwarf_attr(die, attribute, &a), &value) == 0 ? value : 0;
}

static const char *name_of(const struct as_dwarf_file *f, Dwarf_Die *die)
{
    const char *name = text_of(f, die, DW_AT_linkage_name);

    if (!name)
        name = text_of(f, die, DW_AT_MIPS_linkage_name);
    return name ? name : text_of(f, die, DW_AT_name);
}

/* The entry below `die` that holds the address and is an inlined function or a block of one. */
static bool step_in(const struct as_dwarf_file *f, Dwarf_Die *die, uint64_t address)
{
    Dwarf_Die child;
    int rc = f->dw->dwarf_child(die, &child);

    for (; rc == 0; rc = f->dw->dwarf_siblingof(&child, &child)) {
        int tag = f->dw->dwarf_tag(&child);

        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
             tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
            f->dw->dwarf_haspc(&child, address) == 1) {
            *die = child;
            return true;
        }
    }
    return false;
}

static void set_line(const struct as_dwarf_file *f, struct unit *u, uint64_t address,
                     struct as_dwarf_found *out)
{
    Dwarf_Line *row = f->dw->dwarf_getsrc_die(&u->die, address);
    int line = 0;

    if (!row)
        return;
    out->file = f->dw->dwarf_linesrc(row, NULL, NULL);
    if (f->dw->dwarf_lineno(row, &line) == 0 && line > 0)
        out->line = (uint64_t)line;
}

/* Where the inlined function `die` is called: that is the line of the one around it. */
static void set_call(const struct as_dwarf_file *f, struct unit *u, Dwarf_Die *die,
                     struct as_dwarf_found *out)
{
    uint64_t file = number_of(f, die, DW_AT_call_file);
    Dwarf_Files *files;
    size_t n;

    out->line = number_of(f, die, DW_AT_call_line);
    if (f->dw->dwarf_getsrcfiles(&u->die, &files, &n) == 0 && file < n)
        out->file = f->dw->dwarf_filesrc(files, file, NULL, NULL);
}

size_t as_dwarf_file_find(struct as_dwarf_file *file, uint64_t address,
                          struct as_dwarf_found out[AS_DWARF_MAX_DEPTH])
{
    Dwarf_Die inlined[AS_DWARF_MAX_DEPTH], die; /* outermost first */
    struct unit *u = find_unit(file, address);
    const struct span *function = u ? spans_find(&u->functions, address) : NULL;
    size_t n = 0;

    if (!u)
        return 0;
    if (function) {
        die = inlined[n++] = function->die;
        for (unsigned i = 0; i < MAX_LEVELS && step_in(file, &die, address); i++)
            if (file->dw->dwarf_tag(&die) == DW_TAG_inlined_subroutine && n < AS_DWARF_MAX_DEPTH)
                inlined[n++] = die;
    }
    for (size_t i = 0; i < n || i == 0; i++) {
        out[i] = (struct as_dwarf_found){.function = n ? name_of(file, &inlined[n - 1 - i]) : NULL};
        if (i == 0)
            set_line(file, u, address, &out[i]);
        else
            set_call(file, u, &inlined[n - i], &out[i]);
    }
    return n || out[0].file ? (n ? n : 1) : 0;
}

#else

const struct as_dwarf_library *as_dwarf_library_open(void)
{
    return NULL;
}

struct as_dwarf_file *as_dwarf_file_open(const struct as_dwarf_library *library, const char *path)
{
    (void)library;
    (void)path;
    return NULL;
}

void as_dwarf_file_close(struct as_dwarf_file *file)
{
    (void)file;
}

size_t as_dwarf_file_find(struct as_dwarf_file *file, uint64_t address,
                          struct as_dwarf_found out[AS_DWARF_MAX_DEPTH])
{
    (void)file;
    (void)address;
    (void)out;
    return 0;
}

#endif
