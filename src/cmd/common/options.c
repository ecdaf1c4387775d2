/* cmd/common/options.c - reads a command's options and operands, and checks them before it runs. */
#include "cmd/common/options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "cmd/cmd.h"

#define MAX_WORDS     256
#define MAX_WORD_SIZE 64

static const char *color_at(size_t i)
{
    static const char *const word[] = {"auto", "always", "never"};

    return i < AS_COUNT_OF(word) ? word[i] : NULL;
}

static const char *glyphs_at(size_t i)
{
    static const char *const word[] = {"auto", "unicode", "ascii"};

    return i < AS_COUNT_OF(word) ? word[i] : NULL;
}

static const char *format_of_first(size_t i, size_t n)
{
    static const char *const word[] = {"text", "json", "markdown", "csv"};

    return i < n ? word[i] : NULL;
}

const char *as_format_at(size_t i)
{
    return format_of_first(i, 4);
}

const char *as_format_page_at(size_t i)
{
    return format_of_first(i, 3);
}

const char *as_format_plain_at(size_t i)
{
    return format_of_first(i, 2);
}

const struct as_opt as_common_opts[] = {
    {.name = "output",
     .letter = 'o',
     .kind = AS_OPT_FILE,
     .argument = "FILE",
     .help = "write to FILE, atomically; - is standard output"},
    {.name = "force",
     .kind = AS_OPT_FLAG,
     .help = "let an output replace a recorded run or a model; never a file that is read"},
    {.name = "color",
     .kind = AS_OPT_WORD,
     .argument = "WHEN",
     .help = "use color",
     .word_at = color_at},
    {.name = "glyphs",
     .kind = AS_OPT_WORD,
     .argument = "SET",
     .help = "characters for drawing",
     .word_at = glyphs_at},
    {.name = "width",
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "fit tables into N columns",
     .min = 20,
     .max = 1000},
    {.name = "quiet", .letter = 'q', .kind = AS_OPT_FLAG, .help = "print results only, no notes"},
    {.name = "help", .letter = 'h', .kind = AS_OPT_FLAG, .help = "explain the command"},
    {.name = NULL},
};

/* ---- sentences ---- */

static size_t list_words(const char **out, size_t capacity, as_word_at word_at)
{
    size_t n = 0;

    while (n < capacity && (out[n] = word_at(n)) != NULL)
        n++;
    return n;
}

