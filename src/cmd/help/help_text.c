/* cmd/help/help_text.c - the words of commands and options as help, manual and completion all print
 * them. Also the topics that belong to no command. */
#include "cmd/help/help_text.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/run/layer_columns.h"
#include "report/run/report.h"
#include "report/run/show.h"

#define ENTRY_INDENT 26   /* where the sentences of a list begin */
#define NARROW_RANGE 1024 /* larger limits are there to refuse nonsense */
#define MOST_WIDTH   100  /* longer lines are hard to read, however wide the window */

void as_opt_label(const struct as_opt *opt, char out[AS_WORDS_BYTES])
{
    char letter[8] = "    ";

    if (opt->letter)
        snprintf(letter, sizeof letter, "-%c, ", opt->letter);
    snprintf(out, AS_WORDS_BYTES, "%s--%s%s%s", letter, opt->name, opt->argument ? "=" : "",
             opt->argument ? opt->argument : "");
}

/* The range of a number, where it narrows the choice: "at least 1" needs no saying. */
static size_t put_range(const struct as_opt *opt, char *out, size_t capacity)
{
    if (opt->kind != AS_OPT_NUMBER || opt->max > NARROW_RANGE)
        return 0;
    return (size_t)snprintf(out, capacity, " (%llu to %llu)", (unsigned long long)opt->min,
                            (unsigned long long)opt->max);
}

void as_opt_sentence(const struct as_opt *opt, char out[AS_WORDS_BYTES])
{
    const char *tail = strstr(opt->help, " [default:");
    int head = (int)(tail ? (size_t)(tail - opt->help) : strlen(opt->help));
    size_t used = (size_t)snprintf(out, AS_WORDS_BYTES, "%.*s", head, opt->help);
    const char *word;

    used += put_range(opt, out + used, AS_WORDS_BYTES - used);
    for (size_t i = 0; opt->word_at && (word = opt->word_at(i)) && used < AS_WORDS_BYTES; i++)
        used += (size_t)snprintf(out + used, AS_WORDS_BYTES - used, "%s%s", i ? ", " : ": ", word);
    if (tail && used < AS_WORDS_BYTES)
        (void)snprintf(out + used, AS_WORDS_BYTES - used, "%s", tail);
}

const char *as_opt_group_at(const struct as_opt *opts, size_t i)
{
    for (const struct as_opt *opt = opts; opt && opt->name; opt++) {
        const struct as_opt *first = opts;

        while (strcmp(as_opt_group(first), as_opt_group(opt)) != 0)
            first++;
        if (first == opt && i-- == 0)
            return as_opt_group(opt);
    }
    return NULL;
}

const char *as_opt_group(const struct as_opt *opt)
{
    return opt->group ? opt->group : "Options";
}

static void put_blanks(struct as_out *out, size_t n)
{
    while (n-- > 0)
        as_out_char(out, ' ');
}

void as_put_wrapped(struct as_out *out, const char *text, size_t at, size_t indent, size_t width)
{
    width = width < MOST_WIDTH ? width : MOST_WIDTH;
    while (*text) {
        size_t size = strcspn(text, " ");

        if (at > indent && at + 1 + size > width) {
            as_out_char(out, '\n');
            at = 0;
        }
        if (at < indent) {
            put_blanks(out, indent - at);
            at = indent;
        } else if (at > indent) {
            as_out_char(out, ' ');
            at++;
        }
        as_out_put(out, text, size);
        at += size;
        text += size + strspn(text + size, " ");
    }
    as_out_char(out, '\n');
}

void as_put_entry(struct as_out *out, const char *label, const char *sentence, size_t width)
{
    size_t at = strlen(label) + 2;

    as_out_text(out, "  ");
    as_out_text(out, label);
    if (at >= ENTRY_INDENT - 1) {
        as_out_char(out, '\n');
        at = 0;
    }
    as_put_wrapped(out, sentence, at, ENTRY_INDENT, width);
}

/* ---- topics ---- */

struct pair {
    const char *word, *meaning;
};

static const struct pair exit_status[] = {
    {"0", "done"},
    {"1", "completed, but criteria not met: the run is corrupt, or a regression was found"},
    {"2", "usage error: an unknown option, command, column or thread"},
    {"3", "failure: a file cannot be read or written, memory ran out"},
    {"130, 143", "interrupted by Ctrl-C (130) or SIGTERM (143): the partial result is printed; a "
                 "second one ends it at once"},
};

static const char *exit_word(size_t i)
{
    return i < AS_COUNT_OF(exit_status) ? exit_status[i].word : NULL;
}

static const char *exit_meaning(size_t i)
{
    return i < AS_COUNT_OF(exit_status) ? exit_status[i].meaning : NULL;
}

static const struct pair environment[] = {
    {"ASSAY_MAX_ISA", "the highest instruction set that kernels use, like --max-isa"},
    {"DNNL_MAX_CPU_ISA", "oneDNN's own cap, also as ONEDNN_MAX_CPU_ISA; the lowest of all wins"},
    {"NO_COLOR", "no color, when set to anything; --color wins"},
    {"CLICOLOR_FORCE", "color also into files and pipes, when set and not 0"},
    {"TERM", "no color when unset or dumb"},
    {"COLUMNS", "the width of tables; --width wins"},
    {"XDG_CACHE_HOME", "where measured peaks are kept; ~/.cache otherwise"},
    {"LC_ALL, LC_CTYPE, LANG",
     "drawing is plain ASCII unless the first of these that is set names UTF-8"},
};

static const char *environment_word(size_t i)
{
    return i < AS_COUNT_OF(environment) ? environment[i].word : NULL;
}

static const char *environment_meaning(size_t i)
{
    return i < AS_COUNT_OF(environment) ? environment[i].meaning : NULL;
}

const char *as_schema_name_at(size_t i)
{
    const struct as_run_kind *kind;

    for (size_t k = 0; (kind = as_run_kind_at(k)) != NULL; k++)
        if (kind->document && i-- == 0)
            return kind->name;
    return NULL;
}

static const char *schema_meaning(size_t i)
{
    return as_schema_name_at(i) ? "the JSON document of such a run" : NULL;
}

static const struct as_topic topic[] = {
    {"columns", "columns of the table of layers", as_layer_metric_name_at, as_layer_metric_help_at},
    {"sections", "parts of a report", as_report_section_at, as_report_section_help},
    {"exit-status", "exit status", exit_word, exit_meaning},
    {"environment", "variables that are read", environment_word, environment_meaning},
    {"schema", "documents in JSON; 'assay help schema NAME' prints a JSON Schema",
     as_schema_name_at, schema_meaning},
};

const struct as_topic *as_topic_at(size_t i)
{
    return i < AS_COUNT_OF(topic) ? &topic[i] : NULL;
}
