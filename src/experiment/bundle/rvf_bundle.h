/* experiment/bundle/rvf_bundle.h - an open bundle: its file, its segments and the names of its
 * witnesses. Nothing in it is trusted before as_bundle_check() found it whole. */
#ifndef AS_EXPERIMENT_BUNDLE_RVF_BUNDLE_H
#define AS_EXPERIMENT_BUNDLE_RVF_BUNDLE_H

#include <assay/bundle.h>

#include "base/json/json_tree.h"
#include "experiment/bundle/rvf_key.h"
#include "experiment/bundle/rvf_segment.h"

struct assay_bundle {
    struct as_mapped_file file;
    char *path;
    struct as_rvf_file frame;
    struct as_arena arena;
    const struct as_json_value *witnesses; /* of the statistics; NULL: none could be read */
};

/* `bytes` are borrowed. Empty it with as_bundle_fini(), also after a failure. */
AS_MUST_USE int as_bundle_init(struct assay_bundle *bundle, const uint8_t *bytes, uint64_t size,
                               struct assay_error *err);
void as_bundle_fini(struct assay_bundle *bundle);

/* What the statistics tell of the witness in segment `i`; NULL: nothing. */
const struct as_json_value *as_bundle_witness(const struct assay_bundle *bundle, size_t i);

/* Every hash, every chain and the signature. `key` may be NULL. */
AS_MUST_USE int as_bundle_check(const struct assay_bundle *bundle, const struct as_rvf_key *key,
                                struct assay_bundle_report *report, struct assay_error *err);

/* All of it for bytes in memory: a frame out of order is an answer too. */
AS_MUST_USE int as_bundle_check_bytes(const uint8_t *bytes, uint64_t size,
                                      const struct as_rvf_key *key,
                                      struct assay_bundle_report *report, struct assay_error *err);

#endif