int as_fail_word(struct assay_error *err, const char *what, const char *word, as_word_at word_at)
{
    const char *words[MAX_WORDS];
    size_t n = list_words(words, MAX_WORDS, word_at), used = 0;
    const char *near = as_text_nearest(word, words, n);
    char list[160] = "";

    if (near)
        return as_fail(err, ASSAY_ERR_USAGE, "%s cannot be '%.60s'; did you mean '%s'?", what, word,
                       near);
    for (size_t i = 0; i < n && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
    if (used >= sizeof list) {
        char *comma = strrchr(list, ',');

        if (comma)
            *comma = '\0';
        return as_fail(err, ASSAY_ERR_USAGE, "%s cannot be '%.40s'; it is one of %s and others",
                       what, word, list);
    }
    return as_fail(err, ASSAY_ERR_USAGE, "%s cannot be '%.60s'; it is one of %s", what, word, list);
}

static int fail_option(const struct as_cmd *cmd, const char *given, struct assay_error *err)
{
    const char *names[AS_CMD_MAX_OPTS], *near;
    const struct as_opt *opt;
    char name[MAX_WORD_SIZE];
    size_t n = 0;

    snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
    while (n < AS_CMD_MAX_OPTS && (opt = as_cmd_opt_at(cmd, n)) != NULL)
        names[n++] = opt->name;
    near = strncmp(name, "--", 2) == 0 ? as_text_nearest(name + 2, names, n) : NULL;
    if (near)
        return as_fail(err, ASSAY_ERR_USAGE, "%s has no option %s; did you mean --%s?", cmd->name,
                       name, near);
    return as_fail(err, ASSAY_ERR_USAGE, "%s has no option %s; see 'assay help %s'", cmd->name,
                   name, cmd->name);
}

/* ---- values ---- */

static int find_word(as_word_at word_at, const char *text, size_t size)
{
    const char *word;

    for (size_t i = 0; (word = word_at(i)) != NULL; i++) {
        if (strlen(word) == size && memcmp(word, text, size) == 0)
            return (int)i;
    }
    return -1;
}

static int check_words(const struct as_opt *opt, const char *value, struct assay_error *err)
{
    for (const char *at = value;;) {
        size_t size = strcspn(at, ",");

        if (find_word(opt->word_at, at, size) < 0) {
            char what[MAX_WORD_SIZE], word[MAX_WORD_SIZE];

            snprintf(what, sizeof what, "--%s", opt->name);
            snprintf(word, sizeof word, "%.*s", (int)size, at);
            return as_fail_word(err, what, word, opt->word_at);
        }
        if (at[size] == '\0')
            return ASSAY_OK;
        at += size + 1;
    }
}

static int check_value(const struct as_opt *opt, const char *value, struct assay_error *err)
{
    uint64_t number;
    char what[MAX_WORD_SIZE];

    snprintf(what, sizeof what, "--%s", opt->name);
    switch (opt->kind) {
    case AS_OPT_FLAG:
    case AS_OPT_TEXT:
    case AS_OPT_LIST:
        break;
    case AS_OPT_FILE:
    case AS_OPT_FOLDER:
        if (value[0] == '\0')
            return as_fail(err, ASSAY_ERR_USAGE, "%s needs a name, not an empty text", what);
        break;
    case AS_OPT_NUMBER:
        if (!as_parse_u64(value, strlen(value), &number) || number < opt->min || number > opt->max)
            return as_fail(err, ASSAY_ERR_USAGE,
                           "%s is a whole number from %llu to %llu, not '%.40s'", what,
                           (unsigned long long)opt->min, (unsigned long long)opt->max, value);
        break;
    case AS_OPT_WORD:
        if (find_word(opt->word_at, value, strlen(value)) < 0)
            return as_fail_word(err, what, value, opt->word_at);
        break;
    case AS_OPT_WORDS:
        return check_words(opt, value, err);
    }
    return ASSAY_OK;
}

/* ---- reading ---- */

/* The place among the command's options of the argument `arg`; its value, when joined to it, is
 * left in `value`. */
static int match(const struct as_cmd *cmd, const char *arg, const char **value)
{
    const struct as_opt *opt;
    size_t size = strcspn(arg, "=");

    *value = NULL;
    for (size_t i = 0; (opt = as_cmd_opt_at(cmd, i)) != NULL; i++) {
        if (arg[1] == '-') {
            if (size - 2 != strlen(opt->name) || memcmp(arg + 2, opt->name, size - 2) != 0)
                continue;
            *value = arg[size] == '=' ? arg + size + 1 : NULL;
            return (int)i;
        }
        if (opt->letter && arg[1] == opt->letter && (opt->argument || arg[2] == '\0')) {
            *value = arg[2] ? arg + 2 : NULL;
            return (int)i;
        }
    }
    return -1;
}

/* Takes the option at argv[*i], moving *i over its value. */
static int take_option(struct as_cmd_line *line, int argc, char **argv, int *i,
                       struct assay_error *err)
{
    const char *value;
    int place = match(line->cmd, argv[*i], &value);
    const struct as_opt *opt;
    int rc;

    if (place < 0 || place >= AS_CMD_MAX_OPTS)
        return fail_option(line->cmd, argv[*i], err);
    opt = as_cmd_opt_at(line->cmd, (size_t)place);
    if (!opt->argument && value)
        return as_fail(err, ASSAY_ERR_USAGE, "--%s takes no value", opt->name);
    if (opt->argument && !value && *i + 1 >= argc)
        return as_fail(err, ASSAY_ERR_USAGE, "--%s needs a value: --%s=%s", opt->name, opt->name,
                       opt->argument);
    if (!opt->argument)
        value = "";
    else if (!value)
        value = argv[++*i];
    rc = check_value(opt, value, err);
    line->value[place] = value;
    line->given_at[place] = *i;
    if (rc < 0 || opt->kind != AS_OPT_LIST)
        return rc;
    if (line->n_list == AS_CMD_MAX_LIST)
        return as_fail(err, ASSAY_ERR_USAGE, "--%s was given too often", opt->name);
    line->list[line->n_list] = value;
    line->list_at[line->n_list] = *i;
    line->list_place[line->n_list++] = (unsigned char)place;
    return rc;
}

static int check_operands(const struct as_cmd_line *line, struct assay_error *err)
{
    const struct as_cmd *cmd = line->cmd;

    if (line->n_operands < cmd->min_operands)
        return line->n_operands > 0
                   ? as_fail(err, ASSAY_ERR_USAGE, "%s needs %s, not '%.60s' alone: %s", cmd->name,
                             cmd->operand, line->operand[0], cmd->usage)
                   : as_fail(err, ASSAY_ERR_USAGE, "%s needs %s: %s", cmd->name, cmd->operand,
                             cmd->usage);
    if (line->n_operands > cmd->max_operands)
        return as_fail(err, ASSAY_ERR_USAGE, "%s: unexpected argument '%.60s': %s", cmd->name,
                       line->operand[cmd->max_operands], cmd->usage);
    for (int i = 0; cmd->operand_at && i < line->n_operands; i++) {
        const char *word = line->operand[i];

        if (find_word(cmd->operand_at, word, strlen(word)) < 0 &&
            !(cmd->knows_operand && cmd->knows_operand(word)))
            return as_fail_word(err, cmd->operand, word, cmd->operand_at);
    }
    return ASSAY_OK;
}

/* The place of an option that the command may not have; -1 then. */
static int find_place(const struct as_cmd *cmd, const char *name)
{
    const struct as_opt *opt;

    for (size_t i = 0; i < AS_CMD_MAX_OPTS && (opt = as_cmd_opt_at(cmd, i)) != NULL; i++)
        if (strcmp(opt->name, name) == 0)
            return (int)i;
    return -1;
}

/* --json and --format json are the same: whoever asks for either finds both. */
static int settle_format(struct as_cmd_line *line, struct assay_error *err)
{
    int format = find_place(line->cmd, "format"), json = find_place(line->cmd, "json");

    if (format < 0 || json < 0)
        return ASSAY_OK;
    if (line->value[json] && line->value[format] && strcmp(line->value[format], "json") != 0)
        return as_fail(err, ASSAY_ERR_USAGE, "choose one of --json and --format %s",
                       line->value[format]);
    if (line->value[json])
        line->value[format] = "json";
    else if (line->value[format] && strcmp(line->value[format], "json") == 0)
        line->value[json] = "";
    return ASSAY_OK;
}

int as_options_parse(struct as_cmd_line *line, const struct as_cmd *cmd, int argc, char **argv,
                     struct assay_error *err)
{
    bool options = true;
    int n = 0, rc = ASSAY_OK;

    *line = (struct as_cmd_line){.cmd = cmd};
    for (int i = 0; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0)
            options = false, line->after_dashes = true;
        else if (options && argv[i][0] == '-' && argv[i][1] != '\0')
            rc = take_option(line, argc, argv, &i, err);
        else
            argv[n++] = argv[i];
        options = options && !(n && cmd->ends_options);
        if (rc < 0)
            return rc;
    }
    line->operand = (const char *const *)argv;
    line->n_operands = n;
    rc = settle_format(line, err);
    if (rc < 0 || as_opt_given(line, "help"))
        return rc;
    return check_operands(line, err);
}

