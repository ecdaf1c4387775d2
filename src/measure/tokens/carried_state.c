/* measure/tokens/carried_state.c - which outputs of a model are inputs of its next run: caches of
 * keys and values, states of recurrent networks. Names are matched by a table of what is written
 * instead. */
#include "measure/tokens/token_inputs.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

/* More pairs of names than this are not compared: no real model comes near. */
#define MAX_COMPARED ((uint64_t)1 << 22)

enum place { BEGIN, END, WORD };

/* An output is called like its input but for one part. */
static const struct {
    const char *in, *out;
    enum place place;
    bool of_state; /* only for names that speak of a state */
} parts[] = {
    {"past_key_values", "present", WORD, false},
    {"past_key_values", "present_key_values", WORD, false},
    {"past", "present", WORD, false},
    {"in_", "out_", BEGIN, false},
    {"_in", "_out", END, false},
    {"old_", "new_", BEGIN, false},
    {"_old", "_new", END, false},
    {"prev_", "next_", BEGIN, false},
    {"prev_", "new_", BEGIN, false},
    {"prev_", "", BEGIN, true},
    {"previous_", "next_", BEGIN, false},
    {"initial_", "final_", BEGIN, false},
    {"initial_", "", BEGIN, true},
    {"init_", "final_", BEGIN, true},
    {"h0", "hn", WORD, false},
    {"c0", "cn", WORD, false},
    {"h_0", "h_n", WORD, false},
    {"c_0", "c_n", WORD, false},
    {"h0", "h1", WORD, false},
    {"c0", "c1", WORD, false},
    {"input_", "output_", BEGIN, true},
    {"_input", "_output", END, true},
    {"", "N", END, true},
    {"", "_n", END, true},
    {"", "n", END, true},
    {"", "_out", END, true},
    {"", "_new", END, true},
    {"", "_next", END, true},
    {"", "new_", BEGIN, true},
    {"", "next_", BEGIN, true},
    {"", "out_", BEGIN, true},
    {"", "output_", BEGIN, true},
};

static bool speaks_of_state(const char *name)
{
    static const char *const words[] = {"state",  "hidden", "cache", "cell", "memory",
                                        "buffer", "h0",     "c0",    NULL};

    for (size_t i = 0; words[i]; i++)
        if (strcasestr(name, words[i]))
            return true;
    return strcmp(name, "h") == 0 || strcmp(name, "c") == 0;
}

/* Whether `output` is `input` with the part at `at` written as rule `i` has it. */
static bool is_with_part(size_t i, const char *input, size_t at, const char *output)
{
    size_t in = strlen(parts[i].in), out = strlen(parts[i].out);

    return strncmp(input, output, at) == 0 && strncmp(output + at, parts[i].out, out) == 0 &&
           strcmp(input + at + in, output + at + out) == 0;
}

static bool matches_part(size_t i, const char *input, const char *output)
{
    size_t size = strlen(input), in = strlen(parts[i].in);

    if (in > size || size - in + strlen(parts[i].out) != strlen(output) ||
        (parts[i].of_state && !speaks_of_state(input)))
        return false;
    for (size_t at = 0; at + in <= size; at++) {
        bool fits = (parts[i].place == BEGIN && at == 0) ||
                    (parts[i].place == END && at + in == size) ||
                    (parts[i].place == WORD && (at == 0 || !isalnum((unsigned char)input[at - 1])));

        if (fits && strncmp(input + at, parts[i].in, in) == 0 && is_with_part(i, input, at, output))
            return true;
    }
    return false;
}

bool as_state_names_match(const char *input, const char *output)
{
    for (size_t i = 0; i < AS_COUNT_OF(parts); i++)
        if (matches_part(i, input, output))
            return true;
    return false;
}

/* ---- types ---- */

