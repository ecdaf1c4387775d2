/* base/json/json_parser.c - JSON pulled token by token out of a memory range, strictly RFC 8259. */
#include "base/json/json_parser.h"

#include "base/text/text.h"
#include "base/text/utf8.h"
#include "base/units.h"

/* What may come next. */
enum expect {
    EXPECT_VALUE,
    EXPECT_FIRST_ELEMENT, /* or the end of the array */
    EXPECT_FIRST_KEY,     /* or the end of the object */
    EXPECT_COLON,         /* and then a value */
    EXPECT_MORE,          /* a comma or an end; nothing at depth 0 */
};

void as_json_parser_init(struct as_json_parser *p, const void *data, size_t size)
{
    *p = (struct as_json_parser){
        .in = as_cursor_over(data, size),
        .start = data,
        .max_depth = AS_JSON_MAX_DEPTH,
        .expect = EXPECT_VALUE,
    };
}

void as_json_parser_fini(struct as_json_parser *p)
{
    as_buffer_fini(&p->decode);
    p->text = NULL;
    p->text_size = 0;
}

const char *as_json_kind_name(int kind)
{
    static const char *const name[] = {
        [AS_JSON_END] = "the end of the text",
        [AS_JSON_OBJECT] = "an object",
        [AS_JSON_OBJECT_END] = "the end of an object",
        [AS_JSON_ARRAY] = "an array",
        [AS_JSON_ARRAY_END] = "the end of an array",
        [AS_JSON_KEY] = "a key",
        [AS_JSON_STRING] = "a string",
        [AS_JSON_NUMBER] = "a number",
        [AS_JSON_TRUE] = "true",
        [AS_JSON_FALSE] = "false",
        [AS_JSON_NULL] = "null",
    };
    _Static_assert(AS_COUNT_OF(name) == AS_JSON_KIND_COUNT, "name every kind");

    return kind >= 0 && kind < AS_JSON_KIND_COUNT ? name[kind] : "an error";
}

static uint64_t offset_of(const struct as_json_parser *p)
{
    return (uint64_t)(p->in.at - p->start);
}

/* Blames the byte the cursor stands at. */
static int wrong(struct as_json_parser *p, const char *what)
{
    return as_fail_at(&p->fault, offset_of(p), "JSON: %s", what);
}

static int too_much(struct as_json_parser *p, const char *what, size_t limit)
{
    int rc = as_fail(&p->fault, ASSAY_ERR_LIMIT, "JSON: %s than %zu (byte %llu)", what, limit,
                     (unsigned long long)p->token_at);

    p->fault.offset = p->token_at;
    return rc;
}

/* The next byte, or -1 at the end. */
static inline int peek(const struct as_json_parser *p)
{
    return p->in.at < p->in.end ? *p->in.at : -1;
}

static inline void skip_space(struct as_json_parser *p)
{
    while (p->in.at < p->in.end &&
           (*p->in.at == ' ' || *p->in.at == '\n' || *p->in.at == '\t' || *p->in.at == '\r'))
        p->in.at++;
}

static bool in_object(const struct as_json_parser *p)
{
    return p->depth > 0 && (p->objects >> (p->depth - 1) & 1);
}

static int take_hex4(struct as_json_parser *p, uint32_t *out)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++) {
        uint8_t c = 0;
        unsigned digit;

        if (!as_take_u8(&p->in, &c))
            return wrong(p, "an escape is cut off");
        digit = c - (unsigned)'0';
        if (digit > 9) {
            digit = (c | 0x20u) - (unsigned)'a';
            digit = digit < 6 ? digit + 10 : 16;
        }
        if (digit > 15) {
            p->in.at--;
            return wrong(p, "\\u needs four hexadecimal digits");
        }
        value = value << 4 | digit;
    }
    *out = value;
    return ASSAY_OK;
}

