/* base/folder.c - makes a folder and what is missing above it.
 * A folder that is there already is fine; anything else of that name is not. */
#include "base/output.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

int as_folder_make(const char *path, mode_t mode, struct assay_error *err)
{
    char part[PATH_MAX];
    size_t size = strlen(path);
    struct stat st;

    if (size == 0 || size >= sizeof part)
        return as_fail(err, ASSAY_ERR_LIMIT, "path too long: %.80s", path);
    memcpy(part, path, size + 1);
    for (size_t i = 1; i <= size; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, mode) != 0 && errno != EEXIST)
            return as_fail_sys(err, ASSAY_ERR_IO, "cannot make the folder %s", part);
        part[i] = path[i];
    }
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return as_fail(err, ASSAY_ERR_IO, "%s is not a folder", path);
    return ASSAY_OK;
}

int as_folder_make_above(const char *path, mode_t mode, struct assay_error *err)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];

    if (!slash || slash == path)
        return ASSAY_OK;
    if ((size_t)(slash - path) >= sizeof folder)
        return as_fail(err, ASSAY_ERR_LIMIT, "path too long: %.80s", path);
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    return as_folder_make(folder, mode, err);
}
