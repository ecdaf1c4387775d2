/* cmd/common/graph_file.c - `assay inspect --graph FILE`: the picture of a model's graph. */
#include "cmd/common/graph_file.h"

#include <string.h>

#include "report/graph/graph_picture.h"

static bool ends_in(const char *path, const char *end)
{
    size_t size = strlen(path), tail = strlen(end);

    return size > tail && strcmp(path + size - tail, end) == 0;
}

int as_graph_file_check(const char *path, struct assay_error *err)
{
    if (!path || ends_in(path, ".svg") || ends_in(path, ".dot"))
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_USAGE, "--graph is a file FILE.svg or FILE.dot, not '%.60s'",
                   path);
}

int as_graph_file_write(const char *path, const struct as_inspection *inspection, const char *title,
                        struct assay_error *err)
{
    struct as_picture picture;
    struct as_out out;
    int rc;

    if (!path)
        return ASSAY_OK;
    rc = as_picture_init(&picture, inspection->model, inspection->costs, title, err);
    if (rc == ASSAY_OK)
        rc = as_out_file(&out, path, err);
    if (rc == ASSAY_OK) {
        if (ends_in(path, ".svg"))
            as_picture_svg(&picture, &out);
        else
            as_picture_dot(&picture, &out);
        rc = as_out_close(&out, err);
    }
    as_picture_fini(&picture);
    return rc;
}
