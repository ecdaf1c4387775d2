/* model/graph/tensor.c - what is known of a tensor: its type, its dimensions and, of a constant,
 * where its numbers are. Numbers in a model file stay there until somebody asks for them. */
#include "model/graph/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "base/text/text.h"
#include "base/units.h"

bool as_type_is_static(const struct as_type *type)
{
    if (type->kind != AS_VALUE_TENSOR || type->rank < 0)
        return false;
    for (int i = 0; i < type->rank; i++)
        if (type->dims[i] < 0)
            return false;
    return true;
}

bool as_type_elems(const struct as_type *type, uint64_t *n)
{
    uint64_t product = 1;

    if (!as_type_is_static(type))
        return false;
    for (int i = 0; i < type->rank; i++)
        if (type->dims[i] == 0) {
            *n = 0;
            return true;
        }
    for (int i = 0; i < type->rank; i++)
        if (!as_mul_u64(product, (uint64_t)type->dims[i], &product) || product > INT64_MAX)
            return false;
    *n = product;
    return true;
}

bool as_type_bytes(const struct as_type *type, uint64_t *bytes)
{
    uint64_t n;

    return as_type_elems(type, &n) && as_dtype_at(type->dtype)->block_bytes > 0 &&
           as_dtype_bytes(type->dtype, n, bytes);
}

bool as_type_equal(const struct as_type *a, const struct as_type *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    if (a->kind != AS_VALUE_TENSOR) {
        if (a->n_elems != b->n_elems || !a->elems != !b->elems)
            return false;
        for (int i = 0; a->elems && i < (a->n_elems < 0 ? 1 : a->n_elems); i++)
            if (!as_type_equal(&a->elems[i], &b->elems[i]))
                return false;
        return true;
    }
    return a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* Text that stops where the room ends. */
struct typed {
    char *out;
    size_t capacity, size;
    bool cut;
};

static void add(struct typed *t, const char *text)
{
    size_t size = strlen(text);

    if (t->cut || t->size + size >= t->capacity) {
        t->cut = true;
        return;
    }
    memcpy(t->out + t->size, text, size + 1);
    t->size += size;
}

static void add_type(struct typed *t, const struct as_type *type, int depth)
{
    static const char *const words[] = {"", "seq", "optional", "map"};
    char number[AS_TEXT_INT];

    if (type->kind != AS_VALUE_TENSOR) {
        add(t, words[type->kind]);
        as_text_i64(number, type->n_elems);
        add(t, "(");
        add(t, type->n_elems < 0 ? "?" : number);
        add(t, ")[");
        for (int i = 0; depth < 4 && type->elems && i < (type->n_elems < 0 ? 1 : type->n_elems);
             i++) {
            add(t, i ? ", " : "");
            add_type(t, &type->elems[i], depth + 1);
        }
        add(t, "]");
        return;
    }
    if (type->rank <= 0)
        add(t, type->rank < 0 ? "?" : "scalar");
    for (int i = 0; i < type->rank; i++) {
        as_text_i64(number, type->dims[i]);
        add(t, i ? "x" : "");
        add(t, type->dims[i] < 0 ? "?" : number);
    }
}

size_t as_type_text(char *out, size_t capacity, const struct as_type *type)
{
    struct typed t = {out, capacity, 0, false};

    if (capacity == 0)
        return 0;
    out[0] = 0;
    add_type(&t, type, 0);
    if (t.cut && capacity > 4) {
        t.size = t.size > capacity - 4 ? capacity - 4 : t.size;
        memcpy(out + t.size, "...", 4);
        t.size += 3;
    }
    return t.size;
}

bool as_type_tensor(struct as_type *out, struct as_arena *arena, unsigned dtype,
                    const struct as_dims *dims)
{
    *out = AS_TYPE_UNKNOWN;
    out->dtype = (uint8_t)dtype;
    if (!dims || dims->rank < 0)
        return true;
    if (dims->rank > 0) {
        int64_t *copy = as_arena_alloc(arena, (size_t)dims->rank * sizeof *copy);

        if (!copy)
            return false;
        memcpy(copy, dims->at, (size_t)dims->rank * sizeof *copy);
        out->dims = copy;
    }
    out->rank = (int16_t)dims->rank;
    return true;
}

bool as_type_dims(const struct as_type *type, struct as_dims *out)
{
    if (type->kind != AS_VALUE_TENSOR || type->rank < 0)
        return false;
    out->rank = type->rank;
    if (type->rank > 0)
        memcpy(out->at, type->dims, (size_t)type->rank * sizeof *out->at);
    return true;
}

int as_data_read(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                 struct assay_error *err)
{
    uint64_t from, bytes;

    if (first > data->n || n > data->n - first)
        return as_fail(err, ASSAY_ERR_USAGE, "elements past the end of a tensor were asked for");
    if (data->dtype == AS_DTYPE_STRING)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "a tensor of strings has no numbers");
    if (!as_dtype_bytes(data->dtype, first, &from) || !as_dtype_bytes(data->dtype, n, &bytes))
        return as_fail(err, ASSAY_ERR_LIMIT, "a tensor is larger than 2^64 bytes");
    if (data->bytes) {
        memcpy(out, data->bytes + from, bytes);
        return ASSAY_OK;
    }
    if (!data->make)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "the numbers of this tensor are not known");
    return data->make(data, first, n, out, err);
}

