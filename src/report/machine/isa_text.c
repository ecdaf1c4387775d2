/* report/machine/isa_text.c - the instruction set that kernels used, for pages and JSON. */
#include "report/machine/machine_report.h"

#include <stdio.h>

const char *as_isa_text(char out[AS_ISA_TEXT], const struct as_isa_choice *isa)
{
    if (isa->capped_by)
        (void)snprintf(out, AS_ISA_TEXT, "%s (capped by %s; the CPU has %s)",
                       as_isa_name(isa->effective), isa->capped_by, as_isa_name(isa->hardware));
    else
        (void)snprintf(out, AS_ISA_TEXT, "%s", as_isa_name(isa->effective));
    return out;
}

static const char *effective(const void *object)
{
    return as_isa_name(((const struct as_isa_choice *)object)->effective);
}

static const char *hardware(const void *object)
{
    return as_isa_name(((const struct as_isa_choice *)object)->hardware);
}

static const struct as_json_field fields[] = {
    AS_FIELD_WORDS("kernel_isa", effective, "instruction set that kernels use"),
    AS_FIELD_WORDS("kernel_isa_hardware", hardware, "without a cap"),
    AS_FIELD_KEY(struct as_isa_choice, "kernel_isa_capped_by", capped_by, NULL,
                 "option or variable; null: no cap"),
};
const struct as_json_shape as_isa_document_shape = AS_SHAPE(struct as_isa_choice, fields);

void as_isa_json(struct as_json_writer *w, const struct as_isa_choice *isa)
{
    as_json_fields_put(w, &as_isa_document_shape, isa);
}
