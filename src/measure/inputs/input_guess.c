/* measure/inputs/input_guess.c - numbers for an input that nobody gave: such that the model runs on
 * them and does the work it would do. By what the input is used for first, by its name second. */
#include "measure/inputs/model_inputs.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "stats/describe/rng.h"

enum shape_of_numbers {
    NUMBERS_UNIFORM, /* [-1, 1) */
    NUMBERS_NORMAL,
    NUMBERS_BELOW,     /* whole, from 0 up to below `limit` */
    NUMBERS_ALL,       /* every value of an 8-bit type */
    NUMBERS_SAME,      /* `limit` everywhere */
    NUMBERS_POSITIONS, /* 0, 1, 2 ... along the last dimension, beginning again at `limit` */
};

#define SMALL_INTEGERS 10

struct numbers {
    enum shape_of_numbers shape;
    double limit;
};

static bool has(const char *name, const char *part)
{
    size_t n = strlen(part);

    for (; *name; name++)
        if (strncasecmp(name, part, n) == 0)
            return true;
    return false;
}

static bool is_whole(unsigned dtype)
{
    return as_dtype_is_integer(dtype) || dtype == AS_DTYPE_BOOL;
}

static bool is_state_name(const char *name)
{
    return has(name, "past") || has(name, "cache") ||
           (has(name, "state") && !has(name, "hidden_states"));
}

/* What the graph says is needed; false when it says nothing. */
static bool by_use(const struct as_input_use *use, const struct as_val *val, const char *name,
                   struct numbers *out, char *how, size_t capacity)
{
    if (use->length >= 0) {
        *out = (struct numbers){NUMBERS_SAME, (double)use->length};
        (void)snprintf(how, capacity, "length %lld", (long long)use->length);
        return true;
    }
    if (use->below == 0)
        return false;
    if (is_whole(val->dtype) && has(name, "position")) {
        *out = (struct numbers){NUMBERS_POSITIONS, (double)use->below};
        (void)snprintf(how, capacity, "positions from 0");
        return true;
    }
    *out = (struct numbers){NUMBERS_BELOW, (double)use->below};
    (void)snprintf(how, capacity, "indices below %llu of %.60s", (unsigned long long)use->below,
                   use->table[0] ? use->table : "a table");
    return true;
}

static bool by_name(const struct as_val *val, const char *name, struct numbers *out, char *how,
                    size_t capacity)
{
    if (has(name, "mask")) {
        *out = (struct numbers){NUMBERS_SAME, 1};
        (void)snprintf(how, capacity, "ones: a mask that hides nothing");
    } else if (is_whole(val->dtype) && (has(name, "position") || has(name, "pos_ids"))) {
        *out = (struct numbers){NUMBERS_POSITIONS, 0};
        (void)snprintf(how, capacity, "positions from 0");
    } else if (is_whole(val->dtype) && (has(name, "token_type") || has(name, "segment"))) {
        *out = (struct numbers){NUMBERS_SAME, 0};
        (void)snprintf(how, capacity, "zeros: one segment");
    } else {
        return false;
    }
    return true;
}

static void by_type(const struct as_input_guess *guess, unsigned dtype, struct numbers *out,
                    char *how, size_t capacity)
{
    const struct as_dtype_info *info = as_dtype_at(dtype);
    const char *words = "random in [-1, 1)";

    *out = (struct numbers){NUMBERS_UNIFORM, 0};
    if (dtype == AS_DTYPE_BOOL) {
        *out = (struct numbers){NUMBERS_BELOW, 2};
        words = "random";
    } else if (as_dtype_is_integer(dtype) && info->block_bytes == 1) {
        *out = (struct numbers){NUMBERS_ALL, 0};
        words = "random over the whole type";
    } else if (as_dtype_is_integer(dtype)) {
        *out = (struct numbers){NUMBERS_BELOW, SMALL_INTEGERS};
        words = "random below 10";
    } else if (guess->fill == AS_INPUTS_NORMAL) {
        out->shape = NUMBERS_NORMAL;
        words = "random, normal with deviation 1";
    }
    (void)snprintf(how, capacity, "%s, seed %llu", words, (unsigned long long)guess->seed);
}

