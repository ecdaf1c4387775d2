/* engine/kernels/math/kern_math_cast.c - Cast and CastLike, also from and to text.
 * Text is what NumPy prints: the fewest digits that read back as the same number. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "engine/kernels/math/kern_math.h"
#include "engine/kernels/math/kern_typed.h"

struct casting {
    const struct as_val *in;
    struct as_val *out;
    bool saturate;
};

static void cast_some(void *arg, uint64_t from, uint64_t to)
{
    const struct casting *c = arg;

    as_cast_piece(c->in, c->out, c->saturate, from, to);
}

/* ---- from text ---- */

static bool read_word(const struct as_text *text, const char *word)
{
    return text->size == strlen(word) && strncasecmp(text->at, word, text->size) == 0;
}

static bool read_number(const struct as_text *given, double *out)
{
    struct as_text text = *given;
    bool minus = false;

    while (text.size > 0 && isspace((unsigned char)text.at[0]))
        text.at++, text.size--;
    while (text.size > 0 && isspace((unsigned char)text.at[text.size - 1]))
        text.size--;
    if (text.size > 0 && (text.at[0] == '-' || text.at[0] == '+')) {
        minus = text.at[0] == '-';
        text.at++, text.size--;
    }
    if (read_word(&text, "inf") || read_word(&text, "infinity"))
        *out = (double)INFINITY;
    else if (read_word(&text, "nan"))
        *out = AS_UNKNOWN;
    else if (text.size == 0 || text.at[0] == '-' || !as_parse_f64(text.at, text.size, out))
        return false;
    *out = minus ? -*out : *out;
    return true;
}

static int from_text(struct as_kernel_ctx *k, const struct as_val *in, struct as_val *out)
{
    const struct as_text *texts = in->data;

    for (uint64_t i = 0; i < in->n; i++) {
        int64_t whole;
        double x;

        if (as_dtype_is_integer(out->dtype) && as_parse_i64(texts[i].at, texts[i].size, &whole)) {
            as_val_put_i64(out, i, whole);
            continue;
        }
        if (!read_number(&texts[i], &x))
            return as_kernel_fail(k, "'%.*s' is not a number",
                                  (int)(texts[i].size < 40 ? texts[i].size : 40), texts[i].at);
        as_val_put_f64(out, i, x);
    }
    return ASSAY_OK;
}

/* ---- to text ---- */

/* The digits of `x` without point, `exponent` that of the first: the fewest that read back as the
 * same float or double. */
static size_t shortest(double x, bool narrow, char digits[20], int *exponent)
{
    char text[40];
    size_t n = 0;

    for (int precision = 0; precision < 17; precision++) {
        double back = 0;
        char plain[40];

        snprintf(text, sizeof text, "%.*e", precision, x);
        n = 0;
        *exponent = 0;
        for (const char *at = text; *at; at++) { /* the point may be another one in some locales */
            if (*at == 'e') {
                *exponent = (int)strtol(at + 1, NULL, 10);
                break;
            }
            if (*at >= '0' && *at <= '9' && n < 18)
                digits[n++] = *at;
        }
        digits[n] = 0;
        snprintf(plain, sizeof plain, "%se%d", digits, *exponent - (int)n + 1);
        (void)as_parse_f64(plain, strlen(plain), &back);
        if (narrow ? (float)back == (float)x : back == x)
            break;
    }
    while (n > 1 && digits[n - 1] == '0')
        digits[--n] = 0;
    return n;
}

static void print_float(char *out, size_t capacity, double x, bool narrow)
{
    char digits[20] = "";
    const char *sign = signbit(x) ? "-" : "";
    int exponent;
    size_t n;

    if (!isfinite(x)) {
        snprintf(out, capacity, "%s%s", isnan(x) ? "" : sign, isnan(x) ? "NaN" : "INF");
        return;
    }
    n = shortest(fabs(x), narrow, digits, &exponent);
    if (x != 0 && (fabs(x) < 1e-4 || fabs(x) >= 1e16))
        snprintf(out, capacity, "%s%c%s%se%c%02d", sign, digits[0], n > 1 ? "." : "", digits + 1,
                 exponent < 0 ? '-' : '+', abs(exponent));
    else if (exponent < 0)
        snprintf(out, capacity, "%s0.%.*s%s", sign, -exponent - 1, "0000", digits);
    else if (n <= (size_t)exponent + 1)
        snprintf(out, capacity, "%s%s%.*s.0", sign, digits, exponent + 1 - (int)n,
                 "0000000000000000000");
    else
        snprintf(out, capacity, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
}

static void print_one(char *out, size_t capacity, const struct as_val *in, uint64_t i)
{
    if (as_dtype_is_float(in->dtype))
        print_float(out, capacity, as_val_f64(in, i), in->dtype != AS_DTYPE_F64);
    else if (in->dtype == AS_DTYPE_BOOL)
        snprintf(out, capacity, "%s", as_val_i64(in, i) ? "True" : "False");
    else if (in->dtype == AS_DTYPE_U64)
        snprintf(out, capacity, "%llu", (unsigned long long)((const uint64_t *)in->data)[i]);
    else
        snprintf(out, capacity, "%lld", (long long)as_val_i64(in, i));
}

static int to_text(struct as_kernel_ctx *k, const struct as_val *in, struct as_val *out)
{
    const struct as_text *from = in->data;
    struct as_text *texts = out->data;
    char number[64];

    if (!out->hold)
        return as_kernel_cannot(k, "its strings have nowhere to be");
    for (uint64_t i = 0; i < in->n; i++) {
        struct as_text one;

        if (in->dtype == AS_DTYPE_STRING) {
            one = from[i];
        } else {
            print_one(number, sizeof number, in, i);
            one = (struct as_text){number, strlen(number)};
        }
        texts[i].size = one.size;
        texts[i].at = as_arena_text(&out->hold->texts, one.at ? one.at : "", one.size);
        if (!texts[i].at)
            return as_fail_nomem(k->err);
    }
    return ASSAY_OK;
}

int as_run_cast(struct as_kernel_ctx *k)
{
    struct casting c = {k->in[0], k->out[0], as_node_int(k->node, "saturate", 1) != 0};
    bool shared = as_elem_bytes(c.out->dtype) == 0; /* bytes: two threads must not meet in one */
    int rc = as_kernel_same_size(k, c.in, c.out, "the output");

    if (rc < 0)
        return rc;
    if (c.out->dtype == AS_DTYPE_STRING)
        return to_text(k, c.in, c.out);
    if (c.in->dtype == AS_DTYPE_STRING)
        return from_text(k, c.in, c.out);
    if (c.in->dtype > AS_DTYPE_STRING || c.out->dtype > AS_DTYPE_STRING)
        return as_kernel_cannot(k, "%s cannot be made %s", as_dtype_name(c.in->dtype),
                                as_dtype_name(c.out->dtype));
    if (c.in->dtype == c.out->dtype)
        memcpy(c.out->data, c.in->data, c.in->bytes);
    else if (shared)
        cast_some(&c, 0, c.in->n);
    else
        as_kernel_parallel(k, c.in->n, AS_GRAIN, cast_some, &c);
    return ASSAY_OK;
}
