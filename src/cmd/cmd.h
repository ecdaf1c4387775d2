/* cmd/cmd.h - what a command is: its words, its options and the function that runs it.
 * Help, completion and the manual are printed from these tables, so they cannot drift. */
#ifndef AS_CMD_CMD_H
#define AS_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What `run` returns when all went well and the answer is no. */
#define AS_ANSWER_NO 1

/* Plus an exit status, 0 to 255: what `run` returns when that of another program is to be ours. */
#define AS_ANSWER_STATUS 256

/* The i-th of some words, from 0; NULL after the last. */
typedef const char *(*as_word_at)(size_t i);

enum as_opt_kind {
    AS_OPT_FLAG,
    AS_OPT_TEXT,
    AS_OPT_LIST, /* repeatable text; each value counts */
    AS_OPT_FILE,
    AS_OPT_FOLDER,
    AS_OPT_NUMBER, /* whole, from `min` to `max` */
    AS_OPT_WORD,   /* one of `word_at` */
    AS_OPT_WORDS   /* several of them, between commas */
};

struct as_opt {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* 0: none */
    enum as_opt_kind kind;
    bool reads;           /* a FILE or FOLDER that is read; else it is written */
    bool is_private;      /* a FOLDER that is made for its owner alone */
    const char *argument; /* as in "FILE"; NULL for a flag */
    const char *help;     /* one sentence without a full stop; "[default: 10]" at its end */
    const char *group;    /* heading in the help, as in "Output"; NULL: "Options" */
    as_word_at word_at;   /* of a WORD or WORDS, or suggestions for a TEXT; may be NULL there */
    uint64_t min, max;
};

/* One use of a command, as the help shows it. */
struct as_example {
    const char *line, *what; /* the command line; what it answers */
};

/* What the operands are, for hints when a file is of another kind, and for completion. */
enum as_operand_kind { AS_OPERAND_OTHER, AS_OPERAND_MODEL, AS_OPERAND_RUN };

struct as_cmd_line; /* cmd/common/options.h: what the user gave, checked */

struct as_cmd {
    const char *name, *summary;        /* summary: one sentence without a full stop */
    const char *usage;                 /* as in "assay report [options] RUN" */
    const char *details;               /* paragraphs separated by an empty line; NULL: none */
    const struct as_example *examples; /* ended by a NULL line; NULL: none */
    const struct as_opt *opts;         /* its own; those in as_common_opts are understood as well */
    const char *operand; /* what stands behind the options, as in "RUN"; NULL: nothing */
    int min_operands, max_operands;
    bool ends_options;     /* what follows the first operand belongs to it, options and all */
    as_word_at operand_at; /* NULL: any text */
    bool (*knows_operand)(const char *word); /* other forms of them; NULL: none */
    enum as_operand_kind operand_kind;
    bool confined;            /* runs in the sandbox */
    unsigned timeout_seconds; /* of AS_OPTS_LIMITS, when not given */
    bool starts_commands;     /* which would inherit a limit on memory: it sets that itself */
    int (*run)(const struct as_cmd_line *line, struct assay_error *err);
};

/* --help, --color and the others that every command understands. */
extern const struct as_opt as_common_opts[];

/* Groups of options that several commands have. */
#define AS_GROUP_INPUT   "Model inputs"
#define AS_GROUP_MEASURE "Measurement"
#define AS_GROUP_VIEW    "What is shown"
#define AS_GROUP_OUTPUT  "Output"
#define AS_GROUP_LIMITS  "Limits"

/* For the `opts` of commands that share them. */
#define AS_OPT_TOP                                                                                 \
    {                                                                                              \
        .name = "top", .letter = 'n', .kind = AS_OPT_NUMBER, .argument = "N",                      \
        .help = "show N rows of each list", .group = AS_GROUP_VIEW, .min = 1, .max = 100000000     \
    }
#define AS_OPT_WIDE                                                                                \
    {                                                                                              \
        .name = "wide", .letter = 'w', .kind = AS_OPT_FLAG,                                        \
        .help = "do not truncate to fit the screen", .group = AS_GROUP_VIEW                        \
    }
