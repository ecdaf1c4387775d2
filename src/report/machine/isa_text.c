/* report/machine/isa_text.c - the instruction set that kernels used, for pages and JSON. */
#include "report/machine/machine_report.h"

#include <stdio.h>

const char *as_isa_text(char out[AS_ISA_TEXT], const struct as_isa_choice *isa)
{
    if (isa->capped_by)
        (void)snprintf(out, AS_ISA_TEXT, "%s (capped by %s; the processor has %s)",
                       as_isa_name(isa->effective), isa->capped_by, as_isa_name(isa->hardware));
    else
        (void)snprintf(out, AS_ISA_TEXT, "%s", as_isa_name(isa->effective));
    return out;
}

void as_isa_json(struct as_json_writer *w, const struct as_isa_choice *isa)
{
    as_json_kv_text(w, "kernel_isa", as_isa_name(isa->effective));
    as_json_kv_text(w, "kernel_isa_hardware", as_isa_name(isa->hardware));
    as_json_kv_text(w, "kernel_isa_capped_by", isa->capped_by);
}
