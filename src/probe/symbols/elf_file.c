/* probe/symbols/elf_file.c - what of an ELF file is needed to name its functions: 64 bits,
 * little-endian. */
#include "probe/symbols/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/file_open.h"

#define HEADER_BYTES  64u
#define SEGMENT_BYTES 56u
#define SECTION_BYTES 64u
#define SYMBOL_BYTES  24u

#define MAX_HEADERS 65536u /* program or section headers looked at */
#define MAX_NOTES   4096u

enum { TYPE_LOAD = 1, TYPE_NOTE = 4 };
enum { SECTION_SYMTAB = 2, SECTION_STRTAB = 3, SECTION_NOBITS = 8, SECTION_DYNSYM = 11 };
#define NOTE_BUILD_ID 3u

struct file_header {
    uint64_t segments_at, sections_at;
    uint16_t segment_bytes, n_segments, section_bytes, n_sections, names_section;
};

struct section {
    uint32_t name, type, link;
    uint64_t offset, size;
};

/* The bytes [offset, offset + size) of the file; false when they are not all there. */
static bool part_of(const struct as_elf_file *file, uint64_t offset, uint64_t size,
                    struct as_cursor *out)
{
    if (offset > file->size || size > file->size - offset)
        return false;
    *out = as_cursor_over(file->bytes + offset, (size_t)size);
    return true;
}

static bool skip(struct as_cursor *c, size_t size)
{
    const uint8_t *unused;

    return as_take_bytes(c, size, &unused);
}

static bool take_header(const struct as_elf_file *file, struct file_header *h)
{
    static const uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    struct as_cursor c;

    return part_of(file, 0, HEADER_BYTES, &c) && memcmp(c.at, ident, sizeof ident) == 0 &&
           skip(&c, 32) && as_take_u64le(&c, &h->segments_at) &&
           as_take_u64le(&c, &h->sections_at) && skip(&c, 6) &&
           as_take_u16le(&c, &h->segment_bytes) && as_take_u16le(&c, &h->n_segments) &&
           as_take_u16le(&c, &h->section_bytes) && as_take_u16le(&c, &h->n_sections) &&
           as_take_u16le(&c, &h->names_section);
}

/* The description of the first note that tells a build id. */
static void read_notes(struct as_elf_file *file, struct as_cursor c)
{
    for (unsigned i = 0; i < MAX_NOTES && file->build_id_size == 0; i++) {
        uint32_t name_size, size, type;
        const uint8_t *name, *text;

        if (!as_take_u32le(&c, &name_size) || !as_take_u32le(&c, &size) ||
            !as_take_u32le(&c, &type) || name_size > UINT32_MAX - 3 || size > UINT32_MAX - 3 ||
            !as_take_bytes(&c, (name_size + 3u) & ~3u, &name) ||
            !as_take_bytes(&c, (size + 3u) & ~3u, &text))
            return;
        if (type == NOTE_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 && size > 1 &&
            size <= AS_ELF_MAX_BUILD_ID) {
            memcpy(file->build_id, text, size);
            file->build_id_size = size;
        }
    }
}

static void read_segments(struct as_elf_file *file, const struct file_header *h)
{
    struct as_cursor c;

    if (h->segment_bytes != SEGMENT_BYTES ||
        !part_of(file, h->segments_at, (uint64_t)h->n_segments * SEGMENT_BYTES, &c))
        return;
    for (unsigned i = 0; i < h->n_segments; i++) {
        struct as_elf_segment s;
        struct as_cursor notes;
        uint32_t type;

        if (!as_take_u32le(&c, &type) || !skip(&c, 4) || !as_take_u64le(&c, &s.offset) ||
            !as_take_u64le(&c, &s.address) || !skip(&c, 8) || !as_take_u64le(&c, &s.size) ||
            !skip(&c, 16))
            return;
        if (type == TYPE_LOAD && file->n_segments < AS_ELF_MAX_SEGMENTS)
            file->segment[file->n_segments++] = s;
        else if (type == TYPE_NOTE && part_of(file, s.offset, s.size, &notes))
            read_notes(file, notes);
    }
}

static bool section_at(const struct as_elf_file *file, const struct file_header *h, uint64_t i,
                       struct section *s)
{
    struct as_cursor c;
    uint64_t at;

    /* At most 2^32 times 64: only the sum can run over. */
    return as_add_u64(h->sections_at, i * SECTION_BYTES, &at) &&
           part_of(file, at, SECTION_BYTES, &c) && as_take_u32le(&c, &s->name) &&
           as_take_u32le(&c, &s->type) && skip(&c, 16) && as_take_u64le(&c, &s->offset) &&
           as_take_u64le(&c, &s->size) && as_take_u32le(&c, &s->link);
}

static bool section_bytes(const struct as_elf_file *file, const struct section *s,
                          struct as_cursor *out)
{
    return s->type != SECTION_NOBITS && part_of(file, s->offset, s->size, out);
}

