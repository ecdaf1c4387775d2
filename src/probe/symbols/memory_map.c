/* probe/symbols/memory_map.c - the text of /proc/PID/maps as a list of regions in order of address.
 * Lines that make no sense are passed over and counted.
 *
 *   7f0a4c000000-7f0a4c021000 r-xp 00021000 fe:01 1234      /usr/lib/libx.so
 *   start        end          perm offset   device inode    path, with \012 for a newline */
#include "probe/symbols/elf_symbols.h"

#include <string.h>
#include <sys/sysmacros.h>

#define DELETED " (deleted)"

/* The hexadecimal number that `at` begins with, up to 16 digits; moves behind it. */
static bool take_hex(const char **at, const char *end, uint64_t *out)
{
    const char *p = *at;
    uint64_t value = 0;

    for (; p < end && p - *at < 17; p++) {
        char c = *p;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;

        if (digit == 16)
            break;
        value = value << 4 | digit;
    }
    if (p == *at || p - *at > 16)
        return false;
    *at = p;
    *out = value;
    return true;
}

static bool take_char(const char **at, const char *end, char c)
{
    if (*at == end || **at != c)
        return false;
    ++*at;
    return true;
}

/* Moves behind a word and the blanks after it. */
static bool skip_word(const char **at, const char *end)
{
    const char *p = *at;

    while (p < end && *p != ' ')
        p++;
    if (p == *at)
        return false;
    while (p < end && *p == ' ')
        p++;
    *at = p;
    return true;
}

static bool ends_with(const char *text, size_t size, const char *tail)
{
    size_t n = strlen(tail);

    return size >= n && memcmp(text + size - n, tail, n) == 0;
}

/* The kernel writes a newline in a name as \012 and leaves everything else as it is. */
static char *path_text(struct as_arena *arena, const char *text, size_t size)
{
    char *path = as_arena_text(arena, text, size);
    size_t to = 0;

    if (!path)
        return NULL;
    for (size_t i = 0; i < size; i++) {
        bool newline = size - i >= 4 && memcmp(path + i, "\\012", 4) == 0;

        if (newline) {
            path[i + 3] = '\n';
            i += 3;
        }
        path[to++] = path[i];
    }
    path[to] = '\0';
    return path;
}

/* "fe:01 1234      ", as the system makes one number of a device. */
static bool take_file(struct as_map_region *r, const char **at, const char *end)
{
    uint64_t major_number, minor_number;

    if (!take_hex(at, end, &major_number) || !take_char(at, end, ':') ||
        !take_hex(at, end, &minor_number) || !take_char(at, end, ' ') ||
        major_number > UINT32_MAX || minor_number > UINT32_MAX)
        return false;
    r->device = makedev((unsigned)major_number, (unsigned)minor_number);
    r->inode = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        r->inode = 10 * r->inode + (uint64_t)(**at - '0');
    while (*at < end && **at == ' ')
        ++*at;
    return true;
}

/* False when the line is none. The path is left as the text before it. */
static bool parse_line(struct as_map_region *r, const char *at, const char *end, const char **path,
                       size_t *size)
{
    if (!take_hex(&at, end, &r->start) || !take_char(&at, end, '-') ||
        !take_hex(&at, end, &r->end) || !take_char(&at, end, ' ') || r->end <= r->start ||
        end - at < 5)
        return false;
    r->executable = at[2] == 'x';
    if (!skip_word(&at, end) || !take_hex(&at, end, &r->offset) || !take_char(&at, end, ' ') ||
        !take_file(r, &at, end))
        return false;
    *path = at;
    *size = (size_t)(end - at);
    r->deleted = ends_with(at, *size, DELETED);
    if (r->deleted)
        *size -= strlen(DELETED);
    return true;
}

static size_t count_lines(const char *text)
{
    size_t n = 1;

    for (; n < AS_MAP_MAX_REGIONS && (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

/* Neighbors are mostly of one file: they share its name. */
static const char *shared_path(const struct as_memory_map *map, struct as_arena *arena,
                               const char *path, size_t size)
{
    const char *last = map->n ? map->region[map->n - 1].path : NULL;

    if (last && strlen(last) == size && memcmp(last, path, size) == 0)
        return last;
    return path_text(arena, path, size);
}

int as_memory_map_parse(struct as_memory_map *map, struct as_arena *arena, const char *text,
                        struct assay_error *err)
{
    size_t capacity = count_lines(text);

    *map = (struct as_memory_map){.region = as_arena_zero(arena, capacity, sizeof *map->region)};
    if (!map->region)
        return as_fail_nomem(err);
    while (*text && map->n < capacity) {
        const char *end = strchr(text, '\n'), *path = NULL;
        struct as_map_region *r = &map->region[map->n];
        size_t size = 0;

        if (!end)
            end = text + strlen(text);
        /* The kernel gives them in order; a list that does not keep it cannot be searched. */
        if (!parse_line(r, text, end, &path, &size) ||
            (map->n && r->start < map->region[map->n - 1].end)) {
            map->passed_over++;
        } else {
            r->path = shared_path(map, arena, path, size);
            if (!r->path)
                return as_fail_nomem(err);
            map->n++;
        }
        text = *end ? end + 1 : end;
    }
    return ASSAY_OK;
}

const struct as_map_region *as_memory_map_find(const struct as_memory_map *map, uint64_t address)
{
    size_t low = 0, high = map->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct as_map_region *r = &map->region[middle];

        if (address < r->start)
            high = middle;
        else if (address >= r->end)
            low = middle + 1;
        else
            return r;
    }
    return NULL;
}