/* What is not known fits. A single axis may be longer when both are fixed: a cache that grows. */
static bool types_fit(const struct as_type *in, const struct as_type *out, bool *growing)
{
    int longer = 0;

    *growing = false;
    if (in->kind != AS_VALUE_TENSOR || out->kind != AS_VALUE_TENSOR || in->dtype != out->dtype)
        return false;
    if (in->rank < 0 || out->rank < 0)
        return true;
    if (in->rank != out->rank)
        return false;
    for (int i = 0; i < in->rank; i++) {
        if (in->dims[i] < 0 || out->dims[i] < 0 || in->dims[i] == out->dims[i])
            continue;
        if (out->dims[i] < in->dims[i])
            return false;
        longer++;
    }
    *growing = longer == 1;
    return longer <= 1;
}

/* ---- pairs ---- */

struct finding {
    const struct as_model *model;
    const struct as_graph *graph;
    struct as_state_pairs *pairs;
    uint32_t *output_of; /* by input: the output it is paired with */
    bool *taken;         /* by output */
    bool *given;         /* by input */
    struct assay_error *err;
};

static const struct as_value *input_at(const struct finding *f, uint32_t i)
{
    return &f->model->values[f->graph->inputs[i]];
}

static const struct as_value *output_at(const struct finding *f, uint32_t i)
{
    return &f->model->values[f->graph->outputs[i]];
}

static bool has_output(const struct finding *f, uint32_t i)
{
    return f->graph->outputs[i] != AS_NONE;
}

static uint32_t find_input(const struct finding *f, const char *name)
{
    for (uint32_t i = 0; i < f->graph->n_inputs; i++)
        if (input_at(f, i)->is_input && strcmp(input_at(f, i)->name, name) == 0)
            return i;
    return AS_NONE;
}

static uint32_t find_output(const struct finding *f, const char *name, size_t size)
{
    for (uint32_t i = 0; i < f->graph->n_outputs; i++)
        if (has_output(f, i) && strlen(output_at(f, i)->name) == size &&
            memcmp(output_at(f, i)->name, name, size) == 0)
            return i;
    return AS_NONE;
}

static int take_given(struct finding *f, const char *text)
{
    uint32_t in = AS_NONE, out = AS_NONE;
    const char *equals = text;
    bool growing;

    /* A name may hold the sign itself: where both sides are there is where it parts them. */
    while ((equals = strchr(equals, '=')) != NULL) {
        in = find_input(f, equals + 1);
        out = find_output(f, text, (size_t)(equals - text));
        if (in != AS_NONE && out != AS_NONE)
            break;
        equals++;
    }
    if (!strchr(text, '='))
        return as_fail(f->err, ASSAY_ERR_USAGE, "a state is given as OUTPUT=INPUT, not '%.80s'",
                       text);
    if (!equals)
        return as_fail(f->err, ASSAY_ERR_USAGE,
                       "'%.80s' does not name an output and an input of the model", text);
    if (f->taken[out] || f->output_of[in] != AS_NONE)
        return as_fail(f->err, ASSAY_ERR_USAGE, "'%.80s': one of them is in another pair already",
                       text);
    if (!types_fit(as_declared_type(input_at(f, in)), as_declared_type(output_at(f, out)),
                   &growing)) {
        char from[60], to[60];

        as_type_text(from, sizeof from, as_declared_type(output_at(f, out)));
        as_type_text(to, sizeof to, as_declared_type(input_at(f, in)));
        return as_fail(f->err, ASSAY_ERR_USAGE, "'%.80s': %s %s does not fit %s %s", text,
                       as_dtype_name(as_declared_type(output_at(f, out))->dtype), from,
                       as_dtype_name(as_declared_type(input_at(f, in))->dtype), to);
    }
    f->taken[out] = f->given[in] = true;
    f->output_of[in] = out;
    return ASSAY_OK;
}

static bool could_be(const struct finding *f, uint32_t in, uint32_t out)
{
    bool growing;

    return has_output(f, out) && !f->taken[out] &&
           as_state_names_match(input_at(f, in)->name, output_at(f, out)->name) &&
           types_fit(as_declared_type(input_at(f, in)), as_declared_type(output_at(f, out)),
                     &growing);
}

