/* base/text/name_fit.c - names of layers in few columns, kept distinct. */
#include "base/text/name_fit.h"

#include <string.h>

#include "base/error.h"
#include "base/hash_map.h"
#include "base/text/utf8.h"

static bool is_separator(char c)
{
    return c == '.' || c == '/';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes of the segment at `at`, without its separator. */
static size_t segment_size(const char *at)
{
    return strcspn(at, "./");
}

static bool is_word_end(char c)
{
    return c == '_' || c == '-';
}

/* Appends the first character and the trailing digits of a word, and returns the end. */
static char *put_initial(char *out, const char *word, size_t size)
{
    size_t digits = size, first;

    while (digits > 0 && is_digit(word[digits - 1]))
        digits--;
    for (first = size > 0; first < digits && ((unsigned char)word[first] & 0xc0) == 0x80;)
        first++; /* the first character may have several bytes */
    if (first > digits)
        first = digits;
    memcpy(out, word, first);
    memcpy(out + first, word + digits, size - digits);
    return out + first + (size - digits);
}

/* Appends the short form of a segment, "layer12" as "l12", and returns the end. With `words` each
 * of its words counts: "then_branch_0" as "tb0" instead of "t0". */
static char *put_short(char *out, const char *segment, size_t size, bool words)
{
    if (!words)
        return put_initial(out, segment, size);
    for (size_t at = 0; at < size;) {
        size_t end = at;

        while (end < size && !is_word_end(segment[end]))
            end++;
        out = put_initial(out, segment + at, end - at);
        at = end + (end < size);
    }
    return out;
}

/* The name with its first `n_short` segments abbreviated; the last one never is, and blanks before
 * the name stay. */
static void abbreviate(char *out, const char *name, size_t n_short, bool words)
{
    for (; *name == ' '; name++)
        *out++ = ' ';
    while (*name) {
        size_t size = segment_size(name);
        bool last = name[size] == '\0';

        if (n_short > 0 && !last) {
            out = put_short(out, name, size, words);
            n_short--;
        } else {
            memcpy(out, name, size);
            out += size;
        }
        name += size;
        while (is_separator(*name))
            *out++ = *name++;
    }
    *out = '\0';
}

static size_t count_segments(const char *name)
{
    size_t n = 1;

    for (; *name; name++)
        n += is_separator(*name);
    return n;
}

static const char *cut_middle(struct as_arena *arena, const char *text, size_t max_width,
                              const char *ellipsis)
{
    size_t size = strlen(text), dots = strlen(ellipsis);
    struct as_utf8_cut cut = as_utf8_cut(text, size, max_width, as_utf8_width(ellipsis, dots));
    char *out = as_arena_alloc(arena, cut.head + dots + (size - cut.tail) + 1);

    if (!out)
        return NULL;
    memcpy(out, text, cut.head);
    if (cut.width == 0)
        dots = 0;
    memcpy(out + cut.head, ellipsis, dots);
    memcpy(out + cut.head + dots, text + cut.tail, size - cut.tail);
    out[cut.head + dots + (size - cut.tail)] = '\0';
    return out;
}

const char *as_name_fit(struct as_arena *arena, const char *name, size_t max_width,
                        const char *ellipsis)
{
    size_t size = strlen(name), n_segments = count_segments(name);
    char *out;

    if (as_utf8_width(name, size) <= max_width)
        return name;
    out = as_arena_alloc(arena, size + 1);
    if (!out)
        return NULL;
    /* A hostile name of thousands of segments is cut: nobody reads its abbreviations. */
    for (int words = 1; words >= 0; words--)
        for (size_t n = 1; n < n_segments && n <= 64; n++) {
            abbreviate(out, name, n, words);
            if (as_utf8_width(out, strlen(out)) <= max_width)
                return out;
        }
    return cut_middle(arena, n_segments > 1 && n_segments <= 65 ? out : name, max_width, ellipsis);
}

static bool distinct_at(const char *const *names, size_t n, size_t width, const char *ellipsis)
{
    struct as_hash_map seen = {0};
    struct as_arena arena = {0};
    bool distinct = true;

    for (size_t i = 0; i < n && distinct; i++) {
        const char *text = as_name_fit(&arena, names[i], width, ellipsis);
        int rc = text ? as_hash_map_put(&seen, text, strlen(text), i) : -1;

        if (rc == 0)
            rc = strcmp(names[*as_hash_map_find(&seen, text, strlen(text))], names[i]) == 0 ? 1 : 0;
        distinct = rc > 0;
    }
    as_hash_map_fini(&seen);
    as_arena_fini(&arena);
    return distinct;
}

size_t as_name_least_width(const char *const *names, size_t n, size_t floor, size_t natural,
                           const char *ellipsis)
{
    size_t low = floor, high = natural; /* distinct at `high` */

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (distinct_at(names, n, middle, ellipsis))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

size_t as_name_common_prefix(const char *const *names, size_t n)
{
    size_t same = n < 2 ? 0 : strlen(names[0]);

    for (size_t i = 1; i < n; i++) {
        size_t at = 0;

        while (at < same && names[i][at] == names[0][at])
            at++;
        if (names[i][at] == '\0' && at > 0)
            at--; /* something must be left of it */
        same = at;
    }
    if (n >= 2 && names[0][same] == '\0' && same > 0)
        same--;
    while (same > 0 && !is_separator(names[0][same - 1]))
        same--;
    return same;
}

const char *as_name_last(const char *name)
{
    const char *last = strrchr(name, ';');

    return last && last[1] ? last + 1 : name;
}

int as_names_brief(const char *const *names, size_t n, const char **brief)
{
    struct as_hash_map seen = {0};
    int rc = 1;

    for (size_t i = 0; i < n && rc >= 0; i++) {
        const char *text = as_name_last(names[i]);
        uint64_t *first;

        brief[i] = text;
        rc = as_hash_map_put(&seen, text, strlen(text), i);
        first = rc == 0 ? as_hash_map_find(&seen, text, strlen(text)) : NULL;
        if (first && strcmp(names[*first], names[i]) != 0) {
            brief[i] = names[i];
            brief[*first] = names[*first];
        }
    }
    as_hash_map_fini(&seen);
    return rc < 0 ? ASSAY_ERR_NOMEM : ASSAY_OK;
}
