/* report/machine/isa_text.h - the instruction set that kernels used, for pages and JSON that are
 * about what they did. */
#ifndef AS_REPORT_MACHINE_ISA_TEXT_H
#define AS_REPORT_MACHINE_ISA_TEXT_H

#include "base/json/json_writer.h"
#include "probe/system/isa_cap.h"

enum { AS_ISA_TEXT = 120 };

/* "avx512_core", or "sse41 (capped by --max-isa; the processor has avx512_core)". */
const char *as_isa_text(char out[AS_ISA_TEXT], const struct as_isa_choice *isa);

/* kernel_isa, kernel_isa_hardware and kernel_isa_capped_by, which is null without a cap. */
void as_isa_json(struct as_json_writer *w, const struct as_isa_choice *isa);

#endif
