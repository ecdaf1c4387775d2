/* cmd/cmd_table.c - the one list of commands.
 * Adding a command is a new file and one line in cmd_table.c. */
#include "cmd/cmd.h"

#include <string.h>

/* In the order of the help. */
#define COMMANDS(X)                                                                                \
    X(inspect)                                                                                     \
    X(profile)                                                                                     \
    X(sweep)                                                                                       \
    X(tune)                                                                                        \
    X(run)                                                                                         \
    X(report)                                                                                      \
    X(diff)                                                                                        \
    X(bench)                                                                                       \
    X(machine)                                                                                     \
    X(export)                                                                                      \
    X(verify)                                                                                      \
    X(bundle)                                                                                      \
    X(zoo)                                                                                         \
    X(explain)                                                                                     \
    X(help)                                                                                        \
    X(version)                                                                                     \
    X(completion)                                                                                  \
    X(man)

#define X(name) extern const struct as_cmd as_cmd_##name;
COMMANDS(X)
#undef X

enum {
#define X(name) COMMAND_##name,
    COMMANDS(X)
#undef X
        N_COMMANDS
};

static const struct as_cmd *const table[N_COMMANDS] = {
#define X(name) [COMMAND_##name] = &as_cmd_##name,
    COMMANDS(X)
#undef X
};

const struct as_cmd *as_cmd_at(size_t i)
{
    return i < N_COMMANDS ? table[i] : NULL;
}

const char *as_cmd_name_at(size_t i)
{
    return i < N_COMMANDS ? table[i]->name : NULL;
}

const struct as_cmd *as_cmd_find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    }
    return NULL;
}

/* A command may say in its own words what a common option means there. */
static bool has_own(const struct as_cmd *cmd, const char *name)
{
    const struct as_opt *opt = cmd->opts;

    while (opt && opt->name && strcmp(opt->name, name) != 0)
        opt++;
    return opt && opt->name;
}

const struct as_opt *as_cmd_opt_at(const struct as_cmd *cmd, size_t i)
{
    const struct as_opt *opt = cmd->opts;

    for (; opt && opt->name; opt++) {
        if (i-- == 0)
            return opt;
    }
    for (opt = as_common_opts; opt->name; opt++) {
        if (!has_own(cmd, opt->name) && i-- == 0)
            return opt;
    }
    return NULL;
}
