/* cmd/common/options.h - reads a command's options and operands, and checks them before it runs.
 * A name asked for below must be an option of the command: anything else is our own mistake. */
#ifndef AS_CMD_COMMON_OPTIONS_H
#define AS_CMD_COMMON_OPTIONS_H

#include <stdbool.h>

#include "cmd/cmd.h"

#define AS_CMD_MAX_OPTS 72 /* of a command, the common ones included */
#define AS_CMD_MAX_LIST 64 /* values of AS_OPT_LIST options on one line */

struct as_cmd_line {
    const struct as_cmd *cmd;
    const char *value[AS_CMD_MAX_OPTS]; /* as as_cmd_opt_at(); "" for a flag; NULL: not given */
    const char *list[AS_CMD_MAX_LIST];  /* values of all AS_OPT_LIST options in order */
    unsigned char list_place[AS_CMD_MAX_LIST];
    int given_at[AS_CMD_MAX_OPTS], list_at[AS_CMD_MAX_LIST]; /* where among the arguments */
    size_t n_list;
    const char *const *operand;
    int n_operands;
    bool after_dashes; /* the operands stand behind --, some of them at least */
};

/* Reads the arguments after the command's name; `argv` is reordered in place and borrowed.
 * `--name=value`, `--name value`, `-x value`, `-xvalue`; `--` ends options, as the first operand
 * does where the command says so; the last of several wins. ASSAY_ERR_USAGE with a sentence that
 * names the fix. --help asks for no operands. */
AS_MUST_USE int as_options_parse(struct as_cmd_line *line, const struct as_cmd *cmd, int argc,
                                 char **argv, struct assay_error *err);

/* Where the command's name stands in `argv` when common options come before it; 0: nowhere. */
int as_options_find_command(int argc, char **argv);

bool as_opt_given(const struct as_cmd_line *line, const char *name);

/* Whether the command has such an option: the one question that any name may be put to. */
bool as_opt_known(const struct as_cmd_line *line, const char *name);

/* Of --format or --json; text for a command that has neither. */
enum as_output_format as_format_of(const struct as_cmd_line *line);

/* ASSAY_ERR_USAGE when both flags are given. */
AS_MUST_USE int as_opt_choose_one(const struct as_cmd_line *line, const char *one,
                                  const char *other, struct assay_error *err);

/* NULL when not given. */
const char *as_opt_text(const struct as_cmd_line *line, const char *name);

uint64_t as_opt_number(const struct as_cmd_line *line, const char *name, uint64_t fallback);

/* The i-th value of an AS_OPT_LIST option; NULL after the last. */
const char *as_opt_list_at(const struct as_cmd_line *line, const char *name, size_t i);

/* Where among the arguments an option stands; of AS_OPT_LIST its i-th value. */
int as_opt_position(const struct as_cmd_line *line, const char *name, size_t i);

/* The place of the word given, as its word_at counts; `fallback` when not given. */
int as_opt_word(const struct as_cmd_line *line, const char *name, int fallback);

/* Puts the places of the words given into `places` and returns how many, at most `capacity`. */
size_t as_opt_words(const struct as_cmd_line *line, const char *name, unsigned *places,
                    size_t capacity);

/* ASSAY_ERR_USAGE: what `word` could have meant instead, from the words of `word_at`. `what` as in
 * "--sort". */
int as_fail_word(struct assay_error *err, const char *what, const char *word, as_word_at word_at);

#endif
