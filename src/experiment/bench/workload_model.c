/* experiment/bench/workload_model.c - a model as a workload: every setting has an engine of its
 * own, opened beforehand, and each sample is one run of it. */
#include "experiment/bench/workload.h"

#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "base/units.h"
#include "experiment/bench/bench_sample.h"
#include "format/model_file.h"

struct setting {
    struct as_model *model;
    struct as_engine *engine;
    struct as_model_inputs inputs;
    struct as_infer_dim dims[AS_GRID_AXES];
    struct as_infer_options infer;
    struct as_engine_options options;
    uint64_t peak_bytes;
    struct as_sample_clock clock;
    int rc; /* negative: it could not be opened, because of `why` */
    struct assay_error why;
};

struct as_load_model {
    struct as_load_model_options options;
    struct setting *settings;
    size_t n;
};

/* ---- axes ---- */

static int whole(const char *name, const char *text, uint64_t max, uint64_t *out,
                 struct assay_error *err)
{
    if (as_parse_u64(text, strlen(text), out) && *out >= 1 && *out <= max)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_USAGE, "%s is a whole number from 1 to %llu, not '%.40s'", name,
                   (unsigned long long)max, text);
}

static int set_threads(struct setting *s, const char *text, struct assay_error *err)
{
    uint64_t n = 1;
    int rc = whole("threads", text, 1024, &n, err);

    s->options.threads = (unsigned)n;
    return rc;
}

static int set_batch(struct setting *s, const char *text, struct assay_error *err)
{
    uint64_t n = 1;
    int rc = whole("batch", text, 1000000000, &n, err);

    s->infer.batch = (int64_t)n;
    return rc;
}

static int set_fuse(struct setting *s, const char *text, struct assay_error *err)
{
    s->options.no_fuse = strcmp(text, "0") == 0;
    if (s->options.no_fuse || strcmp(text, "1") == 0)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_USAGE, "fuse is 0 or 1, not '%.40s'", text);
}

static int set_kernels(struct setting *s, const char *text, struct assay_error *err)
{
    s->options.reference = strcmp(text, "reference") == 0;
    if (s->options.reference || strcmp(text, "auto") == 0)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_USAGE, "kernels is auto or reference, not '%.40s'", text);
}

/* Which model it is was read before. */
static int set_model(struct setting *s, const char *text, struct assay_error *err)
{
    (void)s;
    (void)text;
    (void)err;
    return ASSAY_OK;
}

static const struct {
    const char *name;
    int (*set)(struct setting *s, const char *text, struct assay_error *err);
} known[] = {{"threads", set_threads},
             {"batch", set_batch},
             {"fuse", set_fuse},
             {"kernels", set_kernels},
             {AS_MODEL_AXIS, set_model}};
#define N_KNOWN (AS_COUNT_OF(known))

static bool is_built_in(const char *spec)
{
    return strncmp(spec, "zoo:", 4) == 0;
}

static int set_dim(struct setting *s, const char *name, const char *text, struct assay_error *err)
{
    uint64_t n = 0;
    int rc = whole(name, text, INT32_MAX, &n, err);

    s->dims[s->infer.n_dims++] = (struct as_infer_dim){name, (int64_t)n};
    s->infer.dims = s->dims;
    return rc;
}

static int set_axis(struct setting *s, const char *name, const char *value, bool built_in,
                    struct assay_error *err)
{
    for (size_t i = 0; i < N_KNOWN; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].set(s, value, err);
    return built_in ? ASSAY_OK : set_dim(s, name, value, err);
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < N_KNOWN; i++)
        if (strcmp(known[i].name, name) == 0)
            return true;
    return false;
}

/* ---- opening ---- */

/* "zoo:NAME:key=value,..." with the keys that vary; a later key wins over an earlier one. */
static int open_model(struct setting *s, const char *spec, const struct as_grid *grid, size_t at,
                      struct assay_error *err)
{
    char text[1024];
    bool has_keys = is_built_in(spec) && strchr(spec + 4, ':');
    int size = snprintf(text, sizeof text, "%s", spec);

    for (size_t i = 0; is_built_in(spec) && i < grid->n_axes; i++) {
        if (is_known(grid->axes[i].name) || size < 0 || (size_t)size >= sizeof text)
            continue;
        size += snprintf(text + size, sizeof text - (size_t)size, "%s%s=%s", has_keys ? "," : ":",
                         grid->axes[i].name, as_grid_value(grid, at, i));
        has_keys = true;
    }
    if (size < 0 || (size_t)size >= sizeof text)
        return as_fail(err, ASSAY_ERR_USAGE, "the name of the model is too long");
    return as_model_open(&s->model, text, err);
}

static int open_setting(struct as_load_model *load, struct setting *s, struct assay_error *err)
{
    int rc = as_model_inputs_open(&s->inputs, s->model, &load->options.inputs, err);

    as_sample_clock_init(&s->clock, s->options.threads);
    s->options.infer = s->infer;
    if (rc == ASSAY_OK)
        rc = as_model_inputs_sizes(&s->inputs, &s->options.infer, err);
    if (rc == ASSAY_OK)
        rc = as_engine_new(&s->engine, s->model, &s->options, err);
    if (rc == ASSAY_OK)
        rc = as_model_inputs_fill(&s->inputs, s->engine, err);
    if (rc == ASSAY_OK) {
        as_engine_reset_peaks(s->engine); /* of a run, not of getting ready for it */
        rc = as_engine_run(s->engine, AS_RUN_MEMORY, NULL, err);
    }
    if (rc == ASSAY_OK)
        s->peak_bytes = as_engine_memory(s->engine)->all.peak_bytes;
    return rc;
}