int as_data_load(struct as_data *data, struct as_arena *arena, uint64_t max_bytes,
                 struct assay_error *err)
{
    uint8_t *copy;
    int rc;

    if (data->bytes || data->dtype == AS_DTYPE_STRING)
        return ASSAY_OK;
    if (data->size_bytes > max_bytes)
        return as_fail(err, ASSAY_ERR_LIMIT, "a tensor of %llu bytes is too large to be read whole",
                       (unsigned long long)data->size_bytes);
    copy = as_arena_alloc(arena, data->size_bytes ? data->size_bytes : 1);
    if (!copy)
        return as_fail_nomem(err);
    rc = as_data_read(data, 0, data->n, copy, err);
    if (rc < 0)
        return rc;
    data->bytes = copy;
    return ASSAY_OK;
}

double as_f16_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value;

    if (exponent == 31)
        value = fraction ? AS_UNKNOWN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

double as_bf16_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

/* One of the 8-bit and 4-bit formats: sign, exponent and fraction bits, and what a pattern of all
 * ones or the lone sign means. */
static double small_float(unsigned bits, int exponent_bits, int fraction_bits, int bias, bool uz,
                          bool ieee)
{
    int sign = (int)(bits >> (exponent_bits + fraction_bits)) & 1;
    int top = (1 << exponent_bits) - 1;
    int exponent = (int)(bits >> fraction_bits) & top;
    int fraction = (int)bits & ((1 << fraction_bits) - 1);
    double value;

    if (uz && sign && exponent == 0 && fraction == 0)
        return AS_UNKNOWN;
    if (ieee && exponent == top)
        return fraction ? AS_UNKNOWN : sign ? -(double)INFINITY : (double)INFINITY;
    if (!uz && !ieee && exponent_bits == 4 && exponent == top && fraction == 7)
        return AS_UNKNOWN;
    if (exponent == 0)
        value = ldexp(fraction, 1 - bias - fraction_bits);
    else
        value = ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
    return sign ? -value : value;
}

static uint64_t bits_at(const struct as_data *data, uint64_t i)
{
    const struct as_dtype_info *info = as_dtype_at(data->dtype);
    uint64_t bits = 0;

    if (info->block_elems == 2)
        return data->bytes[i / 2] >> (i % 2 * 4) & 15;
    for (uint32_t b = 0; b < info->block_bytes && b < 8; b++)
        bits |= (uint64_t)data->bytes[i * info->block_bytes + b] << (8 * b);
    return bits;
}

static double small_value(unsigned dtype, unsigned bits)
{
    switch (dtype) {
    case AS_DTYPE_F8E4M3FN:
        return small_float(bits, 4, 3, 7, false, false);
    case AS_DTYPE_F8E4M3FNUZ:
        return small_float(bits, 4, 3, 8, true, false);
    case AS_DTYPE_F8E5M2:
        return small_float(bits, 5, 2, 15, false, true);
    case AS_DTYPE_F8E5M2FNUZ:
        return small_float(bits, 5, 2, 16, true, false);
    default:
        return small_float(bits, 2, 1, 1, false, false);
    }
}

/* The nearest of the few there are, ties to the even one; what is too large is the largest. */
static unsigned small_bits(unsigned dtype, double value)
{
    unsigned n = dtype == AS_DTYPE_F4E2M1 ? 16 : 256, best = 0;
    double gap = (double)INFINITY;

    for (unsigned bits = 0; bits < n; bits++) {
        double here = small_value(dtype, bits), far;

        if (isnan(here) && isnan(value))
            return bits;
        if (!isfinite(here))
            continue;
        far = fabs(here - value);
        if (far < gap || (far == gap && bits % 2 == 0 && signbit(here) == signbit(value))) {
            gap = far;
            best = bits;
        }
    }
    return best;
}

double as_data_f64(const struct as_data *data, uint64_t i)
{
    uint64_t bits = bits_at(data, i);
    uint32_t low = (uint32_t)bits;
    double wide;
    float narrow;

    switch (data->dtype) {
    case AS_DTYPE_F32:
        memcpy(&narrow, &low, sizeof narrow);
        return (double)narrow;
    case AS_DTYPE_F64:
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    case AS_DTYPE_F16:
        return as_f16_value((uint16_t)bits);
    case AS_DTYPE_BF16:
        return as_bf16_value((uint16_t)bits);
    case AS_DTYPE_U64:
        return (double)bits;
    default:
        if (as_dtype_is_float(data->dtype))
            return small_value(data->dtype, (unsigned)bits);
        return (double)as_data_i64(data, i);
    }
}

static int64_t cut(double value)
{
    if (isnan(value))
        return 0;
    if (value >= 9223372036854775808.0)
        return INT64_MAX;
    if (value < -9223372036854775808.0)
        return INT64_MIN;
    return (int64_t)value;
}

