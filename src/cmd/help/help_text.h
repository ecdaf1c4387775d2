/* cmd/help/help_text.h - the words of commands and options as help, manual and completion all print
 * them. Also the topics that belong to no command. */
#ifndef AS_CMD_HELP_HELP_TEXT_H
#define AS_CMD_HELP_HELP_TEXT_H

#include "base/output.h"
#include "cmd/cmd.h"
#include "cmd/common/options.h"

#define AS_WORDS_BYTES 768

/* "-s, --section=NAME,..." */
void as_opt_label(const struct as_opt *opt, char out[AS_WORDS_BYTES]);

/* The help sentence with the words or numbers the option takes. */
void as_opt_sentence(const struct as_opt *opt, char out[AS_WORDS_BYTES]);

/* The heading an option stands under, and the i-th heading of a table in order of appearance; NULL
 * after the last. */
const char *as_opt_group(const struct as_opt *opt);
const char *as_opt_group_at(const struct as_opt *opts, size_t i);

/* `text` from column `indent` on, wrapped at `width`; the cursor stands at column `at`. Ends the
 * line. */
void as_put_wrapped(struct as_out *out, const char *text, size_t at, size_t indent, size_t width);

/* A label and its sentence as one entry of a list. */
void as_put_entry(struct as_out *out, const char *label, const char *sentence, size_t width);

/* A part of help that belongs to no command: pairs of a word and its meaning. */
struct as_topic {
    const char *name, *summary;
    as_word_at word_at, meaning_at;
};

/* NULL after the last. */
const struct as_topic *as_topic_at(size_t i);

/* The i-th document that has a schema; NULL after the last. */
const char *as_schema_name_at(size_t i);

/* ---- cmd_help.c ---- */

/* Explains `cmd`, as --help does. */
AS_MUST_USE int as_help_print(const struct as_cmd_line *line, const struct as_cmd *cmd,
                              struct assay_error *err);

/* The screen of `assay` alone: what to type first. */
AS_MUST_USE int as_start_print(struct assay_error *err);

/* ---- help_json.c ---- */

/* Everything, or one command when `only` is given. */
AS_MUST_USE int as_help_json(struct as_out *out, const struct as_cmd *only,
                             struct assay_error *err);

#endif