/* What follows \u: one code point, perhaps from two surrogates. */
static int take_unicode_escape(struct as_json_parser *p, uint32_t *code)
{
    uint32_t low = 0;
    const uint8_t *pair;
    int rc = take_hex4(p, code);

    if (rc < 0 || *code < 0xd800 || *code > 0xdfff)
        return rc;
    if (*code < 0xdc00 && as_cursor_left(&p->in) >= 2 && p->in.at[0] == '\\' &&
        p->in.at[1] == 'u') {
        (void)as_take_bytes(&p->in, 2, &pair);
        rc = take_hex4(p, &low);
        if (rc < 0)
            return rc;
    }
    if (low < 0xdc00 || low > 0xdfff)
        return wrong(p, "half of a surrogate pair stands alone");
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return ASSAY_OK;
}

static int add_decoded(struct as_json_parser *p, const void *bytes, size_t size)
{
    const struct as_buffer *b = &p->decode;

    if (as_buffer_add(&p->decode, bytes, size))
        return ASSAY_OK;
    if (b->max_bytes && size > b->max_bytes - b->size)
        return too_much(p, "a string has more bytes", b->max_bytes);
    return as_fail_nomem(&p->fault);
}

/* One escape, the cursor being at its backslash, into the decoded text. */
static int take_escape(struct as_json_parser *p)
{
    static const char plain[128] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    char bytes[4];
    uint32_t code = 0;
    uint8_t c = 0;
    int rc;

    p->in.at++;
    if (!as_take_u8(&p->in, &c))
        return wrong(p, "an escape is cut off");
    if (c < 128 && plain[c])
        return add_decoded(p, &plain[c], 1);
    if (c != 'u') {
        p->in.at--;
        return wrong(p, "this escape is not known");
    }
    rc = take_unicode_escape(p, &code);
    return rc < 0 ? rc : add_decoded(p, bytes, as_utf8_encode(bytes, code));
}

static inline bool is_plain(uint8_t c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* A high bit in the first byte that is_plain() refuses, and perhaps in later ones. */
static inline uint64_t not_plain(uint64_t v)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t quote = v ^ ones * '"', backslash = v ^ ones * '\\';

    return (v | (v - ones * 0x20) | (quote - ones) | (backslash - ones)) & (ones * 0x80);
}

/* Moves over valid text up to a quote or backslash. */
static int pass_text(struct as_json_parser *p)
{
    for (;;) {
        uint64_t eight;
        uint32_t code;
        size_t n;

        while (as_cursor_left(&p->in) >= 8) {
            memcpy(&eight, p->in.at, 8);
            if (not_plain(eight))
                break;
            p->in.at += 8;
        }
        while (p->in.at < p->in.end && is_plain(*p->in.at))
            p->in.at++;
        if (p->in.at == p->in.end)
            return wrong(p, "a string without an end");
        if (*p->in.at == '"' || *p->in.at == '\\')
            return ASSAY_OK;
        if (*p->in.at < 0x20)
            return wrong(p, "a control character inside a string");
        n = as_utf8_decode((const char *)p->in.at, as_cursor_left(&p->in), &code);
        if (n == 0)
            return wrong(p, "a string is not valid UTF-8");
        p->in.at += n;
    }
}

/* A string, the cursor being at its first quote. Without escapes it is borrowed from the input. */
static int take_string(struct as_json_parser *p, int kind)
{
    const uint8_t *from;
    bool decoded = false;

    p->in.at++;
    from = p->in.at;
    p->decode.size = 0;
    for (;;) {
        int rc = pass_text(p);
        size_t n = (size_t)(p->in.at - from);

        if (rc < 0)
            return rc;
        if (*p->in.at == '"' && !decoded) {
            p->text = (const char *)from;
            p->text_size = n;
            break;
        }
        rc = add_decoded(p, from, n);
        if (rc < 0)
            return rc;
        if (*p->in.at == '"') {
            p->text = (const char *)p->decode.data;
            p->text_size = p->decode.size;
            break;
        }
        decoded = true;
        rc = take_escape(p);
        if (rc < 0)
            return rc;
        from = p->in.at;
    }
    p->in.at++;
    return kind;
}

