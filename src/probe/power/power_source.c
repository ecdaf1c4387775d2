/* probe/power/power_source.c - opens a power source by its name.
 * The kinds stand in one table; each has a file of its own. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text/text.h"
#include "base/units.h"
#include "probe/power/power_energy.h"

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

static int read_constant(void *user, double *watts, struct assay_error *err)
{
    (void)err;
    *watts = *(const double *)user;
    return ASSAY_OK;
}

int assay_power_source_constant(double watts, struct assay_power_source *out,
                                struct assay_error *err)
{
    double *kept;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "room for the power source is needed");
    *out = (struct assay_power_source){0};
    if (!isfinite(watts) || watts < 0)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "a constant power is a finite number of watts, not below 0");
    kept = as_alloc(sizeof *kept);
    if (!kept)
        return as_fail_nomem(err);
    *kept = watts;
    *out = (struct assay_power_source){.size = sizeof(struct assay_power_source),
                                       .name = "constant",
                                       .read_watts = read_constant,
                                       .close = as_free,
                                       .user = kept};
    return ASSAY_OK;
}

static int open_constant(const char *argument, struct assay_power_source *out,
                         struct assay_error *err)
{
    size_t size = argument ? strlen(argument) : 0;
    double watts;

    if (size > 0 && argument[size - 1] == 'W')
        size--;
    if (size == 0 || !as_parse_f64(argument, size, &watts))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "a constant power is written as constant:75W, with a number of watts");
    return assay_power_source_constant(watts, out, err);
}

const struct as_power_kind as_power_kind_constant = {
    .name = "constant",
    .usage = "constant:75W",
    .open = open_constant,
};

static int read_none(void *user, double *watts, struct assay_error *err)
{
    (void)user;
    *watts = AS_UNKNOWN;
    return as_fail(err, ASSAY_ERR_UNSUPPORTED, "power is not measured: its source is none");
}

static int open_none(const char *argument, struct assay_power_source *out, struct assay_error *err)
{
    if (argument)
        return as_fail(err, ASSAY_ERR_USAGE, "the power source none takes nothing after its name");
    *out = (struct assay_power_source){
        .size = sizeof(struct assay_power_source), .name = "none", .read_watts = read_none};
    return ASSAY_OK;
}

const struct as_power_kind as_power_kind_none = {
    .name = "none",
    .usage = "none",
    .open = open_none,
};
