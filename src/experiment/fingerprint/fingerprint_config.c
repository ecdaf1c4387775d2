/* experiment/fingerprint/fingerprint_config.c - the six settings of a benchmark as text and as a
 * hash. Fields stand in the order of the struct: other tools hash the same text. */
#include <assay/experiment/fingerprint.h>

#include <math.h>
#include <string.h>

#include "experiment/fingerprint/canonical_json.h"

static int put_text(struct as_out *out, const char *key, const char *text, struct assay_error *err)
{
    if (!text)
        return as_fail(err, ASSAY_ERR_USAGE, "the configuration has no %s", key);
    as_out_printf(out, "\"%s\":", key);
    return as_canonical_text(out, text, strlen(text), err);
}

static int put_float(struct as_out *out, const char *key, float value, struct assay_error *err)
{
    if (!isfinite(value))
        return as_fail(err, ASSAY_ERR_USAGE, "%s of the configuration is not a finite number", key);
    as_out_printf(out, ",\"%s\":", key);
    as_canonical_f32(out, value);
    return ASSAY_OK;
}

static int put_config(struct as_out *out, const struct assay_bench_config *config,
                      struct assay_error *err)
{
    int rc;

    as_out_char(out, '{');
    rc = put_text(out, "model_commit", config->model_commit, err);
    as_out_char(out, ',');
    if (rc == ASSAY_OK)
        rc = put_text(out, "weights_hash", config->weights_hash, err);
    if (rc == ASSAY_OK)
        rc = put_float(out, "lambda", config->lambda, err);
    as_out_text(out, ",\"tau\":");
    as_canonical_u64(out, config->tau);
    if (rc == ASSAY_OK)
        rc = put_float(out, "eps", config->eps, err);
    as_out_char(out, ',');
    if (rc == ASSAY_OK)
        rc = put_text(out, "compiler_flags", config->compiler_flags, err);
    as_out_char(out, '}');
    return rc;
}

int assay_bench_config_json(const struct assay_bench_config *config, char **text, size_t *size,
                            struct assay_error *err)
{
    struct as_out out;
    int rc;

    if (!config || !text)
        return as_fail(err, ASSAY_ERR_USAGE, "a configuration and room for its text are needed");
    *text = NULL;
    rc = as_out_memory(&out, err);
    if (rc < 0)
        return rc;
    rc = put_config(&out, config, err);
    if (rc == ASSAY_OK)
        rc = as_canonical_take(&out, text, size, err);
    as_out_drop(&out);
    return rc;
}

int assay_bench_config_hash(const struct assay_bench_config *config, char hex[ASSAY_HASH_HEX],
                            struct assay_error *err)
{
    struct as_out out;
    int rc;

    if (!config || !hex)
        return as_fail(err, ASSAY_ERR_USAGE, "a configuration and room for its hash are needed");
    hex[0] = '\0';
    rc = as_out_memory(&out, err);
    if (rc < 0)
        return rc;
    rc = put_config(&out, config, err);
    if (rc == ASSAY_OK)
        rc = as_canonical_hash(&out, hex, err);
    as_out_drop(&out);
    return rc;
}

int assay_fingerprint_set_config(struct assay_fingerprint *fingerprint,
                                 const struct assay_bench_config *config, struct assay_error *err)
{
    const enum assay_fact_role decides = ASSAY_FACT_DECIDES;
    char hash[ASSAY_HASH_HEX];
    int rc = assay_bench_config_hash(config, hash, err); /* checks all of it */

    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_text(fingerprint, "config_hash", hash, decides, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_text(fingerprint, "model_commit", config->model_commit, decides,
                                        err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_text(fingerprint, "weights_hash", config->weights_hash, decides,
                                        err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_f32(fingerprint, "lambda", config->lambda, decides, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_u64(fingerprint, "tau", config->tau, decides, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_f32(fingerprint, "eps", config->eps, decides, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_set_text(fingerprint, "compiler_flags", config->compiler_flags,
                                        decides, err);
    return rc;
}