/* True when at least one digit was there. */
static bool pass_digits(struct as_json_parser *p)
{
    const uint8_t *from = p->in.at;

    while (p->in.at < p->in.end && *p->in.at >= '0' && *p->in.at <= '9')
        p->in.at++;
    return p->in.at > from;
}

static int take_number(struct as_json_parser *p)
{
    const uint8_t *from = p->in.at;
    bool zero;

    if (peek(p) == '-')
        p->in.at++;
    zero = peek(p) == '0';
    if (zero)
        p->in.at++;
    else if (!pass_digits(p))
        return wrong(p, "a digit must follow the minus sign");
    if (zero && peek(p) >= '0' && peek(p) <= '9')
        return wrong(p, "a number begins with a needless zero");
    if (peek(p) == '.') {
        p->in.at++;
        if (!pass_digits(p))
            return wrong(p, "a digit must follow the decimal point");
    }
    if (peek(p) == 'e' || peek(p) == 'E') {
        p->in.at++;
        if (peek(p) == '+' || peek(p) == '-')
            p->in.at++;
        if (!pass_digits(p))
            return wrong(p, "a digit must follow the exponent");
    }
    p->text = (const char *)from;
    p->text_size = (size_t)(p->in.at - from);
    if (p->text_size > AS_JSON_NUMBER_BYTES)
        return too_much(p, "a number has more characters", AS_JSON_NUMBER_BYTES);
    return AS_JSON_NUMBER;
}

static int take_word(struct as_json_parser *p)
{
    static const struct {
        const char *word;
        size_t size;
        int kind;
    } words[] = {{"true", 4, AS_JSON_TRUE}, {"false", 5, AS_JSON_FALSE}, {"null", 4, AS_JSON_NULL}};

    for (size_t i = 0; i < AS_COUNT_OF(words); i++) {
        if (as_cursor_left(&p->in) >= words[i].size &&
            memcmp(p->in.at, words[i].word, words[i].size) == 0) {
            p->in.at += words[i].size;
            return words[i].kind;
        }
    }
    return wrong(p, "a value is expected here");
}

static int open_container(struct as_json_parser *p, uint64_t is_object)
{
    unsigned most = p->max_depth < AS_JSON_MAX_DEPTH ? p->max_depth : AS_JSON_MAX_DEPTH;

    if (p->depth >= most)
        return too_much(p, "more levels", most);
    p->in.at++;
    p->objects = (p->objects & ~(UINT64_C(1) << p->depth)) | is_object << p->depth;
    p->depth++;
    p->expect = is_object ? EXPECT_FIRST_KEY : EXPECT_FIRST_ELEMENT;
    return is_object ? AS_JSON_OBJECT : AS_JSON_ARRAY;
}

static int close_container(struct as_json_parser *p)
{
    int kind = in_object(p) ? AS_JSON_OBJECT_END : AS_JSON_ARRAY_END;

    p->in.at++;
    p->depth--;
    p->expect = EXPECT_MORE;
    return kind;
}

static int take_value(struct as_json_parser *p)
{
    int c = peek(p);

    p->token_at = offset_of(p);
    p->expect = EXPECT_MORE;
    if (c < 0)
        return wrong(p,
                     p->token_at ? "the text ends where a value is expected" : "the text is empty");
    if (c == '{' || c == '[')
        return open_container(p, c == '{');
    if (c == '"')
        return take_string(p, AS_JSON_STRING);
    if (c == '-' || (c >= '0' && c <= '9'))
        return take_number(p);
    return take_word(p);
}

static int take_key(struct as_json_parser *p)
{
    p->token_at = offset_of(p);
    p->expect = EXPECT_COLON;
    if (peek(p) != '"')
        return wrong(p, "a key in quotes is expected here");
    return take_string(p, AS_JSON_KEY);
}

