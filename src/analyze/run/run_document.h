/* analyze/run/run_document.h - the JSON that assay prints, as a run again: a document holds the
 * bytes of the run it was made from, so that whatever reads runs reads documents too. */
#ifndef AS_ANALYZE_RUN_RUN_DOCUMENT_H
#define AS_ANALYZE_RUN_RUN_DOCUMENT_H

#include "base/json/json_writer.h"
#include "trace/run/run_reader.h"

/* A run larger than this is not put into its document. */
#define AS_DOCUMENT_MAX_BYTES (16u << 20)

/* Adds the member "run_file" to the object that is open: the run in base64, or null and
 * "run_file_reason".
 */
AS_MUST_USE int as_run_embed(struct as_json_writer *w, const struct as_run *run,
                             struct assay_error *err);

/* The bytes of the run, as its file has them. */
AS_MUST_USE int as_run_copy(const struct as_run *run, struct as_out *out, struct assay_error *err);

/* "is corrupt or incomplete", "was never closed", "is still being recorded"; NULL: it is complete.
 */
const char *as_run_what_is_broken(const struct as_run *run);

/* Opens a run file, or a JSON document of assay that holds its run. */
AS_MUST_USE int as_run_open_any(struct as_run **run, const char *path, struct assay_error *err);

/* By its first bytes: a run or JSON, or nothing that can be read, for as_run_open_any() to say so.
 * False: perhaps a model. */
bool as_run_looks_like_one(const char *path);

#endif
