/* cmd/guard/outputs.c - the files and folders that a command line names to be written. */
#include "cmd/guard/outputs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool as_output_is(const struct as_cmd_line *line, size_t i)
{
    const struct as_opt *opt = as_cmd_opt_at(line->cmd, i);

    return line->value[i] && !opt->reads &&
           (opt->kind == AS_OPT_FILE || opt->kind == AS_OPT_FOLDER) &&
           (strcmp(opt->name, "output") != 0 || strcmp(line->value[i], "-") != 0);
}

/* The folder of a path, and the name in it. */
static const char *split(const char *path, struct stat *folder)
{
    const char *slash = strrchr(path, '/');
    char above[PATH_MAX] = ".";

    if (slash && (size_t)(slash - path) < sizeof above - 1)
        (void)snprintf(above, sizeof above, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return stat(above, folder) == 0 ? (slash ? slash + 1 : path) : NULL;
}

/* However they are spelled. A device or pipe takes what comes, one after the other. */
static bool is_same(const char *a, const char *b)
{
    struct stat st, folder[2];
    const char *name[2];

    if (stat(a, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return false;
    if (strcmp(a, b) == 0)
        return true;
    name[0] = split(a, &folder[0]);
    name[1] = split(b, &folder[1]);
    return name[0] && name[1] && name[0][0] && strcmp(name[0], name[1]) == 0 &&
           folder[0].st_dev == folder[1].st_dev && folder[0].st_ino == folder[1].st_ino;
}

int as_outputs_check(const struct as_cmd_line *line, struct assay_error *err)
{
    const struct as_opt *opt;

    for (size_t i = 0; (opt = as_cmd_opt_at(line->cmd, i)) != NULL; i++)
        for (size_t k = 0; as_output_is(line, i) && k < i; k++)
            if (as_output_is(line, k) && is_same(line->value[i], line->value[k]))
                return as_fail(err, ASSAY_ERR_USAGE, "--%s and --%s name the same file, %.100s",
                               as_cmd_opt_at(line->cmd, k)->name, opt->name, line->value[i]);
    return ASSAY_OK;
}