/* After a value: a comma and what follows it, an end, or the end of the text. */
static int take_more(struct as_json_parser *p)
{
    bool object = in_object(p);
    int c = peek(p);

    if (p->depth == 0)
        return c < 0 ? AS_JSON_END : wrong(p, "something follows the end of the value");
    if (c == (object ? '}' : ']'))
        return close_container(p);
    if (c != ',')
        return wrong(p, object ? "a comma or the end of the object is expected here"
                               : "a comma or the end of the array is expected here");
    p->in.at++;
    skip_space(p);
    return object ? take_key(p) : take_value(p);
}

static int take_token(struct as_json_parser *p)
{
    skip_space(p);
    p->token_at = offset_of(p);
    switch ((enum expect)p->expect) {
    case EXPECT_FIRST_ELEMENT:
        return peek(p) == ']' ? close_container(p) : take_value(p);
    case EXPECT_FIRST_KEY:
        return peek(p) == '}' ? close_container(p) : take_key(p);
    case EXPECT_COLON:
        if (peek(p) != ':')
            return wrong(p, "a colon is expected after the key");
        p->in.at++;
        skip_space(p);
        return take_value(p);
    case EXPECT_MORE:
        return take_more(p);
    case EXPECT_VALUE:
        break;
    }
    return take_value(p);
}

int as_json_next(struct as_json_parser *p, struct assay_error *err)
{
    p->text = "";
    p->text_size = 0;
    if (p->fault.code == ASSAY_OK)
        p->kind = take_token(p);
    if (p->kind < 0 && err)
        *err = p->fault;
    return p->kind;
}

int as_json_skip(struct as_json_parser *p, struct assay_error *err)
{
    unsigned outside;

    if (p->kind == AS_JSON_KEY) {
        int kind = as_json_next(p, err);

        if (kind < 0)
            return kind;
    }
    if (p->kind != AS_JSON_OBJECT && p->kind != AS_JSON_ARRAY)
        return p->kind < 0 ? p->kind : ASSAY_OK;
    outside = p->depth - 1;
    while (p->depth > outside) {
        int kind = as_json_next(p, err);

        if (kind < 0)
            return kind;
    }
    return ASSAY_OK;
}

int as_json_expect(struct as_json_parser *p, enum as_json_kind kind, const char *what,
                   struct assay_error *err)
{
    int found = as_json_next(p, err);

    if (found < 0)
        return found;
    if (found != (int)kind)
        return as_fail_at(err, p->token_at, "JSON: %s must be %s, but here is %s", what,
                          as_json_kind_name((int)kind), as_json_kind_name(found));
    return ASSAY_OK;
}

static int not_a(const struct as_json_parser *p, const char *wanted, struct assay_error *err)
{
    if (p->kind != AS_JSON_NUMBER)
        return as_fail_at(err, p->token_at, "JSON: a number is expected, but here is %s",
                          as_json_kind_name(p->kind));
    return as_fail_at(err, p->token_at, "JSON: %.*s is not %s", (int)p->text_size, p->text, wanted);
}

int as_json_get_u64(const struct as_json_parser *p, uint64_t *out, struct assay_error *err)
{
    if (p->kind != AS_JSON_NUMBER || !as_parse_u64(p->text, p->text_size, out))
        return not_a(p, "a whole number from 0 to 18446744073709551615", err);
    return ASSAY_OK;
}

int as_json_get_i64(const struct as_json_parser *p, int64_t *out, struct assay_error *err)
{
    if (p->kind != AS_JSON_NUMBER || !as_parse_i64(p->text, p->text_size, out))
        return not_a(p, "a whole number of 64 bits", err);
    return ASSAY_OK;
}

int as_json_get_f64(const struct as_json_parser *p, double *out, struct assay_error *err)
{
    if (p->kind != AS_JSON_NUMBER || !as_parse_f64(p->text, p->text_size, out))
        return not_a(p, "a number a double can hold", err);
    return ASSAY_OK;
}