static void decide(const struct as_input_guess *guess, const struct as_input_use *use,
                   const struct as_val *val, struct numbers *out, char *how, size_t capacity)
{
    const char *name = guess->model->values[guess->value].name;

    if (guess->is_state || is_state_name(name)) {
        *out = (struct numbers){NUMBERS_SAME, 0};
        (void)snprintf(how, capacity, "zeros: a state that begins empty");
        if (!guess->is_state && use->length >= 0)
            (void)by_use(use, val, name, out, how, capacity);
        return;
    }
    if (use->length >= 0 && by_use(use, val, name, out, how, capacity))
        return;
    if (guess->fill == AS_INPUTS_ZEROS || guess->fill == AS_INPUTS_ONES) {
        bool ones = guess->fill == AS_INPUTS_ONES && use->below != 1;

        *out = (struct numbers){NUMBERS_SAME, ones};
        (void)snprintf(how, capacity, "%s", ones ? "ones" : "zeros");
        return;
    }
    if (use->is_choice && use->below == 0 && val->n == 1) {
        *out = (struct numbers){NUMBERS_SAME, (double)use->choice};
        (void)snprintf(how, capacity, "%lld, which the model looks for", (long long)use->choice);
        return;
    }
    if (!by_use(use, val, name, out, how, capacity) && !by_name(val, name, out, how, capacity))
        by_type(guess, val->dtype, out, how, capacity);
}

static double number_at(const struct numbers *numbers, const struct as_val *val, uint64_t i,
                        struct as_rng *rng)
{
    uint64_t last;

    switch (numbers->shape) {
    case NUMBERS_UNIFORM:
        return 2 * as_rng_unit(rng) - 1;
    case NUMBERS_NORMAL:
        return as_rng_normal(rng);
    case NUMBERS_BELOW:
        return (double)as_rng_below(rng, (uint64_t)numbers->limit);
    case NUMBERS_ALL:
        return (double)as_rng_below(rng, 256);
    case NUMBERS_SAME:
        return numbers->limit;
    case NUMBERS_POSITIONS:
        last = val->rank > 0 ? (uint64_t)val->dims[val->rank - 1] : 1;
        i %= last ? last : 1;
        return (double)(numbers->limit > 0 ? i % (uint64_t)numbers->limit : i);
    }
    return 0;
}

static void fill(const struct as_input_guess *guess, const struct numbers *numbers,
                 struct as_val *val)
{
    struct as_rng rng;

    as_rng_seed(&rng, guess->seed);
    if (val->dtype == AS_DTYPE_F32) {
        float *at = val->data;

        for (uint64_t i = 0; i < val->n; i++)
            at[i] = (float)number_at(numbers, val, i, &rng);
        return;
    }
    if (numbers->shape == NUMBERS_ALL) {
        uint8_t *at = val->data;

        for (uint64_t i = 0; i < val->bytes; i++)
            at[i] = (uint8_t)as_rng_below(&rng, 256);
        return;
    }
    for (uint64_t i = 0; i < val->n; i++) {
        double x = number_at(numbers, val, i, &rng);

        if (is_whole(val->dtype))
            as_val_put_i64(val, i, (int64_t)x);
        else
            as_val_put_f64(val, i, x);
    }
}

int as_input_guess_fill(const struct as_input_guess *guess, struct as_val *val, char *how,
                        size_t capacity, struct assay_error *err)
{
    enum as_dtype_class kind = as_dtype_at(val->dtype)->kind;
    struct as_input_use use;
    struct numbers numbers;
    int rc;

    if (kind != AS_CLASS_FLOAT && !is_whole(val->dtype)) {
        memset(val->data, 0, (size_t)val->bytes);
        (void)snprintf(how, capacity, kind == AS_CLASS_TEXT ? "empty texts" : "zeros");
        return ASSAY_OK;
    }
    rc = as_input_use_find(&use, guess->model, guess->value, err);
    if (rc < 0)
        return rc;
    decide(guess, &use, val, &numbers, how, capacity);
    fill(guess, &numbers, val);
    return ASSAY_OK;
}
