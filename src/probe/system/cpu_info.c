/* probe/system/cpu_info.c - what the processor calls itself and which instructions it has. */
#include "probe/system/cpu_info.h"

#include <string.h>

#include "probe/system/root_file.h"

static const char *const isa_name[] = {
#define X(name, word) [AS_CPU_##name] = (word),
    AS_CPU_ISAS(X)
#undef X
};
_Static_assert(AS_CPU_ISA_COUNT <= 32, "a bit for every instruction set");

const char *as_cpu_isa_name(enum as_cpu_isa isa)
{
    return isa_name[isa];
}

static bool has_word(const char *words, const char *word)
{
    size_t size;

    for (const char *at = words, *w; (w = as_text_word(&at, &size));)
        if (size == strlen(word) && memcmp(w, word, size) == 0)
            return true;
    return false;
}

void as_cpu_info_read(struct as_cpu_info *out, const char *root)
{
    char text[8192];

    *out = (struct as_cpu_info){0};
    if (!as_root_read(root, "/proc/cpuinfo", text, sizeof text))
        return;
    if (!as_text_field_copy(text, "model name", out->model, sizeof out->model))
        as_text_field_copy(text, "CPU part", out->model, sizeof out->model);
    if (!as_text_field_copy(text, "vendor_id", out->vendor, sizeof out->vendor))
        as_text_field_copy(text, "CPU implementer", out->vendor, sizeof out->vendor);
    as_text_field_copy(text, "cpu family", out->family, sizeof out->family);
    as_text_field_copy(text, "model", out->model_number, sizeof out->model_number);
    as_text_field_copy(text, "stepping", out->stepping, sizeof out->stepping);
    as_text_field_copy(text, "microcode", out->microcode, sizeof out->microcode);
    out->flags_known = as_text_field_copy(text, "flags", out->flags, sizeof out->flags) ||
                       as_text_field_copy(text, "Features", out->flags, sizeof out->flags);
    for (unsigned i = 0; i < AS_CPU_ISA_COUNT; i++)
        out->isa |= (uint32_t)has_word(out->flags, isa_name[i]) << i;
    out->virtual_machine = has_word(out->flags, "hypervisor");
}
