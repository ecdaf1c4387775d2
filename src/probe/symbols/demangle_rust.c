/* probe/symbols/demangle_rust.c - names of Rust functions in the form "v0":
 *
 *   _R path [path of the crate that made it] [. or $ and anything]
 *   path    C ident | M impl type | X impl type path | Y type path | N kind path ident
 *           | I path arguments E | B base62: what stands there
 *   ident   [s base62] [u] decimal [_] bytes
 *   type    a letter | path | A type const | S type | T types E | R, Q [L base62] type | P, O type
 *           | F [G base62] [U] [K abi] types E type | D [G base62] bounds E L base62
 *
 * A base62 ends with _; "_" is 0, "0_" is 1. */
#include "probe/symbols/demangle_rust.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/units.h"

#define MAX_DEPTH 200u
#define MAX_STEPS 20000u

struct reader {
    const char *text;
    size_t at, size;
    char *out;
    size_t used, capacity;
    unsigned depth, steps;
    uint64_t lifetimes; /* bound around here */
    bool silent, wrong;
};

struct ident {
    const char *bytes;
    size_t size;
    uint64_t number; /* that tells those of one name apart */
    bool punycode;
};

static void read_path(struct reader *r, bool is_value);
static void read_type(struct reader *r);
static void read_const(struct reader *r);

/* ---- output ---- */

static void put_n(struct reader *r, const char *text, size_t size)
{
    size_t left = r->capacity - 1 - r->used;

    if (r->silent || r->wrong)
        return;
    if (size > left)
        size = left;
    memcpy(r->out + r->used, text, size);
    r->used += size;
}

static void put(struct reader *r, const char *text)
{
    put_n(r, text, strlen(text));
}

static void put_number(struct reader *r, uint64_t value)
{
    char text[24];

    put_n(r, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)value));
}

/* ---- letters ---- */

static char peek(const struct reader *r)
{
    return (char)(r->at < r->size ? r->text[r->at] : '\0');
}

static bool take(struct reader *r, char c)
{
    if (r->wrong || r->at >= r->size || r->text[r->at] != c)
        return false;
    r->at++;
    return true;
}

static char next(struct reader *r)
{
    if (r->at >= r->size) {
        r->wrong = true;
        return '\0';
    }
    return r->text[r->at++];
}

/* Every step down costs one of a number that no name that people wrote comes near to. Nothing is
 * left to do when the output is full. */
static bool enter(struct reader *r)
{
    if (r->wrong || r->used + 1 >= r->capacity)
        return false;
    if (++r->depth > MAX_DEPTH || ++r->steps > MAX_STEPS)
        r->wrong = true;
    return !r->wrong;
}

static void leave(struct reader *r)
{
    r->depth--;
}

static bool full(const struct reader *r)
{
    return r->wrong || r->used + 1 >= r->capacity;
}

static uint64_t take_decimal(struct reader *r)
{
    uint64_t value = 0;

    if (peek(r) < '0' || peek(r) > '9')
        r->wrong = true;
    if (take(r, '0'))
        return 0;
    while (!r->wrong && peek(r) >= '0' && peek(r) <= '9') {
        value = 10 * value + (uint64_t)(next(r) - '0');
        if (value > UINT32_MAX)
            r->wrong = true;
    }
    return value;
}

