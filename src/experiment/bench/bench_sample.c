/* experiment/bench/bench_sample.c - what one sample of one setting gave, and the table of its
 * fields, from which the journal is written and read. */
#include "experiment/bench/bench_sample.h"

#include "base/text/float_text.h"
#include "base/units.h"

enum field_kind { FIELD_WHOLE, FIELD_REAL };

#define FIELDS(WHOLE, REAL)                                                                        \
    WHOLE(setting)                                                                                 \
    WHOLE(sample_id)                                                                               \
    WHOLE(seq_len)                                                                                 \
    WHOLE(wall_ns)                                                                                 \
    WHOLE(kernel_ns)                                                                               \
    WHOLE(user_ns)                                                                                 \
    WHOLE(system_ns)                                                                               \
    WHOLE(decide_ns)                                                                               \
    WHOLE(peak_mem_bytes)                                                                          \
    REAL(energy_j)                                                                                 \
    REAL(coherence_delta)                                                                          \
    REAL(l2)                                                                                       \
    REAL(max_abs)                                                                                  \
    REAL(path_length_change)                                                                       \
    WHOLE(decision_flips)                                                                          \
    WHOLE(passes)                                                                                  \
    WHOLE(contradicts)                                                                             \
    WHOLE(positions_kept)                                                                          \
    WHOLE(positions_total)                                                                         \
    WHOLE(edges_kept)                                                                              \
    WHOLE(edges_total)                                                                             \
    REAL(cut_cost)                                                                                 \
    WHOLE(decisions)                                                                               \
    WHOLE(cuts)                                                                                    \
    WHOLE(status)

#define WHOLE(name) {#name, FIELD_WHOLE, offsetof(struct as_bench_sample, name)},
#define REAL(name)  {#name, FIELD_REAL, offsetof(struct as_bench_sample, name)},

static const struct field {
    const char *name;
    enum field_kind kind;
    size_t at;
} fields[] = {FIELDS(WHOLE, REAL)};

/* The same as a run keeps them: what is not known is null. */
#define COUNT(name)  AS_FIELD_AS(struct as_bench_sample, #name, name, AS_FIELD_KNOWN),
#define MEMBER(name) AS_FIELD(struct as_bench_sample, name),

static const struct as_json_field run_fields[] = {FIELDS(COUNT, MEMBER) MEMBER(output_hash)};
const struct as_json_shape as_bench_sample_shape = AS_SHAPE(struct as_bench_sample, run_fields);

#define N_FIELDS (AS_COUNT_OF(fields))

static uint64_t *whole_at(struct as_bench_sample *sample, const struct field *field)
{
    return (uint64_t *)(void *)((char *)sample + field->at);
}

static double *real_at(struct as_bench_sample *sample, const struct field *field)
{
    return (double *)(void *)((char *)sample + field->at);
}

void as_bench_sample_init(struct as_bench_sample *sample)
{
    *sample = (struct as_bench_sample){0};
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (fields[i].kind == FIELD_WHOLE)
            *whole_at(sample, &fields[i]) = AS_BENCH_UNKNOWN;
        else
            *real_at(sample, &fields[i]) = AS_UNKNOWN;
    }
}

void as_bench_sample_write(const struct as_bench_sample *given, struct as_json_writer *w)
{
    struct as_bench_sample sample = *given;
    char text[AS_FLOAT_TEXT];

    for (size_t i = 0; i < N_FIELDS; i++) {
        if (fields[i].kind == FIELD_WHOLE) {
            uint64_t value = *whole_at(&sample, &fields[i]);

            if (value != AS_BENCH_UNKNOWN)
                as_json_kv_u64(w, fields[i].name, value);
        } else {
            size_t size = as_float_text64(text, *real_at(&sample, &fields[i]));

            if (size) {
                as_json_key(w, fields[i].name);
                as_json_raw(w, text, size);
            }
        }
    }
    if (sample.output_hash[0])
        as_json_kv_text(w, "output_hash", sample.output_hash);
}

static bool is_hash(const struct as_json_value *value)
{
    return value->type == AS_TYPE_TEXT && value->text_size == 64 &&
           strspn(value->text, "0123456789abcdef") == 64;
}

int as_bench_sample_read(struct as_bench_sample *sample, const struct as_json_value *object,
                         struct assay_error *err)
{
    const struct as_json_value *hash = as_json_get(object, "output_hash");

    as_bench_sample_init(sample);
    for (size_t i = 0; i < N_FIELDS; i++) {
        const struct as_json_value *value = as_json_get(object, fields[i].name);

        if (!value)
            continue;
        if (fields[i].kind == FIELD_WHOLE ? !as_json_whole(value, whole_at(sample, &fields[i]))
                                          : value->type != AS_TYPE_NUMBER)
            return as_fail(err, ASSAY_ERR_FORMAT, "%s is not the number it should be",
                           fields[i].name);
        if (fields[i].kind == FIELD_REAL)
            *real_at(sample, &fields[i]) = as_json_number(value);
    }
    if (hash && !is_hash(hash))
        return as_fail(err, ASSAY_ERR_FORMAT, "output_hash is not a digest");
    if (hash)
        memcpy(sample->output_hash, hash->text, 65);
    return ASSAY_OK;
}
