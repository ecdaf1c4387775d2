/* report/machine/machine_report.h - what the machine is, what it can do and whether it is fit to
 * measure. Text, Markdown and JSON of the same figures; nothing is measured here. */
#ifndef AS_REPORT_MACHINE_MACHINE_REPORT_H
#define AS_REPORT_MACHINE_MACHINE_REPORT_H

#include "analyze/model/fitness.h"
#include "analyze/model/operations.h"
#include "analyze/model/overhead.h"
#include "base/json/json_writer.h"
#include "base/output.h"
#include "base/text/term.h"
#include "probe/system/isa_cap.h"
#include "probe/system/topology.h"
#include "report/page/page.h"
#include "trace/run/run_maker.h"

struct as_machine_report {
    const struct as_topology *topology;
    const struct as_system_load *load;
    const struct as_memory_headroom *headroom;
    const struct as_peaks *peaks;
    const struct as_noise *noise; /* NULL: not measured */
    const struct as_fitness *fitness;
    const char *fingerprint;
    bool from_cache;        /* the peaks were measured before */
    uint64_t now_unix_ns;   /* when the run was made: the age of the peaks follows from it */
    const char *cache_path; /* where they are kept; NULL: nowhere */
    bool markdown;
};

/* The machine in one sentence, for pages that are about something else. */
void as_machine_named_line(struct as_page *page, const struct as_topology *topology);

AS_MUST_USE int as_machine_page(const struct as_machine_report *report, struct as_out *out,
                                const struct as_term *term, struct assay_error *err);

/* Members of the document. A value that is null has a key of the same name and `_reason`. */
/* ---- operations_text.c ---- */

struct as_operations_report {
    const struct as_operations *operations;
    const struct as_topology *topology;
    const struct as_peaks *peaks;
    bool markdown;
};

AS_MUST_USE int as_operations_page(const struct as_operations_report *report, struct as_out *out,
                                   const struct as_term *term, struct assay_error *err);

/* Of the documents "assay.machine", "assay.operations" and "assay.overhead". */
extern const struct as_json_shape as_machine_document_shape, as_operations_document_shape,
    as_overhead_document_shape;

/* ---- overhead_text.c ---- */

struct as_overhead_report {
    const struct as_overhead *overhead;
    const struct as_topology *topology;
    bool markdown;
};

AS_MUST_USE int as_overhead_page(const struct as_overhead_report *report, struct as_out *out,
                                 const struct as_term *term, struct assay_error *err);

/* ---- machine_kind.c ---- */

/* What was measured, into a run of the kind "machine", "operations" or "overhead". Findings are
 * not: whoever reads the run comes to them anew. */
void as_machine_put(struct as_run_maker *maker, const struct as_machine_report *report);
void as_operations_put(struct as_run_maker *maker, const struct as_topology *topology,
                       const struct as_peaks *peaks, const struct as_operation_run *measured);
void as_overhead_put(struct as_run_maker *maker, const struct as_topology *topology,
                     const struct as_overhead_run *measured);

/* ---- isa_text.c ---- */

enum { AS_ISA_TEXT = 120 };

/* "avx512_core", or "sse41 (capped by --max-isa; the processor has avx512_core)". */
const char *as_isa_text(char out[AS_ISA_TEXT], const struct as_isa_choice *isa);

/* kernel_isa, kernel_isa_hardware and kernel_isa_capped_by, which is null without a cap. */
void as_isa_json(struct as_json_writer *w, const struct as_isa_choice *isa);
extern const struct as_json_shape as_isa_document_shape;

#endif