/* The one output that could be the input's next value; AS_NONE: none or several. */
static uint32_t only_output(const struct finding *f, uint32_t in)
{
    uint32_t found = AS_NONE;

    for (uint32_t out = 0; out < f->graph->n_outputs; out++) {
        if (!could_be(f, in, out))
            continue;
        if (found != AS_NONE)
            return AS_NONE;
        found = out;
    }
    return found;
}

static void pair_by_name(const struct finding *f, uint32_t *wanted)
{
    for (uint32_t in = 0; in < f->graph->n_inputs; in++)
        wanted[in] = input_at(f, in)->is_input && f->output_of[in] == AS_NONE ? only_output(f, in)
                                                                              : (uint32_t)AS_NONE;
    for (uint32_t in = 0; in < f->graph->n_inputs; in++) {
        bool alone = wanted[in] != AS_NONE;

        for (uint32_t other = 0; alone && other < f->graph->n_inputs; other++)
            alone = other == in || wanted[other] != wanted[in];
        if (alone)
            f->output_of[in] = wanted[in];
    }
}

static int keep_pairs(const struct finding *f)
{
    struct as_state_pairs *p = f->pairs;

    p->at = as_alloc_zero((size_t)f->graph->n_inputs + 1, sizeof *p->at);
    p->loops = as_alloc_zero((size_t)f->graph->n_inputs + 1, sizeof *p->loops);
    if (!p->at || !p->loops)
        return as_fail_nomem(f->err);
    for (uint32_t in = 0; in < f->graph->n_inputs; in++) {
        uint32_t out = f->output_of[in];
        struct as_state_pair *pair = &p->at[p->n];

        if (out == AS_NONE)
            continue;
        *pair = (struct as_state_pair){.output = output_at(f, out)->name,
                                       .input = input_at(f, in)->name,
                                       .output_value = f->graph->outputs[out],
                                       .input_value = f->graph->inputs[in],
                                       .given = f->given[in]};
        (void)types_fit(as_declared_type(input_at(f, in)), as_declared_type(output_at(f, out)),
                        &pair->growing);
        if (!pair->growing)
            p->loops[p->n_loops++] = (struct as_loop_pair){pair->output, pair->input};
        p->n++;
    }
    return ASSAY_OK;
}

int as_state_pairs_find(struct as_state_pairs *pairs, const struct as_model *model,
                        const char *const *given, size_t n_given, struct assay_error *err)
{
    struct finding f = {.model = model, .graph = model->main, .pairs = pairs, .err = err};
    uint32_t *wanted = NULL;
    int rc = ASSAY_OK;

    *pairs = (struct as_state_pairs){0};
    if (!f.graph)
        return n_given ? as_fail(err, ASSAY_ERR_USAGE, "the model has no graph") : ASSAY_OK;
    f.output_of = as_alloc((size_t)(f.graph->n_inputs + 1) * sizeof *f.output_of);
    wanted = as_alloc_zero((size_t)f.graph->n_inputs + 1, sizeof *wanted);
    f.given = as_alloc_zero((size_t)f.graph->n_inputs + 1, sizeof *f.given);
    f.taken = as_alloc_zero((size_t)f.graph->n_outputs + 1, sizeof *f.taken);
    if (!f.output_of || !wanted || !f.given || !f.taken) {
        rc = as_fail_nomem(err);
        goto out;
    }
    memset(f.output_of, 0xff, (size_t)f.graph->n_inputs * sizeof *f.output_of);
    for (size_t i = 0; i < n_given && rc == ASSAY_OK; i++)
        rc = take_given(&f, given[i]);
    if (rc == ASSAY_OK && (uint64_t)f.graph->n_inputs * f.graph->n_outputs <= MAX_COMPARED)
        pair_by_name(&f, wanted);
    if (rc == ASSAY_OK)
        rc = keep_pairs(&f);
    if (rc < 0)
        as_state_pairs_fini(pairs);
out:
    as_free(f.taken);
    as_free(f.given);
    as_free(wanted);
    as_free(f.output_of);
    return rc;
}

void as_state_pairs_fini(struct as_state_pairs *pairs)
{
    as_free(pairs->at);
    as_free(pairs->loops);
    *pairs = (struct as_state_pairs){0};
}
