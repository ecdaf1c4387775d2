/* base/file/executable.c - whether a library can be put into a program, from the program's
 * file. Only 64-bit little-endian ELF is looked into: anything else is another machine's here. */
#include "base/file/executable.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/file/file_open.h"
#include "base/units.h"

enum { HEAD_BYTES = 4096, MAX_SEGMENTS = 128, MAX_DYNAMIC = 512, MAX_SCRIPTS = 5 };

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#elif defined(__riscv)
enum { OUR_MACHINE = EM_RISCV };
#elif defined(__powerpc64__)
enum { OUR_MACHINE = EM_PPC64 };
#else
enum { OUR_MACHINE = EM_NONE };
#endif

struct segment {
    uint32_t type;
    uint64_t offset, address, size; /* size: in the file */
};

struct image {
    int fd;
    struct segment segment[MAX_SEGMENTS];
    size_t n;
};

/* As much as there is, up to `size`. */
static size_t read_at(int fd, uint64_t offset, void *out, size_t size)
{
    size_t n = 0;

    while (n < size && offset + n <= INT64_MAX) {
        ssize_t got = pread(fd, (char *)out + n, size - n, (off_t)(offset + n));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    return n;
}

/* A text that NUL ends within its room; "" when it does not. */
static void read_text(int fd, uint64_t offset, char *out, size_t capacity)
{
    size_t n = read_at(fd, offset, out, capacity);

    if (!memchr(out, '\0', n))
        out[0] = '\0';
}

static void read_script(struct as_executable *out, const char *head, size_t size)
{
    size_t from = 2, to;

    while (from < size && (head[from] == ' ' || head[from] == '\t'))
        from++;
    for (to = from; to < size && !strchr(" \t\n", head[to]); to++)
        ;
    if (to == size || to - from >= sizeof out->interpreter)
        return;
    memcpy(out->interpreter, head + from, to - from);
    out->interpreter[to - from] = '\0';
    out->kind = AS_EXECUTABLE_SCRIPT;
}

static bool skip(struct as_cursor *c, size_t n)
{
    if (as_cursor_left(c) < n)
        return false;
    c->at += n;
    return true;
}

static bool take_segment(struct as_cursor *c, struct segment *out)
{
    return as_take_u32le(c, &out->type) && skip(c, 4) && as_take_u64le(c, &out->offset) &&
           as_take_u64le(c, &out->address) && skip(c, 8) && as_take_u64le(c, &out->size);
}

static void read_segments(struct image *image, uint64_t at, uint16_t each, uint16_t n)
{
    uint8_t entry[sizeof(Elf64_Phdr)];

    if (n > MAX_SEGMENTS || each < sizeof entry)
        return;
    for (uint16_t i = 0; i < n; i++) {
        struct as_cursor c = as_cursor_over(entry, sizeof entry);
        uint64_t offset;

        if (!as_add_u64(at, (uint64_t)i * each, &offset) ||
            read_at(image->fd, offset, entry, sizeof entry) != sizeof entry ||
            !take_segment(&c, &image->segment[image->n]))
            return;
        image->n++;
    }
}

static const struct segment *find_segment(const struct image *image, uint32_t type)
{
    for (size_t i = 0; i < image->n; i++)
        if (image->segment[i].type == type)
            return &image->segment[i];
    return NULL;
}

/* Where in the file the memory at `address` comes from. */
static bool to_offset(const struct image *image, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < image->n; i++) {
        const struct segment *s = &image->segment[i];

        if (s->type == PT_LOAD && address >= s->address && address - s->address < s->size)
            return as_add_u64(s->offset, address - s->address, offset);
    }
    return false;
}

static bool is_sanitizer(const char *library)
{
    static const char *const name[] = {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so",
                                       "libclang_rt."};

    for (size_t i = 0; i < AS_COUNT_OF(name); i++)
        if (strncmp(library, name[i], strlen(name[i])) == 0)
            return true;
    return false;
}

/* Looks for the libraries it needs: twice over the list, since their names may come behind. */
static void read_needed(struct as_executable *out, const struct image *image)
{
    const struct segment *dynamic = find_segment(image, PT_DYNAMIC);
    uint64_t names = 0;
    bool has_names = false;

    for (int pass = 0; dynamic && pass < 2; pass++) {
        for (uint64_t i = 0; i < MAX_DYNAMIC; i++) {
            uint8_t entry[sizeof(Elf64_Dyn)];
            struct as_cursor c = as_cursor_over(entry, sizeof entry);
            uint64_t at, tag = 0, value = 0;
            char library[64];

            if (!as_add_u64(dynamic->offset, i * sizeof entry, &at) ||
                read_at(image->fd, at, entry, sizeof entry) != sizeof entry ||
                !as_take_u64le(&c, &tag) || !as_take_u64le(&c, &value) || tag == DT_NULL)
                break;
            if (pass == 0 && tag == DT_STRTAB)
                has_names = to_offset(image, value, &names);
            if (pass == 1 && has_names && tag == DT_NEEDED && as_add_u64(names, value, &at)) {
                read_text(image->fd, at, library, sizeof library);
                out->sanitized |= is_sanitizer(library);
            }
        }
    }
}

