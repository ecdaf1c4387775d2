/* base/text/csv_target.c - where tables of CSV go: a file each in a folder, or one of them to an
 * output that is open. */
#include "base/text/csv_target.h"

#include <stdio.h>

#include "base/output.h"

int as_csv_target_open(const struct as_csv_target *to, struct assay_error *err)
{
    return to->folder ? as_folder_make(to->folder, 0777, err) : ASSAY_OK;
}

int as_csv_target_put(const struct as_csv_target *to, const char *name, as_csv_write write,
                      const void *of, struct assay_error *err)
{
    struct as_csv_writer w = {.out = to->out, .safe = to->safe};
    struct as_out out;
    char path[4096];
    int rc;

    if (!to->folder)
        return write(&w, of, err);
    if (snprintf(path, sizeof path, "%s/%s", to->folder, name) >= (int)sizeof path)
        return as_fail(err, ASSAY_ERR_LIMIT, "path too long: %.80s", to->folder);
    rc = as_out_file(&out, path, err);
    if (rc < 0)
        return rc;
    w.out = &out;
    rc = write(&w, of, err);
    if (rc < 0)
        as_out_drop(&out);
    else
        rc = as_out_close(&out, err);
    return rc;
}
