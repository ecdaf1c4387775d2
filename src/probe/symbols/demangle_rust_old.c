/* probe/symbols/demangle_rust_old.c - names of Rust functions in the older form: parts with their
 * lengths, the last of which is a hash, with signs written as $LT$ or $u7b$. */
#include <stdint.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/units.h"
#include "probe/symbols/demangle_rust.h"

#define HASH_DIGITS 16u

struct text {
    char *out;
    size_t used, capacity;
};

static void put(struct text *t, const char *bytes, size_t size)
{
    size_t left = t->capacity - 1 - t->used;

    if (size > left)
        size = left;
    memcpy(t->out + t->used, bytes, size);
    t->used += size;
}

/* The next part; false where there is none. */
static bool take_part(const char **at, const char **part, size_t *size)
{
    const char *p = *at;
    size_t n = 0;

    if (*p < '1' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        n = 10 * n + (size_t)(*p - '0');
        if (n > UINT16_MAX)
            return false;
    }
    if (strnlen(p, n) < n)
        return false;
    *part = p;
    *size = n;
    *at = p + n;
    return true;
}

static bool is_hash(const char *part, size_t size)
{
    if (size != HASH_DIGITS + 1 || part[0] != 'h')
        return false;
    for (size_t i = 1; i < size; i++)
        if (!((part[i] >= '0' && part[i] <= '9') || (part[i] >= 'a' && part[i] <= 'f')))
            return false;
    return true;
}

/* "$u20$"; how many bytes it takes, 0: it is none. */
static size_t put_code(struct text *t, const char *at, size_t size)
{
    uint32_t code = 0;
    char bytes[4];
    size_t i = 2;

    for (; i < size && i < 8 && at[i] != '$'; i++) {
        char c = at[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return 0;
        code = code << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (i == 2 || i >= size || at[i] != '$' || code < ' ' || code == 127 || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
        return 0;
    put(t, bytes, as_utf8_encode(bytes, code));
    return i + 1;
}

static size_t put_sign(struct text *t, const char *at, size_t size)
{
    static const struct {
        const char *code, *sign;
    } signs[] = {{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"},
                 {"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","}};

    for (size_t i = 0; i < AS_COUNT_OF(signs); i++) {
        size_t n = strlen(signs[i].code);

        if (size >= n && memcmp(at, signs[i].code, n) == 0) {
            put(t, signs[i].sign, 1);
            return n;
        }
    }
    return size > 2 && at[1] == 'u' ? put_code(t, at, size) : 0;
}

static void put_part(struct text *t, const char *part, size_t size)
{
    size_t n;

    if (size > 1 && part[0] == '_' && part[1] == '$') { /* a name cannot begin with a dollar */
        part++;
        size--;
    }
    for (; size > 0; part += n, size -= n) {
        n = *part == '$' ? put_sign(t, part, size) : 0;
        if (n > 0)
            continue;
        n = 1;
        if (size > 1 && part[0] == '.' && part[1] == '.') {
            put(t, "::", 2);
            n = 2;
        } else {
            put(t, part, 1);
        }
    }
}

bool as_demangle_rust_old(const char *name, char *out, size_t capacity)
{
    struct text t = {.out = out, .capacity = capacity};
    const char *at, *part, *last = NULL;
    size_t size, last_size = 0, n = 0;

    if (strncmp(name, "_ZN", 3) != 0 || capacity < 2)
        return false;
    for (at = name + 3; take_part(&at, &part, &size); n++) {
        last = part;
        last_size = size;
    }
    if (n < 2 || *at != 'E' || (at[1] && at[1] != '.') || !is_hash(last, last_size))
        return false;
    at = name + 3;
    for (size_t i = 0; i + 1 < n && take_part(&at, &part, &size); i++) {
        put(&t, "::", i ? 2 : 0);
        put_part(&t, part, size);
    }
    out[t.used] = '\0';
    return true;
}
