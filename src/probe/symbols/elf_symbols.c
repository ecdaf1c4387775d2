/* probe/symbols/elf_symbols.c - names for addresses of a process, from its memory map and the files
 * in it. Files and map are hostile; an address without a name is told as its module and offset. */
#include "probe/symbols/elf_symbols.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "probe/symbols/elf_file.h"

#define MAX_MODULES  1024u
#define DEBUG_FOLDER "/usr/lib/debug"

/* The name of a function, made when it is first asked for. */
struct shown {
    const char *name;
};

/* One file of the map, opened when it is first asked for. */
struct module {
    const char *path, *name;
    bool deleted, tried, usable;
    bool partly; /* memory ran out: some names are missing */
    struct as_elf_file file, debug;
    struct as_elf_functions functions;
    struct shown *shown; /* [function] */
};

struct as_symbols {
    struct as_arena arena;
    const char *root;
    struct as_memory_map map;
    struct module **of_region; /* [region of the map] */
    struct module **module;
    size_t n_modules;
    struct as_demangler demangler;
    bool demangler_tried;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* The module of a region: the one before it mostly. */
static struct module *module_for(struct as_symbols *s, const struct as_map_region *r)
{
    struct module *m;

    for (size_t i = s->n_modules; i-- > 0;) {
        m = s->module[i];
        if (m->deleted == r->deleted && strcmp(m->path, r->path) == 0)
            return m;
    }
    m = s->n_modules < MAX_MODULES ? as_arena_zero(&s->arena, 1, sizeof *m) : NULL;
    if (!m)
        return NULL;
    *m = (struct module){.path = r->path, .name = base_name(r->path), .deleted = r->deleted};
    s->module[s->n_modules++] = m;
    return m;
}

/* Data of a file is never called: only what may be run needs a module. */
static int list_modules(struct as_symbols *s, struct assay_error *err)
{
    s->of_region = as_arena_zero(&s->arena, s->map.n + 1, sizeof(struct module *));
    s->module = as_arena_zero(&s->arena, MAX_MODULES, sizeof(struct module *));
    if (!s->of_region || !s->module)
        return as_fail_nomem(err);
    for (size_t i = 0; i < s->map.n; i++) {
        const struct as_map_region *r = &s->map.region[i];

        if (r->path[0] != '\0')
            s->of_region[i] = module_for(s, r);
    }
    return ASSAY_OK;
}

int as_symbols_new(struct as_symbols **out, const char *maps, const char *root,
                   struct assay_error *err)
{
    struct as_symbols *s = as_alloc_zero(1, sizeof *s);
    int rc;

    *out = NULL;
    if (!s)
        return as_fail_nomem(err);
    s->root = as_arena_text(&s->arena, root, strlen(root));
    rc = s->root ? as_memory_map_parse(&s->map, &s->arena, maps, err) : as_fail_nomem(err);
    if (rc == ASSAY_OK)
        rc = list_modules(s, err);
    if (rc < 0) {
        as_symbols_free(s);
        return rc;
    }
    *out = s;
    return ASSAY_OK;
}

void as_symbols_free(struct as_symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->n_modules; i++) {
        struct module *m = symbols->module[i];

        as_elf_functions_fini(&m->functions);
        as_elf_file_close(&m->debug);
        as_elf_file_close(&m->file);
    }
    as_demangler_close(&symbols->demangler);
    as_arena_fini(&symbols->arena);
    as_free(symbols);
}