static uint64_t take_base62(struct reader *r)
{
    uint64_t value = 0;

    if (take(r, '_'))
        return 0;
    while (!r->wrong && !take(r, '_')) {
        char c = next(r);
        uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
                         : c >= 'a' && c <= 'z' ? (uint64_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'Z' ? (uint64_t)(c - 'A') + 36
                                                : 62;

        if (digit == 62 || __builtin_mul_overflow(value, 62, &value) ||
            __builtin_add_overflow(value, digit, &value))
            r->wrong = true;
    }
    if (__builtin_add_overflow(value, 1, &value))
        r->wrong = true;
    return r->wrong ? 0 : value;
}

/* 0 where the letter before it is not there. */
static uint64_t take_optional(struct reader *r, char letter)
{
    uint64_t value;

    if (!take(r, letter))
        return 0;
    value = take_base62(r);
    if (__builtin_add_overflow(value, 1, &value))
        r->wrong = true;
    return value;
}

/* ---- names ---- */

static struct ident take_plain_ident(struct reader *r)
{
    struct ident i = {.punycode = take(r, 'u')};

    i.size = take_decimal(r);
    (void)take(r, '_');
    if (r->wrong || i.size > r->size - r->at) {
        r->wrong = true;
        return (struct ident){0};
    }
    i.bytes = r->text + r->at;
    r->at += i.size;
    return i;
}

static struct ident take_ident(struct reader *r)
{
    uint64_t number = take_optional(r, 's');
    struct ident i = take_plain_ident(r);

    i.number = number;
    return i;
}

static void put_ident(struct reader *r, const struct ident *i)
{
    uint32_t letter[AS_PUNYCODE_MAX];
    size_t n;

    if (!i->punycode) {
        put_n(r, i->bytes, i->size);
        return;
    }
    n = i->size ? as_punycode_decode(i->bytes, i->size, letter) : 0;
    if (n == 0) { /* as it is, and told to be so */
        put(r, "punycode{");
        put_n(r, i->bytes, i->size);
        put(r, "}");
    }
    for (size_t k = 0; k < n; k++) {
        char bytes[4];

        if ((letter[k] >= 0xd800 && letter[k] < 0xe000) || letter[k] == 0)
            letter[k] = 0xfffd;
        put_n(r, bytes, as_utf8_encode(bytes, letter[k]));
    }
}

/* What stands at an earlier place, read once more. */
static void read_back(struct reader *r, void (*read)(struct reader *r))
{
    size_t from = r->at - 1, to = take_base62(r), after = r->at;

    if (r->wrong || to >= from) {
        r->wrong = true;
        return;
    }
    r->at = to;
    read(r);
    r->at = after;
}

static void read_path_of_type(struct reader *r)
{
    read_path(r, false);
}

static void read_path_of_value(struct reader *r)
{
    read_path(r, true);
}

static void put_lifetime(struct reader *r, uint64_t index)
{
    char letter[] = "'a";
    uint64_t depth;

    if (index == 0) {
        put(r, "'_");
        return;
    }
    if (index > r->lifetimes) {
        r->wrong = true;
        return;
    }
    depth = r->lifetimes - index;
    if (depth < 26) {
        letter[1] = (char)('a' + depth);
        put(r, letter);
    } else {
        put(r, "'_");
        put_number(r, depth);
    }
}

/* "for<'a, 'b> "; returns how many are bound, for the caller to undo. */
static uint64_t read_binder(struct reader *r)
{
    uint64_t n = take_optional(r, 'G');

    if (n > MAX_DEPTH) {
        r->wrong = true;
        return 0;
    }
    if (n > 0)
        put(r, "for<");
    for (uint64_t i = 0; i < n; i++) {
        r->lifetimes++;
        put(r, i ? ", " : "");
        put_lifetime(r, 1);
    }
    if (n > 0)
        put(r, "> ");
    return n;
}

/* ---- paths ---- */

static void read_argument(struct reader *r)
{
    if (take(r, 'L'))
        put_lifetime(r, take_base62(r));
    else if (take(r, 'K'))
        read_const(r);
    else
        read_type(r);
}

/* Up to an E, with commas between. Returns how many. */
static size_t read_many(struct reader *r, void (*read)(struct reader *r))
{
    size_t n = 0;

    for (; !full(r) && !take(r, 'E'); n++) {
        put(r, n ? ", " : "");
        read(r);
    }
    return n;
}

static void read_nested(struct reader *r, bool is_value)
{
    char kind = next(r);
    struct ident i;

    if (!((kind >= 'a' && kind <= 'z') || (kind >= 'A' && kind <= 'Z')))
        r->wrong = true;
    read_path(r, is_value);
    i = take_ident(r);
    if (kind >= 'a') { /* one of the compiler's own kinds is not shown */
        put(r, i.size ? "::" : "");
        put_ident(r, &i);
        return;
    }
    put(r, "::{");
    if (kind == 'C')
        put(r, "closure");
    else if (kind == 'S')
        put(r, "shim");
    else
        put_n(r, &kind, 1);
    put(r, i.size ? ":" : "");
    put_ident(r, &i);
    put(r, "#");
    put_number(r, i.number);
    put(r, "}");
}

/* Where an implementation stands is read and not shown: it is known by its type. */
static void skip_impl(struct reader *r)
{
    bool before = r->silent;

    r->silent = true;
    (void)take_optional(r, 's');
    read_path(r, false);
    r->silent = before;
}

static void read_as(struct reader *r)
{
    put(r, "<");
    read_type(r);
    put(r, " as ");
    read_path(r, false);
    put(r, ">");
}

static void read_path(struct reader *r, bool is_value)
{
    struct ident i;

    if (!enter(r))
        return;
    switch (next(r)) {
    case 'C':
        i = take_ident(r);
        put_ident(r, &i);
        break;
    case 'N':
        read_nested(r, is_value);
        break;
    case 'M':
        skip_impl(r);
        put(r, "<");
        read_type(r);
        put(r, ">");
        break;
    case 'X':
        skip_impl(r);
        read_as(r);
        break;
    case 'Y':
        read_as(r);
        break;
    case 'I':
        read_path(r, is_value);
        put(r, is_value ? "::<" : "<");
        (void)read_many(r, read_argument);
        put(r, ">");
        break;
    case 'B':
        read_back(r, is_value ? read_path_of_value : read_path_of_type);
        break;
    default:
        r->wrong = true;
    }
    leave(r);
}

/* ---- types ---- */

static const char *basic_type(char letter)
{
    static const char *const name[] = {
        ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
        ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
        ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
        ['o' - 'a'] = "u128",  ['p' - 'a'] = "_",    ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",
        ['u' - 'a'] = "()",    ['v' - 'a'] = "...",  ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",
        ['z' - 'a'] = "!",
    };

    return letter >= 'a' && letter <= 'z' ? name[letter - 'a'] : NULL;
}

static void read_reference(struct reader *r, const char *how)
{
    put(r, "&");
    if (take(r, 'L')) {
        uint64_t index = take_base62(r);

        if (index) {
            put_lifetime(r, index);
            put(r, " ");
        }
    }
    put(r, how);
    read_type(r);
}

static void read_abi(struct reader *r)
{
    struct ident i;

    put(r, "extern \"");
    if (take(r, 'C')) {
        put(r, "C");
    } else {
        i = take_plain_ident(r);
        for (size_t k = 0; k < i.size; k++) /* its dashes were underscores in the name */
            put_n(r, i.bytes[k] == '_' ? "-" : &i.bytes[k], 1);
    }
    put(r, "\" ");
}

static void read_function(struct reader *r)
{
    uint64_t bound = read_binder(r);

    put(r, take(r, 'U') ? "unsafe " : "");
    if (take(r, 'K'))
        read_abi(r);
    put(r, "fn(");
    (void)read_many(r, read_type);
    put(r, ")");
    if (!take(r, 'u')) {
        put(r, " -> ");
        read_type(r);
    }
    r->lifetimes -= bound;
}

/* A path whose list of arguments may go on with "Item = type". Returns whether one is open. */
static bool read_open_path(struct reader *r)
{
    bool open = false;

    if (!enter(r))
        return false;
    if (take(r, 'B')) {
        size_t from = r->at - 1, to = take_base62(r), after = r->at;

        if (r->wrong || to >= from)
            r->wrong = true;
        r->at = r->wrong ? r->at : to;
        open = read_open_path(r);
        r->at = after;
    } else if (take(r, 'I')) {
        read_path(r, false);
        put(r, "<");
        (void)read_many(r, read_argument);
        open = true;
    } else {
        read_path(r, false);
    }
    leave(r);
    return open;
}

static void read_bound(struct reader *r)
{
    bool open = read_open_path(r);

    while (!full(r) && take(r, 'p')) {
        struct ident i = take_plain_ident(r);

        put(r, open ? ", " : "<");
        open = true;
        put_ident(r, &i);
        put(r, " = ");
        read_type(r);
    }
    put(r, open ? ">" : "");
}

static void read_dyn(struct reader *r)
{
    uint64_t bound, index;

    put(r, "dyn ");
    bound = read_binder(r);
    for (size_t n = 0; !full(r) && !take(r, 'E'); n++) {
        put(r, n ? " + " : "");
        read_bound(r);
    }
    r->lifetimes -= bound;
    if (full(r))
        return;
    if (!take(r, 'L'))
        r->wrong = true;
    index = take_base62(r);
    if (index) {
        put(r, " + ");
        put_lifetime(r, index);
    }
}

static void read_array(struct reader *r, bool sized)
{
    put(r, "[");
    read_type(r);
    if (sized) {
        put(r, "; ");
        read_const(r);
    }
    put(r, "]");
}

static void read_type_of(struct reader *r, char kind)
{
    switch (kind) {
    case 'R':
        read_reference(r, "");
        break;
    case 'Q':
        read_reference(r, "mut ");
        break;
    case 'P':
    case 'O':
        put(r, kind == 'P' ? "*const " : "*mut ");
        read_type(r);
        break;
    case 'A':
    case 'S':
        read_array(r, kind == 'A');
        break;
    case 'T':
        put(r, "(");
        put(r, read_many(r, read_type) == 1 ? ",)" : ")");
        break;
    case 'F':
        read_function(r);
        break;
    case 'D':
        read_dyn(r);
        break;
    case 'B':
        read_back(r, read_type);
        break;
    default:
        r->at--;
        read_path(r, false);
    }
}

static void read_type(struct reader *r)
{
    const char *basic;

    if (!enter(r))
        return;
    basic = basic_type(peek(r));
    if (basic) {
        r->at++;
        put(r, basic);
    } else {
        read_type_of(r, next(r));
    }
    leave(r);
}

/* ---- constants ---- */

static void put_char(struct reader *r, uint64_t code)
{
    char bytes[4], text[24];

    put(r, "'");
    if (code == '\'' || code == '\\' || code < ' ' || code == 127 || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
        put_n(r, text,
              (size_t)snprintf(text, sizeof text, code == '\'' || code == '\\' ? "\\%c" : "\\u{%x}",
                               (unsigned)code));
    else
        put_n(r, bytes, as_utf8_encode(bytes, (uint32_t)code));
    put(r, "'");
}

static void put_value(struct reader *r, char type, uint64_t value)
{
    if (type == 'b' && value <= 1)
        put(r, value ? "true" : "false");
    else if (type == 'c')
        put_char(r, value);
    else
        put_number(r, value);
}

/* Hexadecimal, up to an underscore. What has more than 64 bits is shown so too. */
static void read_number(struct reader *r, char type)
{
    size_t from, size = 0;
    uint64_t value = 0;

    put(r, take(r, 'n') ? "-" : "");
    while (peek(r) == '0' && r->at + 1 < r->size && r->text[r->at + 1] != '_')
        r->at++;
    from = r->at;
    while (!r->wrong && !take(r, '_')) {
        char c = next(r);

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            r->wrong = true;
        value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
        size++;
    }
    if (r->wrong)
        return;
    if (size <= 16) {
        put_value(r, type, value);
        return;
    }
    put(r, "0x");
    put_n(r, r->text + from, size);
}

static void read_const(struct reader *r)
{
    char type;

    if (!enter(r))
        return;
    type = next(r);
    if (type == 'p')
        put(r, "_");
    else if (type == 'B')
        read_back(r, read_const);
    else if (type && strchr("ahstmlyxoijnbc", type))
        read_number(r, type);
    else
        r->wrong = true;
    leave(r);
}

/* ---- all ---- */

/* Suffixes of the compiler's own stand behind a dot or a dollar. */
static size_t length_of(const char *text)
{
    return strcspn(text, ".$");
}

bool as_demangle_rust(const char *name, char *out, size_t capacity)
{
    struct reader r = {.out = out, .capacity = capacity};
    size_t shown;

    if (strncmp(name, "_R", 2) != 0)
        return as_demangle_rust_old(name, out, capacity);
    if (capacity < 2)
        return false;
    r.text = name + 2;
    r.size = length_of(r.text);
    for (size_t i = 0; i < r.size; i++)
        if ((unsigned char)r.text[i] >= 0x80)
            return false;
    if (peek(&r) >= '0' && peek(&r) <= '9') /* of a later form */
        return false;
    read_path(&r, true);
    shown = r.used;
    if (!full(&r) && r.at < r.size) {
        r.silent = true;
        read_path(&r, false);
        r.wrong |= r.at < r.size;
    }
    out[shown] = '\0';
    return !r.wrong && shown > 0;
}