int as_options_find_command(int argc, char **argv)
{
    static const struct as_cmd none = {.name = ""};

    for (int i = 1; i < argc; i++) {
        const char *value;
        int place;

        if (argv[i][0] != '-')
            return i;
        place = match(&none, argv[i], &value);
        if (place >= 0 && as_cmd_opt_at(&none, (size_t)place)->argument && !value)
            i++;
    }
    return 0;
}

/* ---- asking ---- */

static size_t place_of(const struct as_cmd_line *line, const char *name)
{
    const struct as_opt *opt;
    size_t i = 0;

    while ((opt = as_cmd_opt_at(line->cmd, i)) != NULL && strcmp(opt->name, name) != 0)
        i++;
    assert(opt && i < AS_CMD_MAX_OPTS);
    return i;
}

bool as_opt_known(const struct as_cmd_line *line, const char *name)
{
    return find_place(line->cmd, name) >= 0;
}

enum as_output_format as_format_of(const struct as_cmd_line *line)
{
    return as_opt_known(line, "format") ? (enum as_output_format)as_opt_word(line, "format", 0)
                                        : AS_FORMAT_TEXT;
}

bool as_opt_given(const struct as_cmd_line *line, const char *name)
{
    return line->value[place_of(line, name)] != NULL;
}

int as_opt_choose_one(const struct as_cmd_line *line, const char *one, const char *other,
                      struct assay_error *err)
{
    if (as_opt_given(line, one) && as_opt_given(line, other))
        return as_fail(err, ASSAY_ERR_USAGE, "choose one of --%s and --%s", one, other);
    return ASSAY_OK;
}

const char *as_opt_text(const struct as_cmd_line *line, const char *name)
{
    return line->value[place_of(line, name)];
}

const char *as_opt_list_at(const struct as_cmd_line *line, const char *name, size_t i)
{
    size_t place = place_of(line, name);

    for (size_t k = 0; k < line->n_list; k++)
        if (line->list_place[k] == place && i-- == 0)
            return line->list[k];
    return NULL;
}

int as_opt_position(const struct as_cmd_line *line, const char *name, size_t i)
{
    size_t place = place_of(line, name);

    for (size_t k = 0; k < line->n_list; k++)
        if (line->list_place[k] == place && i-- == 0)
            return line->list_at[k];
    return line->given_at[place];
}

uint64_t as_opt_number(const struct as_cmd_line *line, const char *name, uint64_t fallback)
{
    const char *text = as_opt_text(line, name);
    uint64_t number = fallback;

    if (text && !as_parse_u64(text, strlen(text), &number))
        number = fallback;
    return number;
}

int as_opt_word(const struct as_cmd_line *line, const char *name, int fallback)
{
    const char *text = as_opt_text(line, name);
    const struct as_opt *opt = as_cmd_opt_at(line->cmd, place_of(line, name));

    return text ? find_word(opt->word_at, text, strlen(text)) : fallback;
}

size_t as_opt_words(const struct as_cmd_line *line, const char *name, unsigned *places,
                    size_t capacity)
{
    const struct as_opt *opt = as_cmd_opt_at(line->cmd, place_of(line, name));
    const char *at = as_opt_text(line, name);
    size_t n = 0;

    while (at && n < capacity) {
        size_t size = strcspn(at, ",");

        places[n++] = (unsigned)find_word(opt->word_at, at, size);
        at = at[size] ? at + size + 1 : NULL;
    }
    return n;
}