int64_t as_data_i64(const struct as_data *data, uint64_t i)
{
    uint64_t bits;

    if (as_dtype_is_float(data->dtype))
        return cut(as_data_f64(data, i));
    bits = bits_at(data, i);
    switch (data->dtype) {
    case AS_DTYPE_I32:
        return (int32_t)(uint32_t)bits;
    case AS_DTYPE_I16:
        return (int16_t)(uint16_t)bits;
    case AS_DTYPE_I8:
        return (int8_t)(uint8_t)bits;
    case AS_DTYPE_I4:
        return (int64_t)(bits ^ 8) - 8;
    case AS_DTYPE_I64:
        return (int64_t)bits;
    default:
        return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    }
}

struct as_data *as_data_new(struct as_arena *arena, unsigned dtype, uint64_t n)
{
    struct as_data *data;
    uint64_t bytes;
    uint8_t *storage;

    if (!as_dtype_bytes(dtype, n, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    data = as_arena_zero(arena, 1, sizeof *data);
    storage = as_arena_zero(arena, bytes ? bytes : 1, 1);
    if (!data || !storage)
        return NULL;
    data->dtype = (uint8_t)dtype;
    data->n = n;
    data->size_bytes = bytes;
    data->bytes = storage;
    data->from = storage;
    data->generated = true;
    return data;
}

struct as_data *as_data_over(struct as_arena *arena, unsigned dtype, uint64_t n, const void *bytes)
{
    struct as_data *data = as_arena_zero(arena, 1, sizeof *data);

    if (!data)
        return NULL;
    data->dtype = (uint8_t)dtype;
    data->n = data->stored_elems = n;
    if (!as_dtype_bytes(dtype, n, &data->size_bytes))
        return NULL;
    data->stored_bytes = data->size_bytes;
    data->bytes = bytes;
    return data;
}

/* as_data_new() keeps the room it made in `from` as well, so that only its data can be written. */
uint8_t *as_data_storage(struct as_data *data)
{
    uint8_t *storage;

    memcpy(&storage, &data->from, sizeof storage);
    return storage;
}

static void put_bits(struct as_data *data, uint64_t i, uint64_t bits)
{
    const struct as_dtype_info *info = as_dtype_at(data->dtype);
    uint8_t *storage = as_data_storage(data);

    if (info->block_elems == 2) {
        unsigned shift = i % 2 ? 4 : 0;

        storage[i / 2] = (uint8_t)((storage[i / 2] & ~(15u << shift)) | (bits & 15) << shift);
        return;
    }
    for (uint32_t b = 0; b < info->block_bytes && b < 8; b++)
        storage[i * info->block_bytes + b] = (uint8_t)(bits >> (8 * b));
}

/* Rounded to the nearest, ties to even. */
static uint16_t f16_bits(double value)
{
    unsigned sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value), scaled;
    int exponent;

    if (isnan(value))
        return 0x7e00;
    if (size >= 65520)
        return (uint16_t)(sign | 0x7c00);
    if (size < ldexp(1, -14)) /* the fraction alone, in steps of 2^-24; 1024 of them carry over */
        return (uint16_t)(sign | (unsigned)nearbyint(ldexp(size, 24)));
    (void)frexp(size, &exponent);
    scaled = nearbyint(ldexp(size, 11 - exponent)); /* 1024 to 2048 */
    return (uint16_t)(sign | (((unsigned)(exponent + 13) << 10) + (unsigned)scaled));
}

void as_data_put_f64(struct as_data *data, uint64_t i, double value)
{
    float narrow = (float)value;
    uint64_t bits = 0;
    uint32_t low;

    switch (data->dtype) {
    case AS_DTYPE_F32:
        memcpy(&low, &narrow, sizeof low);
        bits = low;
        break;
    case AS_DTYPE_F64:
        memcpy(&bits, &value, sizeof bits);
        break;
    case AS_DTYPE_BF16:
        memcpy(&low, &narrow, sizeof low);
        bits = isnan(value) ? 0x7fc0 : (low + 0x7fff + (low >> 16 & 1)) >> 16;
        break;
    case AS_DTYPE_F16:
        bits = f16_bits(value);
        break;
    default:
        if (!as_dtype_is_float(data->dtype)) {
            as_data_put_i64(data, i, cut(value));
            return;
        }
        bits = small_bits(data->dtype, value);
    }
    put_bits(data, i, bits);
}

void as_data_put_i64(struct as_data *data, uint64_t i, int64_t value)
{
    if (as_dtype_is_float(data->dtype))
        as_data_put_f64(data, i, (double)value);
    else
        put_bits(data, i, data->dtype == AS_DTYPE_BOOL ? value != 0 : (uint64_t)value);
}

void as_data_copy(struct as_data *out, uint64_t to, const struct as_data *in, uint64_t from)
{
    uint32_t width = as_dtype_at(out->dtype)->block_bytes;

    if (as_dtype_at(out->dtype)->block_elems == 1)
        memcpy(as_data_storage(out) + to * width, in->bytes + from * width, width);
    else
        put_bits(out, to, bits_at(in, from));
}
