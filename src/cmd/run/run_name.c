/* cmd/run/run_name.c - the name of a run's file: one for each process or rank where it says so. */
#include "cmd/run/run_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

#define RANK_DIGITS 10

const char *as_run_rank(void)
{
    /* The launcher's own first: a batch system numbers its tasks also around a launcher. */
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "MPI_LOCALRANKID", "SLURM_PROCID"};

    for (size_t i = 0; i < AS_COUNT_OF(names); i++) {
        const char *rank = getenv(names[i]);
        size_t size = rank ? strspn(rank, "0123456789") : 0;

        if (size > 0 && size <= RANK_DIGITS && !rank[size])
            return rank;
    }
    return NULL;
}

static int put(char *out, size_t capacity, size_t *used, const char *text, size_t size,
               struct assay_error *err)
{
    if (size >= capacity - *used)
        return as_fail(err, ASSAY_ERR_USAGE, "the name of the output is too long");
    memcpy(out + *used, text, size);
    *used += size;
    out[*used] = '\0';
    return ASSAY_OK;
}

static int put_field(char *out, size_t capacity, size_t *used, char field, struct assay_error *err)
{
    char text[256] = "%";
    const char *rank = as_run_rank();

    switch (field) {
    case '%':
        break;
    case 'p':
        (void)snprintf(text, sizeof text, "%ld", (long)getpid());
        break;
    case 'h':
        if (gethostname(text, sizeof text - 1) != 0)
            return as_fail_sys(err, ASSAY_ERR_IO, "the host's name for %%h is not known");
        text[sizeof text - 1] = '\0';
        for (char *c = text; *c; c++)
            if (*c == '/')
                *c = '-';
        break;
    case 'r':
        if (!rank)
            return as_fail(err, ASSAY_ERR_USAGE,
                           "%%r in the name of the output: no MPI launcher or batch system gave "
                           "this process a rank");
        (void)snprintf(text, sizeof text, "%s", rank);
        break;
    default:
        return as_fail(err, ASSAY_ERR_USAGE,
                       "the name of the output has %%%c; use %%p (process id), %%h (host), %%r "
                       "(rank), or %%%% for a percent sign",
                       field ? field : ' ');
    }
    return put(out, capacity, used, text, strlen(text), err);
}

int as_run_name(char *out, size_t capacity, const char *pattern, struct assay_error *err)
{
    const char *at = pattern;
    size_t used = 0;
    int rc = ASSAY_OK;

    if (!at)
        at = as_run_rank() ? "run.%r.assay" : "run.assay";
    out[0] = '\0';
    while (*at && rc == ASSAY_OK) {
        size_t plain = strcspn(at, "%");

        rc = put(out, capacity, &used, at, plain, err);
        at += plain;
        if (rc == ASSAY_OK && *at) {
            rc = put_field(out, capacity, &used, at[1], err);
            at += at[1] ? 2 : 1;
        }
    }
    return rc;
}
