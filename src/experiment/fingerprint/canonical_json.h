/* experiment/fingerprint/canonical_json.h - JSON as hashes need it: compact, and each value in one
 * form only. Text is escaped as little as JSON allows; numbers have the pinned text of
 * base/text/float_text.h. */
#ifndef AS_EXPERIMENT_FINGERPRINT_CANONICAL_JSON_H
#define AS_EXPERIMENT_FINGERPRINT_CANONICAL_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"

/* Quoted. Escaped are only '"', '\' and what is below U+0020: \b \f \n \r \t, others as \u001f.
 * FORMAT, at the byte to blame, for what is not UTF-8; something may have been written then. */
AS_MUST_USE int as_canonical_text(struct as_out *out, const char *text, size_t size,
                                  struct assay_error *err);

void as_canonical_u64(struct as_out *out, uint64_t value);

/* These must be finite. */
void as_canonical_f64(struct as_out *out, double value);
void as_canonical_f32(struct as_out *out, float value);

/* What `out`, in memory, has collected: as a copy the caller owns, and as the hex of its SHA-256.
 * Both tell what went wrong while writing; neither closes it. */
AS_MUST_USE int as_canonical_take(struct as_out *out, char **text, size_t *size,
                                  struct assay_error *err);
AS_MUST_USE int as_canonical_hash(struct as_out *out, char hex[65], struct assay_error *err);

#endif