#define AS_OPT_REDACT                                                                              \
    {                                                                                              \
        .name = "redact", .kind = AS_OPT_FLAG,                                                     \
        .help = "replace the arguments of commands and child processes by [redacted]; Markdown "   \
                "never has them",                                                                  \
        .group = AS_GROUP_OUTPUT                                                                   \
    }
/* `words` is as_format_at, or one of its shorter relatives. --json and --format json are one. */
#define AS_OPTS_FORMAT(words)                                                                      \
    {.name = "format",                                                                             \
     .group = AS_GROUP_OUTPUT,                                                                     \
     .kind = AS_OPT_WORD,                                                                          \
     .argument = "FORMAT",                                                                         \
     .help = "print the result in FORMAT [default: text]",                                         \
     .word_at = (words)},                                                                          \
    {                                                                                              \
        .name = "json", .group = AS_GROUP_OUTPUT, .kind = AS_OPT_FLAG,                             \
        .help = "the same as --format json"                                                        \
    }
#define AS_OPTS_EXPORT                                                                             \
    {.name = "export-json",                                                                        \
     .group = AS_GROUP_OUTPUT,                                                                     \
     .kind = AS_OPT_FILE,                                                                          \
     .argument = "FILE",                                                                           \
     .help = "also write the JSON document to FILE"},                                              \
        {.name = "export-csv",                                                                     \
         .group = AS_GROUP_OUTPUT,                                                                 \
         .kind = AS_OPT_FOLDER,                                                                    \
         .argument = "DIR",                                                                        \
         .help = "also write one CSV file per table to the folder DIR"},                           \
        {.name = "export-markdown",                                                                \
         .group = AS_GROUP_OUTPUT,                                                                 \
         .kind = AS_OPT_FILE,                                                                      \
         .argument = "FILE",                                                                       \
         .help = "also write the page as Markdown to FILE"},                                       \
        AS_OPT_CSV_SAFE
#define AS_OPT_CSV_SAFE                                                                            \
    {                                                                                              \
        .name = "csv-safe", .group = AS_GROUP_OUTPUT, .kind = AS_OPT_FLAG,                         \
        .help = "CSV: put an apostrophe before text that a spreadsheet would run as a formula"     \
    }

/* For commands that read files from anywhere, or run them; cmd/guard/limits.h. `seconds` is a text
 * as in "600". */
#define AS_OPTS_LIMITS(seconds)                                                                    \
    {.name = "timeout",                                                                            \
     .group = AS_GROUP_LIMITS,                                                                     \
     .kind = AS_OPT_NUMBER,                                                                        \
     .argument = "SECONDS",                                                                        \
     .help = "end with status 3 after SECONDS; 0: never [default: " seconds "]",                   \
     .max = 31536000},                                                                             \
    {                                                                                              \
        .name = "max-memory", .group = AS_GROUP_LIMITS, .kind = AS_OPT_TEXT, .argument = "SIZE",   \
        .help = "allocate SIZE of memory or less, as in 2GiB; 0: no limit [default: 90 % of what " \
                "is free]"                                                                         \
    }
#define AS_OPT_SANDBOX                                                                             \
    {                                                                                              \
        .name = "no-sandbox", .group = AS_GROUP_LIMITS, .kind = AS_OPT_FLAG,                       \
        .help = "keep the right to open any file, start programs and use the network"              \
    }

/* What a result can be printed as. */
enum as_output_format { AS_FORMAT_TEXT, AS_FORMAT_JSON, AS_FORMAT_MARKDOWN, AS_FORMAT_CSV };
const char *as_format_at(size_t i);       /* all of them */
const char *as_format_page_at(size_t i);  /* without CSV */
const char *as_format_plain_at(size_t i); /* text and JSON */

/* ---- cmd_table.c ---- */

/* The i-th command, in the order of the help; NULL after the last. */
const struct as_cmd *as_cmd_at(size_t i);
const char *as_cmd_name_at(size_t i);

/* The command of that name, or NULL. */
const struct as_cmd *as_cmd_find(const char *name);

/* An option of `cmd`, its own first, then the common ones; NULL after the last. */
const struct as_opt *as_cmd_opt_at(const struct as_cmd *cmd, size_t i);

#endif
