/* probe/power/power_constant.c - a source that always reads the same watts, and one that never
 * does. Neither needs a device. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text/text.h"
#include "base/units.h"
#include "probe/power/power_kinds.h"

static int read_constant(void *user, double *watts, struct assay_error *err)
{
    (void)err;
    *watts = *(const double *)user;
    return ASSAY_OK;
}

int assay_power_constant(double watts, struct assay_power_source *out, struct assay_error *err)
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
    *out = (struct assay_power_source){
        .name = "constant", .read_watts = read_constant, .close = as_free, .user = kept};
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
    return assay_power_constant(watts, out, err);
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
    *out = (struct assay_power_source){.name = "none", .read_watts = read_none};
    return ASSAY_OK;
}

const struct as_power_kind as_power_kind_none = {
    .name = "none",
    .usage = "none",
    .open = open_none,
};
