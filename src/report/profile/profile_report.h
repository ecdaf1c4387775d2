/* report/profile/profile_report.h - how fast a network runs and why, as text, Markdown, JSON or
 * CSV. Only renders: every figure comes from analyze/model/profile.h. */
#ifndef AS_REPORT_PROFILE_PROFILE_REPORT_H
#define AS_REPORT_PROFILE_PROFILE_REPORT_H

#include "analyze/model/profile.h"
#include "base/json/json_writer.h"
#include "base/output.h"
#include "base/text/csv_target.h"
#include "base/text/term.h"
#include "report/page/page.h"

/* Parts of the page: name, what it shows, on the page unasked. */
#define AS_PROFILE_SECTIONS(X)                                                                     \
    X(SUMMARY, summary, "model, machine, latency, throughput, memory and roofline", true)          \
    X(DECODER, decoder, "prefill and decode of a text model, token by token", true)                \
    X(OPS, ops, "time by operator", true)                                                          \
    X(LAYERS, layers, "time by layer", true)                                                       \
    X(ROOFLINE, roofline, "layers under the measured roofline, drawn", false)                      \
    X(SCOPES, scopes, "time by module, from the parts of names", false)                            \
    X(MEMORY, memory, "memory planned and measured, by what it is for", false)                     \
    X(SLOWEST, slowest, "the slowest layer over the inferences", true)                             \
    X(INPUTS, inputs, "inputs of the model", false)                                                \
    X(OUTPUTS, outputs, "outputs written, compared with others, and NaN", true)                    \
    X(DECODE, decode, "one new token of a text model with a cache: time and roofline", true)       \
    X(RECOMMENDATIONS, recommendations, "what to do next, and why", true)

enum as_profile_section {
#define X(name, function, help, usual) AS_PROFILE_##name,
    AS_PROFILE_SECTIONS(X)
#undef X
        AS_PROFILE_SECTION_COUNT
};

const char *as_profile_section_at(size_t i);

struct as_profile_report {
    struct as_profile *profile;
    uint32_t sections; /* bit by section; 0: the usual ones */
    size_t top;        /* rows; 0: what suits */
    unsigned sort;     /* as as_profile_sort_at() */
    bool wide, markdown;
};

AS_MUST_USE int as_profile_page(const struct as_profile_report *report, struct as_out *out,
                                const struct as_term *term, struct assay_error *err);

/* The members of the document "assay.profile". */
AS_MUST_USE int as_profile_json(const struct as_profile_report *report, struct as_json_writer *w,
                                struct assay_error *err);

/* Of the document, and of its lists, which are tables of their own in CSV. */
extern const struct as_json_shape as_profile_document_shape, as_profile_layer_shape,
    as_profile_group_shape;
/* Of one output that was kept, and of all. */
extern const struct as_json_shape as_profile_output_shape, as_profile_outputs_shape;

/* layers.csv, operators.csv, scopes.csv, latency.csv and memory.csv, of a profile with two phases
 * decode_layers.csv, with outputs that were kept outputs.csv; returns how many. Without a folder
 * the layers.
 */
AS_MUST_USE int as_profile_csv(const struct as_profile_report *report,
                               const struct as_csv_target *to, struct assay_error *err);

/* ---- for the files of the page ---- */

enum { AS_PHASE_HEADING = 160 };

/* "prefill of 128 tokens", "decode with 128 tokens in the cache"; NULL for a model without phases.
 */
const char *as_profile_phase_name(const struct as_profile *profile, char *out, size_t capacity);
/* The heading with the phase behind it, where there is one. */
const char *as_profile_heading(const struct as_profile *profile, const char *heading,
                               char out[AS_PHASE_HEADING]);
/* The lines of the roofline. */
void as_profile_put_roof(const struct as_profile *profile, struct as_page *page);

#define X(name, function, help, usual)                                                             \
    void as_profile_put_##function(const struct as_profile_report *report, struct as_page *page);
AS_PROFILE_SECTIONS(X)
#undef X

#endif
