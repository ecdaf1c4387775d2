/* probe/symbols/elf_symbols.c - names for addresses of a process, from its memory map and the files
 * in it. Files and map are hostile; an address without a name is told as its module and offset. */
#include "probe/symbols/elf_symbols.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/vec.h"
#include "probe/symbols/dwarf_lines.h"
#include "probe/symbols/elf_file.h"

#define MAX_MODULES    1024u
#define FULL_MODULES   512u
#define FULL_FUNCTIONS ((size_t)1 << 20)
#define DEBUG_FOLDER   "/usr/lib/debug"

/* The name of a function, made when it is first asked for. */
struct shown {
    const char *name;
};

/* One file of the map, opened when it is first asked for. */
struct module {
    const char *path, *name;
    uint64_t device, inode;
    bool deleted, tried, usable;
    bool partly; /* memory ran out: some names are missing */
    struct as_elf_file file, debug;
    struct as_elf_functions functions;
    struct shown *shown;    /* [function] */
    const char *debug_path; /* of the file with debug information; NULL: none */
    struct line *line;      /* sorted by address; those without an answer too */
    size_t n_lines, lines_capacity;
};

/* What is at an address of a module. */
struct line {
    uint64_t address; /* as the file gives it */
    const struct as_symbol_frame *frame;
    size_t n_frames;
};

/* An address that lines are looked for. */
struct wanted {
    struct module *module;
    uint64_t address;
};

struct as_symbols {
    struct as_arena arena;
    struct as_arena now; /* what is of this map alone */
    const char *root;
    struct as_memory_map map;
    struct module **of_region; /* [region of the map] */
    struct module **module;
    size_t n_modules;
    struct as_demangler demangler;
    bool demangler_tried;
    char lines_why[160];      /* "": nothing is missing */
    uint32_t line_seconds;    /* that lines are looked for; 0: the usual */
    struct as_hash_map names; /* of frames, as they stand in files, to how they are shown */
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
        if (m->deleted == r->deleted && m->device == r->device && m->inode == r->inode &&
            strcmp(m->path, r->path) == 0)
            return m;
    }
    m = s->n_modules < MAX_MODULES ? as_arena_zero(&s->arena, 1, sizeof *m) : NULL;
    if (!m)
        return NULL;
    *m = (struct module){.path = as_arena_text(&s->arena, r->path, strlen(r->path)),
                         .device = r->device,
                         .inode = r->inode,
                         .deleted = r->deleted};
    if (!m->path)
        return NULL;
    m->name = base_name(m->path);
    s->module[s->n_modules++] = m;
    return m;
}

/* Data of a file is never called: only what may be run needs a module. */
static int list_modules(struct as_symbols *s, struct assay_error *err)
{
    s->of_region = as_arena_zero(&s->now, s->map.n + 1, sizeof(struct module *));
    if (!s->module)
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

int as_symbols_move(struct as_symbols *symbols, const char *maps, struct assay_error *err)
{
    int rc;

    as_arena_fini(&symbols->now);
    symbols->now = (struct as_arena){0};
    symbols->map = (struct as_memory_map){0};
    rc = as_memory_map_parse(&symbols->map, &symbols->now, maps, err);
    return rc < 0 ? rc : list_modules(symbols, err);
}

bool as_symbols_is_full(const struct as_symbols *symbols)
{
    size_t functions = 0;

    for (size_t i = 0; i < symbols->n_modules; i++)
        functions += symbols->module[i]->functions.n;
    return symbols->n_modules > FULL_MODULES || functions > FULL_FUNCTIONS;
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
    rc = s->root ? as_symbols_move(s, maps, err) : as_fail_nomem(err);
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

        as_free(m->line);
        as_elf_functions_fini(&m->functions);
        as_elf_file_close(&m->debug);
        as_elf_file_close(&m->file);
    }
    as_demangler_close(&symbols->demangler);
    as_hash_map_fini(&symbols->names);
    as_arena_fini(&symbols->now);
    as_arena_fini(&symbols->arena);
    as_free(symbols);
}