static void read_elf(struct as_executable *out, int fd, const uint8_t *head, size_t size)
{
    struct as_cursor c = as_cursor_over(head, size);
    struct image image = {.fd = fd};
    const struct segment *loader;
    uint16_t machine = 0, each = 0, n = 0;
    uint64_t segments = 0;

    out->kind = AS_EXECUTABLE_ELF;
    if (size < sizeof(Elf64_Ehdr) || head[EI_CLASS] != ELFCLASS64 || head[EI_DATA] != ELFDATA2LSB)
        return;
    if (!skip(&c, EI_NIDENT + 2) || !as_take_u16le(&c, &machine) || !skip(&c, 4 + 8) ||
        !as_take_u64le(&c, &segments) || !skip(&c, 8 + 4 + 2) || !as_take_u16le(&c, &each) ||
        !as_take_u16le(&c, &n))
        return;
    out->same_machine = machine == OUR_MACHINE;
    if (!out->same_machine)
        return;
    read_segments(&image, segments, each, n);
    loader = find_segment(&image, PT_INTERP);
    if (loader)
        read_text(fd, loader->offset, out->interpreter, sizeof out->interpreter);
    read_needed(out, &image);
}

void as_executable_read(struct as_executable *out, int fd)
{
    uint8_t head[HEAD_BYTES];
    size_t size = read_at(fd, 0, head, sizeof head);

    *out = (struct as_executable){.is_text = !memchr(head, '\0', size)};
    if (size >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
        read_elf(out, fd, head, size);
    else if (size >= 2 && head[0] == '#' && head[1] == '!')
        read_script(out, (const char *)head, size);
}

/* The loader of such a program ignores libraries from the environment. */
static bool gains_rights(int fd)
{
    struct statvfs fs;
    struct stat st;

    if (fstat(fd, &st) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return false;
    if (fstatvfs(fd, &fs) == 0 && fs.f_flag & ST_NOSUID)
        return false;
    if ((st.st_mode & S_ISUID && st.st_uid != getuid()) ||
        (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid()))
        return true;
    return getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool open_and_read(struct as_executable *out, const char *path, bool *gains)
{
    int fd = as_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    *out = (struct as_executable){0};
    *gains = false;
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        as_executable_read(out, fd);
        *gains = gains_rights(fd);
    }
    close(fd);
    return true;
}

static const char *why_not_elf(const struct as_executable *program, const char *own)
{
    struct as_executable ours;
    bool gains;

    if (!program->same_machine)
        return "the program is for another CPU architecture than assay";
    if (!program->interpreter[0])
        return "the program is statically linked, so no library can be injected";
    if (program->sanitized)
        return "the program is built with a sanitizer, whose own heap must come first";
    if (!open_and_read(&ours, own, &gains) ||
        strcmp(base_name(ours.interpreter), base_name(program->interpreter)) != 0)
        return "the program uses another C library than assay";
    return NULL;
}

const char *as_executable_why_not(const char *path, const char *own)
{
    char at[PATH_MAX];
    struct as_executable program;
    bool gains;

    if (strlen(path) >= sizeof at)
        return "the path of the program is too long";
    memcpy(at, path, strlen(path) + 1);
    for (int depth = 0; depth < MAX_SCRIPTS; depth++) {
        if (!open_and_read(&program, at, &gains))
            return "the program's file cannot be read, so nothing is known about it";
        if (gains)
            return "the program runs with other rights (setuid, setgid or capabilities), so its "
                   "loader ignores injected libraries";
        if (program.kind == AS_EXECUTABLE_ELF)
            return why_not_elf(&program, own);
        if (program.kind == AS_EXECUTABLE_UNKNOWN) {
            if (!program.is_text)
                break;
            memcpy(at, "/bin/sh", sizeof "/bin/sh"); /* as execvp() does */
        } else {
            memcpy(at, program.interpreter, sizeof program.interpreter);
        }
    }
    return "the program's file is of an unknown kind";
}