static int make_setting(struct as_load_model *load, size_t at, const struct as_grid *grid,
                        struct assay_error *err)
{
    const char *spec = load->options.spec;
    struct setting *s = &load->settings[at];
    int rc = ASSAY_OK;

    for (size_t i = 0; i < grid->n_axes; i++)
        if (strcmp(grid->axes[i].name, AS_MODEL_AXIS) == 0)
            spec = as_grid_value(grid, at, i);

    s->options = load->options.engine;
    s->infer = load->options.engine.infer;
    for (size_t i = 0; rc == ASSAY_OK && i < grid->n_axes; i++)
        rc = set_axis(s, grid->axes[i].name, as_grid_value(grid, at, i), is_built_in(spec), err);
    if (rc == ASSAY_OK)
        rc = open_model(s, spec, grid, at, err);
    if (rc < 0)
        return rc;
    s->rc = open_setting(load, s, &s->why);
    if (s->rc == ASSAY_ERR_USAGE || s->rc == ASSAY_ERR_NOTFOUND)
        return as_fail(err, s->rc, "%s", s->why.msg);
    return ASSAY_OK;
}

int as_load_model_new(struct as_load_model **out, const struct as_grid *grid,
                      const struct as_load_model_options *options, struct assay_error *err)
{
    struct as_load_model *load = as_alloc_zero(1, sizeof *load);
    int rc = ASSAY_OK;

    *out = NULL;
    if (!load)
        return as_fail_nomem(err);
    load->options = *options;
    load->n = as_grid_count(grid);
    load->settings = as_alloc_zero(load->n, sizeof *load->settings);
    if (!load->settings)
        rc = as_fail_nomem(err);
    for (size_t i = 0; rc == ASSAY_OK && i < load->n; i++)
        rc = make_setting(load, i, grid, err);
    if (rc < 0)
        as_load_model_free(load);
    else
        *out = load;
    return rc;
}

void as_load_model_free(struct as_load_model *load)
{
    if (!load)
        return;
    for (size_t i = 0; load->settings && i < load->n; i++) {
        as_engine_free(load->settings[i].engine);
        as_model_inputs_close(&load->settings[i].inputs);
        as_model_free(load->settings[i].model);
    }
    as_free(load->settings);
    as_free(load);
}

/* ---- running ---- */

static int hash_outputs(const struct as_engine *engine, char hex[65], struct assay_error *err)
{
    struct as_sha256_stream stream;
    unsigned char digest[AS_SHA256_BYTES];
    bool whole = true; /* texts and lists have no hash: then nothing is said of the outputs */
    int rc;

    as_sha256_begin(&stream);
    for (size_t i = 0; as_engine_output_value(engine, i); i++) {
        const struct as_val *val = as_engine_output(engine, i);

        whole = whole && val && val->present && !val->elems && val->dtype != AS_DTYPE_STRING;
        if (whole) {
            as_sha256_add(&stream, val->dims, (size_t)val->rank * sizeof *val->dims);
            as_sha256_add(&stream, val->data, (size_t)val->bytes);
        }
    }
    rc = as_sha256_end(&stream, digest, err);
    if (rc == ASSAY_OK && whole)
        as_sha256_hex(digest, hex);
    return rc;
}

static int run(void *user, size_t setting, uint64_t sample_id, struct as_bench_sample *out,
               struct assay_error *err)
{
    struct as_load_model *load = user;
    struct setting *s = &load->settings[setting];
    int rc;

    (void)sample_id;
    if (s->rc < 0)
        return as_fail(err, s->rc == ASSAY_ERR_NOMEM ? ASSAY_ERR_LIMIT : s->rc, "%s", s->why.msg);
    as_sample_clock_start(&s->clock);
    rc = as_engine_run(s->engine, AS_RUN_PLAIN, NULL, err);
    as_sample_clock_stop(&s->clock, &out->wall_ns, &out->kernel_ns);
    out->peak_mem_bytes = s->peak_bytes;
    return rc;
}

static int before(void *user, size_t setting, struct assay_error *err)
{
    struct as_load_model *load = user;
    struct setting *s = &load->settings[setting];

    return s->rc < 0 ? ASSAY_OK : as_engine_run(s->engine, AS_RUN_PLAIN, NULL, err);
}

static int after(void *user, size_t setting, uint64_t sample_id, struct as_bench_sample *out,
                 struct assay_error *err)
{
    struct as_load_model *load = user;

    (void)sample_id;
    return hash_outputs(load->settings[setting].engine, out->output_hash, err);
}

struct as_bench_load as_load_model_table(struct as_load_model *load)
{
    return (struct as_bench_load){.user = load, .before = before, .run = run, .after = after};
}
