/* assay/experiment/fingerprint.h - one hash that shows whether two results may be compared.
 *
 *     char hex[ASSAY_HASH_HEX];
 *     struct assay_fingerprint *fingerprint;
 *     if (assay_bench_config_hash(&config, hex, &err) < 0 || // the six settings of a benchmark
 *         assay_fingerprint_new(&fingerprint, NULL, &err) < 0 ||
 *         assay_fingerprint_machine(fingerprint, &err) < 0) // and what the machine is
 *         fprintf(stderr, "%s\n", err.msg);
 *
 * Hashes are SHA-256 of compact JSON, in lower-case hex. The text of a number is pinned: the fewest
 * digits that read back, always with a point or an exponent. Text is UTF-8. */
#ifndef ASSAY_EXPERIMENT_FINGERPRINT_H
#define ASSAY_EXPERIMENT_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_HASH_HEX 65 /* 64 digits and a closing NUL */

/* ---- six settings ---- */

/* No text may be NULL; lambda and eps are finite. */
struct assay_bench_config {
    const char *model_commit, *weights_hash;
    float lambda;
    uint64_t tau;
    float eps;
    const char *compiler_flags;
};

/* {"model_commit":...,"compiler_flags":...}: no spaces, fields in the order above. Free with
 * assay_fingerprint_text_free(). `size` may be NULL. USAGE for what is NULL or not finite, FORMAT
 * for text that is not UTF-8. */
ASSAY_API int assay_bench_config_json(const struct assay_bench_config *config, char **text,
                                      size_t *size, struct assay_error *err);
/* The SHA-256 of that text. */
ASSAY_API int assay_bench_config_hash(const struct assay_bench_config *config,
                                      char hex[ASSAY_HASH_HEX], struct assay_error *err);

/* ---- any number of facts ---- */

struct assay_fingerprint;

/* What is known of a fact: whether results depend on it. Two machines that run the same work must
 * agree on these and may differ in all others. */
enum assay_fact_role { ASSAY_FACT_CIRCUMSTANCE = 0, ASSAY_FACT_DECIDES = 1 };

enum assay_fingerprint_part { ASSAY_FINGERPRINT_ALL = 0, ASSAY_FINGERPRINT_DECIDING = 1 };

/* There is no option yet. */
struct assay_fingerprint_options {
    size_t size; /* sizeof(struct assay_fingerprint_options) */
};

/* `options` may be NULL. */
ASSAY_API int assay_fingerprint_new(struct assay_fingerprint **out,
                                    const struct assay_fingerprint_options *options,
                                    struct assay_error *err);
/* Accepts NULL. */
ASSAY_API void assay_fingerprint_free(struct assay_fingerprint *fingerprint);

/* Adds a fact or replaces the one of that key; the text is copied. A key is 1 to 128 bytes. At most
 * 10,000 facts, texts of at most 1 MiB. USAGE for a number that is not finite, FORMAT for text that
 * is not UTF-8. */
ASSAY_API int assay_fingerprint_set_text(struct assay_fingerprint *fingerprint, const char *key,
                                         const char *text, enum assay_fact_role role,
                                         struct assay_error *err);
ASSAY_API int assay_fingerprint_set_u64(struct assay_fingerprint *fingerprint, const char *key,
                                        uint64_t value, enum assay_fact_role role,
                                        struct assay_error *err);
ASSAY_API int assay_fingerprint_set_f64(struct assay_fingerprint *fingerprint, const char *key,
                                        double value, enum assay_fact_role role,
                                        struct assay_error *err);
ASSAY_API int assay_fingerprint_set_f32(struct assay_fingerprint *fingerprint, const char *key,
                                        float value, enum assay_fact_role role,
                                        struct assay_error *err);
/* The fact is unknown: it becomes null, and the fact `<key>_why` is the reason. A later value takes
 * both away. */
ASSAY_API int assay_fingerprint_set_unknown(struct assay_fingerprint *fingerprint, const char *key,
                                            const char *why, enum assay_fact_role role,
                                            struct assay_error *err);
/* The six settings, each as a fact that decides, and `config_hash` of them. */
ASSAY_API int assay_fingerprint_set_config(struct assay_fingerprint *fingerprint,
                                           const struct assay_bench_config *config,
                                           struct assay_error *err);

/* What the machine and this library are: host, cpu_model, cores, threads, governor, kernel, os,
 * assay_version, assay_compiler and assay_compiler_flags that built it, and the versions in
 * library_libc, library_openssl and library_onednn (when it is loaded). None of them decides. Fails
 * without memory alone. */
ASSAY_API int assay_fingerprint_machine(struct assay_fingerprint *fingerprint,
                                        struct assay_error *err);

/* One JSON object, keys sorted by their bytes. Free with assay_fingerprint_text_free(). */
ASSAY_API int assay_fingerprint_json(const struct assay_fingerprint *fingerprint,
                                     enum assay_fingerprint_part part, char **text, size_t *size,
                                     struct assay_error *err);
/* The SHA-256 of that text. */
ASSAY_API int assay_fingerprint_hash(const struct assay_fingerprint *fingerprint,
                                     enum assay_fingerprint_part part, char hex[ASSAY_HASH_HEX],
                                     struct assay_error *err);
/* Accepts NULL. */
ASSAY_API void assay_fingerprint_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