static bool same_build(const struct as_elf_file *a, const struct as_elf_file *b)
{
    return a->build_id_size == b->build_id_size &&
           memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

/* Takes the file at `path` for the debug file when it is one of the same build. */
static bool take_debug(struct as_symbols *s, struct module *m, const char *path)
{
    if (as_elf_file_open(&m->debug, path, NULL) < 0)
        return false;
    if (same_build(&m->file, &m->debug) &&
        (as_cursor_left(&m->debug.symtab.symbols) > 0 || m->debug.has_lines)) {
        if (m->debug.has_lines)
            m->debug_path = as_arena_text(&s->arena, path, strlen(path));
        return true;
    }
    as_elf_file_close(&m->debug);
    return false;
}

AS_PRINTF(3, 4)
static bool try_debug(struct as_symbols *s, struct module *m, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(path, sizeof path, fmt, args);
    va_end(args);
    return n > 0 && n < (int)sizeof path && take_debug(s, m, path);
}

/* The symbols of a stripped file may stand in a file apart: by its build, or by its name. */
static void find_debug(struct as_symbols *s, struct module *m)
{
    int folder = (int)(m->name - m->path); /* with its slash */
    const char *link = m->file.debug_link;
    char hex[2 * AS_ELF_MAX_BUILD_ID + 1] = "";

    if (m->file.has_lines)
        return;
    for (size_t i = 0; i < m->file.build_id_size; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", m->file.build_id[i]);
    if (m->file.build_id_size > 1 &&
        try_debug(s, m, "%s" DEBUG_FOLDER "/.build-id/%.2s/%s.debug", s->root, hex, hex + 2))
        return;
    if (!link)
        return;
    if (!try_debug(s, m, "%s" DEBUG_FOLDER "%.*s%s", s->root, folder, m->path, link) &&
        !try_debug(s, m, "%s%.*s.debug/%s", s->root, folder, m->path, link))
        (void)try_debug(s, m, "%s%.*s%s", s->root, folder, m->path, link);
}

/* The numbers of files differ where one file system lies over another: only on the same device they
 * prove that a file took the place of the one that was mapped. */
static bool was_replaced(const struct module *m, const char *path)
{
    struct stat st;

    return m->inode && stat(path, &st) == 0 && st.st_dev == m->device && st.st_ino != m->inode;
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
    if (n < 0 || n >= (int)sizeof path || was_replaced(m, path) ||
        as_elf_file_open(&m->file, path, NULL) < 0)
        return;
    if (m->file.has_lines)
        m->debug_path = as_arena_text(&s->arena, path, (size_t)n);
    find_debug(s, m);
    if (as_elf_functions_add(&m->functions, &m->file.symtab, NULL) < 0 ||
        as_elf_functions_add(&m->functions, &m->file.dynsym, NULL) < 0 ||
        as_elf_functions_add(&m->functions, &m->debug.symtab, NULL) < 0)
        m->partly = true;
    as_elf_functions_sort(&m->functions);
    m->shown = as_arena_zero(&s->arena, m->functions.n + 1, sizeof *m->shown);
    m->usable = m->shown != NULL;
}

/* `name` as people write it, or itself. */
static const char *nice_name(struct as_symbols *s, const char *name)
{
    char nice[AS_DEMANGLE_MAX + 1];
    const char *copy;

    if (!s->demangler_tried && strncmp(name, "_Z", 2) == 0) {
        as_demangler_open(&s->demangler);
        s->demangler_tried = true;
    }
    if (!as_demangle(&s->demangler, name, nice))
        return name;
    copy = as_arena_text(&s->arena, nice, strlen(nice));
    return copy ? copy : name;
}

/* A copy: what the file says may change while we have it mapped. */
static const char *show_name(struct as_symbols *s, const struct module *m, size_t i)
{
    size_t size;
    const char *name = as_elf_functions_name(&m->functions, i, &size);
    char *copy = size ? as_arena_text(&s->arena, name, size) : NULL;

    return copy ? nice_name(s, copy) : NULL;
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

/* The module that holds the call before the return address, and where in it, as its file gives
 * addresses; without one *at is where it would be. */
static struct module *module_at(struct as_symbols *s, uint64_t address, uint64_t *at, bool *in_file)
{
    uint64_t call = address ? address - 1 : 0;
    const struct as_map_region *r = as_memory_map_find(&s->map, call);
    struct module *m = r ? s->of_region[r - s->map.region] : NULL;

    *at = call;
    *in_file = false;
    if (!m)
        return NULL;
    if (!m->tried)
        open_module(s, m);
    *at = call - r->start + r->offset;
    *in_file = m->usable && as_elf_file_address(&m->file, *at, at);
    return m;
}

static const struct line *line_at(const struct module *m, uint64_t address)
{
    size_t low = 0, high = m->n_lines;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (m->line[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->n_lines && m->line[low].address == address ? &m->line[low] : NULL;
}

void as_symbols_find(struct as_symbols *symbols, uint64_t address, struct as_symbol *out)
{
    uint64_t at, start;
    bool in_file;
    struct module *m = module_at(symbols, address, &at, &in_file);
    const struct line *line = m && in_file ? line_at(m, at) : NULL;

    *out = (struct as_symbol){.offset = address};
    if (!m)
        return;
    out->module = m->name;
    if (line) {
        out->frame = line->frame;
        out->n_frames = line->n_frames;
    }
    if (in_file) {
        out->function = function_at(symbols, m, at, &start);
        if (out->function)
            at -= start;
    }
    out->offset = at + (address ? 1 : 0); /* behind the call again */
}

/* ---- lines ---- */

static int by_module(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    if (x->module != y->module)
        return (uintptr_t)x->module < (uintptr_t)y->module ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

/* The places with debug information that were not looked for yet, sorted, each once. */
static size_t list_wanted(struct as_symbols *s, const uint64_t *address, size_t n,
                          struct wanted *out)
{
    size_t kept = 0, unique = 0;

    for (size_t i = 0; i < n && kept < AS_SYMBOLS_MAX_LINES; i++) {
        bool in_file;

        out[kept].module = module_at(s, address[i], &out[kept].address, &in_file);
        kept += in_file && out[kept].module->debug_path &&
                !line_at(out[kept].module, out[kept].address);
    }
    if (kept)
        qsort(out, kept, sizeof *out, by_module);
    for (size_t i = 0; i < kept; i++)
        if (i == 0 || by_module(&out[i], &out[unique - 1]) != 0)
            out[unique++] = out[i];
    return unique;
}

/* A name that many frames have is shown once. */
static const char *frame_name(struct as_symbols *s, const char *name)
{
    const uint64_t *known = as_hash_map_find(&s->names, name, strlen(name));
    const char *shown;

    if (known)
        return (const char *)(uintptr_t)*known;
    shown = nice_name(s, name);
    (void)as_hash_map_put(&s->names, name, strlen(name), (uint64_t)(uintptr_t)shown);
    return shown;
}

/* The function itself is called what its symbol is called. */
static int keep_line(struct as_symbols *s, struct module *m, uint64_t address,
                     const struct as_dwarf_place *place)
{
    struct as_symbol_frame *frame = as_arena_zero(&s->arena, (size_t)place->n + 1, sizeof *frame);
    uint64_t start;

    if (!frame || !AS_VEC_RESERVE(m->line, m->n_lines, m->lines_capacity))
        return ASSAY_ERR_NOMEM;
    for (uint32_t i = 0; i < place->n; i++) {
        const struct as_dwarf_frame *f = &place->frame[i];

        frame[i] = (struct as_symbol_frame){NULL, f->file, f->line};
        if (i + 1 == place->n)
            frame[i].function = function_at(s, m, address, &start);
        if (!frame[i].function && f->function)
            frame[i].function = frame_name(s, f->function);
    }
    m->line[m->n_lines++] = (struct line){address, frame, place->n};
    return ASSAY_OK;
}

static int by_address(const void *a, const void *b)
{
    const struct line *x = a, *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

struct question {
    struct wanted *wanted;
    size_t n, n_modules;
    uint64_t *address;
    struct as_dwarf_module *module;
    struct as_dwarf_place *place;
};

static bool make_question(struct as_symbols *s, struct question *q)
{
    q->address = as_arena_zero(&s->now, q->n + 1, sizeof *q->address);
    q->module = as_arena_zero(&s->now, MAX_MODULES, sizeof *q->module);
    q->place = as_arena_zero(&s->now, q->n + 1, sizeof *q->place);
    if (!q->address || !q->module || !q->place)
        return false;
    for (size_t i = 0; i < q->n; i++) {
        struct module *m = q->wanted[i].module;

        q->address[i] = q->wanted[i].address;
        if (i == 0 || q->wanted[i - 1].module != m)
            q->module[q->n_modules++] =
                (struct as_dwarf_module){.path = m->debug_path, .address = &q->address[i]};
        q->module[q->n_modules - 1].n++;
    }
    return true;
}

void as_symbols_limit_lines(struct as_symbols *symbols, uint32_t seconds)
{
    symbols->line_seconds = seconds;
}

const char *as_symbols_lines_why(const struct as_symbols *symbols)
{
    return symbols->lines_why[0] ? symbols->lines_why : NULL;
}

static void tell_why(struct as_symbols *s, const struct as_dwarf_report *report)
{
    if (report->missing)
        (void)snprintf(s->lines_why, sizeof s->lines_why,
                       "libdw, which reads debug information, is not installed");
    else if (report->unanswered)
        (void)snprintf(s->lines_why, sizeof s->lines_why,
                       "debug information of %zu addresses could not be read, or not in time",
                       report->unanswered);
}

int as_symbols_find_lines(struct as_symbols *symbols, const uint64_t *address, size_t n,
                          struct assay_error *err)
{
    struct as_dwarf_limits limits = AS_DWARF_LIMITS_INIT;
    struct question q = {0};
    struct as_dwarf_report report;
    int rc = ASSAY_OK;

    q.wanted = as_arena_zero(&symbols->now, n + 1, sizeof *q.wanted);
    if (!q.wanted)
        return as_fail_nomem(err);
    q.n = list_wanted(symbols, address, n, q.wanted);
    if (q.n == 0)
        return ASSAY_OK;
    if (!make_question(symbols, &q))
        return as_fail_nomem(err);
    if (symbols->line_seconds)
        limits.wall_seconds = symbols->line_seconds;
    rc = as_dwarf_look_up(q.module, q.n_modules, &limits, q.place, &symbols->arena, &report, err);
    if (rc == ASSAY_OK)
        tell_why(symbols, &report);
    for (size_t i = 0; i < q.n && rc == ASSAY_OK; i++) {
        struct module *m = q.wanted[i].module;

        rc = keep_line(symbols, m, q.address[i], &q.place[i]);
        if (rc == ASSAY_OK && (i + 1 == q.n || q.wanted[i + 1].module != m))
            qsort(m->line, m->n_lines, sizeof *m->line, by_address);
    }
    return rc < 0 ? as_fail_nomem(err) : ASSAY_OK;
}