/* The first table of its kind counts. */
static void take_table(const struct as_elf_file *file, const struct file_header *h,
                       const struct section *s, struct as_elf_table *table)
{
    struct as_cursor symbols, names;
    struct section strings;

    if (as_cursor_left(&table->symbols) > 0 || !section_bytes(file, s, &symbols) ||
        !section_at(file, h, s->link, &strings) || strings.type != SECTION_STRTAB ||
        !section_bytes(file, &strings, &names))
        return;
    table->symbols = symbols;
    table->names = names;
}

static bool section_is(const struct as_cursor *names, const struct section *s, const char *name)
{
    size_t size = strlen(name) + 1;

    return s->name < as_cursor_left(names) && as_cursor_left(names) - s->name >= size &&
           memcmp(names->at + s->name, name, size) == 0;
}

/* A file name that ends with NUL, without a folder. */
static void take_link(struct as_elf_file *file, const struct section *s)
{
    struct as_cursor c;

    if (!section_bytes(file, s, &c) || as_cursor_left(&c) < 2 ||
        !memchr(c.at, '\0', as_cursor_left(&c)) || c.at[0] == '\0' ||
        strchr((const char *)c.at, '/') || strcmp((const char *)c.at, "..") == 0)
        return;
    file->debug_link = (const char *)c.at;
}

static void read_sections(struct as_elf_file *file, const struct file_header *h)
{
    struct as_cursor names = {NULL, NULL};
    uint64_t n = h->n_sections;
    struct section s;

    if (h->section_bytes != SECTION_BYTES || h->sections_at == 0)
        return;
    if (n == 0 && section_at(file, h, 0, &s)) /* too many for the header */
        n = s.size;
    if (section_at(file, h, h->names_section, &s))
        (void)section_bytes(file, &s, &names);
    for (uint64_t i = 0; i < n && i < MAX_HEADERS && section_at(file, h, i, &s); i++) {
        if (s.type == SECTION_SYMTAB)
            take_table(file, h, &s, &file->symtab);
        else if (s.type == SECTION_DYNSYM)
            take_table(file, h, &s, &file->dynsym);
        else if (section_is(&names, &s, ".gnu_debuglink"))
            take_link(file, &s);
        else if (section_is(&names, &s, ".debug_info") || section_is(&names, &s, ".zdebug_info"))
            file->has_lines = s.type != SECTION_NOBITS && s.size > 0;
    }
}

int as_elf_file_parse(struct as_elf_file *file, const uint8_t *bytes, size_t size,
                      struct assay_error *err)
{
    struct file_header header;

    *file = (struct as_elf_file){.bytes = bytes, .size = size};
    if (!take_header(file, &header))
        return as_fail(err, ASSAY_ERR_FORMAT, "not an ELF file of 64 bits, little-endian");
    read_segments(file, &header);
    read_sections(file, &header);
    return ASSAY_OK;
}

/* A map may name a device, and opening one may do something. */
static int open_regular(const char *path, struct stat *st)
{
    int fd;

    if (stat(path, st) != 0 || !S_ISREG(st->st_mode))
        return -1;
    fd = as_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, st) != 0 || !S_ISREG(st->st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int as_elf_file_open(struct as_elf_file *file, const char *path, struct assay_error *err)
{
    struct as_file_spans all = {0};
    struct as_file_map map;
    struct stat st;
    int fd, rc;

    *file = (struct as_elf_file){0};
    fd = open_regular(path, &st);
    if (fd < 0)
        return as_fail(err, ASSAY_ERR_IO, "cannot open %s", path);
    rc = as_file_spans_add(&all, 0, (uint64_t)st.st_size)
             ? as_file_map_open(&map, fd, (uint64_t)st.st_size, &all, path, err)
             : as_fail_nomem(err);
    close(fd);
    if (rc < 0)
        return rc;
    rc = as_elf_file_parse(file, map.bytes, (size_t)map.size, err);
    file->map = map;
    if (rc < 0)
        as_elf_file_close(file);
    return rc;
}

void as_elf_file_close(struct as_elf_file *file)
{
    as_file_map_close(&file->map);
    *file = (struct as_elf_file){0};
}

bool as_elf_take_symbol(struct as_cursor *c, struct as_elf_symbol *out)
{
    return as_cursor_left(c) >= SYMBOL_BYTES && as_take_u32le(c, &out->name) &&
           as_take_u8(c, &out->info) && as_take_u8(c, &out->other) &&
           as_take_u16le(c, &out->section) && as_take_u64le(c, &out->value) &&
           as_take_u64le(c, &out->size);
}

bool as_elf_file_address(const struct as_elf_file *file, uint64_t offset, uint64_t *address)
{
    for (size_t i = 0; i < file->n_segments; i++) {
        const struct as_elf_segment *s = &file->segment[i];

        if (offset >= s->offset && offset - s->offset < s->size) {
            *address = s->address + (offset - s->offset);
            return true;
        }
    }
    return false;
}
