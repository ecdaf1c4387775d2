/* probe/power/power_source.c - opens a power source by its name.
 * The kinds stand in one table; each has a file of its own. */
#include <stdio.h>
#include <string.h>

#include "probe/power/power_kinds.h"

static const struct as_power_kind *const kinds[] = {
    &as_power_kind_constant,
    &as_power_kind_none,
    NULL,
};

static int unknown_kind(const char *spec, size_t size, struct assay_error *err)
{
    char list[160] = "";
    size_t used = 0;

    for (size_t i = 0; kinds[i] && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 kinds[i]->usage);
    return as_fail(err, ASSAY_ERR_USAGE, "no kind of power source is called '%.*s'; there are: %s",
                   size < 40 ? (int)size : 40, spec, list);
}

int assay_power_source_open(const char *spec, struct assay_power_source *out,
                            struct assay_error *err)
{
    const char *colon;
    size_t size;

    if (!spec || !out)
        return as_fail(err, ASSAY_ERR_USAGE, "a power source's name and room for it are needed");
    *out = (struct assay_power_source){0};
    colon = strchr(spec, ':');
    size = colon ? (size_t)(colon - spec) : strlen(spec);
    for (size_t i = 0; kinds[i]; i++)
        if (strlen(kinds[i]->name) == size && memcmp(kinds[i]->name, spec, size) == 0)
            return kinds[i]->open(colon ? colon + 1 : NULL, out, err);
    return unknown_kind(spec, size, err);
}

void assay_power_source_close(struct assay_power_source *source)
{
    if (source && source->close)
        source->close(source->user);
    if (source)
        *source = (struct assay_power_source){0};
}