static bool same_build(const struct as_elf_file *a, const struct as_elf_file *b)
{
    return a->build_id_size == b->build_id_size &&
           memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

/* Takes the file at `path` for the debug file when it is one of the same build. */
static bool take_debug(struct module *m, const char *path)
{
    if (as_elf_file_open(&m->debug, path, NULL) < 0)
        return false;
    if (same_build(&m->file, &m->debug) && as_cursor_left(&m->debug.symtab.symbols) > 0)
        return true;
    as_elf_file_close(&m->debug);
    return false;
}

AS_PRINTF(2, 3) static bool try_debug(struct module *m, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(path, sizeof path, fmt, args);
    va_end(args);
    return n > 0 && n < (int)sizeof path && take_debug(m, path);
}

/* The symbols of a stripped file may stand in a file apart: by its build, or by its name. */
static void find_debug(const struct as_symbols *s, struct module *m)
{
    int folder = (int)(m->name - m->path); /* with its slash */
    const char *link = m->file.debug_link;
    char hex[2 * AS_ELF_MAX_BUILD_ID + 1] = "";

    if (as_cursor_left(&m->file.symtab.symbols) > 0)
        return;
    for (size_t i = 0; i < m->file.build_id_size; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", m->file.build_id[i]);
    if (m->file.build_id_size > 1 &&
        try_debug(m, "%s" DEBUG_FOLDER "/.build-id/%.2s/%s.debug", s->root, hex, hex + 2))
        return;
    if (!link)
        return;
    if (!try_debug(m, "%s" DEBUG_FOLDER "%.*s%s", s->root, folder, m->path, link) &&
        !try_debug(m, "%s%.*s.debug/%s", s->root, folder, m->path, link))
        (void)try_debug(m, "%s%.*s%s", s->root, folder, m->path, link);
}

/* What cannot be read leaves the module without names. */
static void open_module(struct as_symbols *s, struct module *m)
{
    char path[PATH_MAX];
    int n;

    m->tried = true;
    /* What stands under the name of a deleted file is another one. */
    if (m->path[0] != '/' || m->deleted)
        return;
    n = snprintf(path, sizeof path, "%s%s", s->root, m->path);
    if (n < 0 || n >= (int)sizeof path || as_elf_file_open(&m->file, path, NULL) < 0)
        return;
    find_debug(s, m);
    if (as_elf_functions_add(&m->functions, &m->file.symtab, NULL) < 0 ||
        as_elf_functions_add(&m->functions, &m->file.dynsym, NULL) < 0 ||
        as_elf_functions_add(&m->functions, &m->debug.symtab, NULL) < 0)
        m->partly = true;
    as_elf_functions_sort(&m->functions);
    m->shown = as_arena_zero(&s->arena, m->functions.n + 1, sizeof *m->shown);
    m->usable = m->shown != NULL;
}

/* A copy: what the file says may change while we have it mapped. */
static const char *show_name(struct as_symbols *s, const struct module *m, size_t i)
{
    char nice[AS_DEMANGLE_MAX + 1];
    size_t size;
    const char *name = as_elf_functions_name(&m->functions, i, &size);
    char *copy = size ? as_arena_text(&s->arena, name, size) : NULL;

    if (!copy)
        return NULL;
    if (!s->demangler_tried && strncmp(copy, "_Z", 2) == 0) {
        as_demangler_open(&s->demangler);
        s->demangler_tried = true;
    }
    if (!as_demangle(&s->demangler, copy, nice))
        return copy;
    name = as_arena_text(&s->arena, nice, strlen(nice));
    return name ? name : copy;
}

static const char *function_at(struct as_symbols *s, struct module *m, uint64_t address,
                               uint64_t *start)
{
    size_t i = as_elf_functions_find(&m->functions, address);

    if (i == SIZE_MAX)
        return NULL;
    if (!m->shown[i].name)
        m->shown[i].name = show_name(s, m, i);
    *start = m->functions.function[i].start;
    return m->shown[i].name;
}

void as_symbols_find(struct as_symbols *symbols, uint64_t address, struct as_symbol *out)
{
    /* The call is before the address it returns to, maybe in the function before. */
    uint64_t call = address ? address - 1 : 0, in_file, start;
    const struct as_map_region *r = as_memory_map_find(&symbols->map, call);
    struct module *m = r ? symbols->of_region[r - symbols->map.region] : NULL;

    *out = (struct as_symbol){.offset = address};
    if (!m)
        return;
    if (!m->tried)
        open_module(symbols, m);
    out->module = m->name;
    in_file = call - r->start + r->offset;
    if (m->usable && as_elf_file_address(&m->file, in_file, &in_file)) {
        out->function = function_at(symbols, m, in_file, &start);
        if (out->function)
            in_file -= start;
    }
    out->offset = in_file + (address - call);
}
