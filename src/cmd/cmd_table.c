/* cmd/cmd_table.c - the one list of commands.
 * Adding a command is a new file and one line in cmd_table.c. */
#include "cmd/cmd_table.h"

#include <string.h>

extern const struct as_cmd as_cmd_report, as_cmd_export, as_cmd_verify, as_cmd_help, as_cmd_version,
    as_cmd_completion, as_cmd_man;

static const struct as_cmd *const table[] = {
    &as_cmd_report,  &as_cmd_export,     &as_cmd_verify, &as_cmd_help,
    &as_cmd_version, &as_cmd_completion, &as_cmd_man,
};

const struct as_cmd *as_cmd_at(size_t i)
{
    return i < sizeof table / sizeof *table ? table[i] : NULL;
}

const char *as_cmd_name_at(size_t i)
{
    const struct as_cmd *cmd = as_cmd_at(i);

    return cmd ? cmd->name : NULL;
}

const struct as_cmd *as_cmd_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    }
    return NULL;
}

const struct as_opt *as_cmd_opt_at(const struct as_cmd *cmd, size_t i)
{
    const struct as_opt *opt = cmd->opts;

    for (; opt && opt->name; opt++) {
        if (i-- == 0)
            return opt;
    }
    for (opt = as_common_opts; opt->name; opt++) {
        if (i-- == 0)
            return opt;
    }
    return NULL;
}
