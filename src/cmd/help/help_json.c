/* cmd/help/help_json.c - the tables of commands, options and topics as JSON, for programs that
 * drive assay. The same words as the help on the screen. */
#include "cmd/help/help_text.h"

#include "base/json/json_writer.h"
#include "cmd/cmd.h"

static void put_words(struct as_json_writer *w, const char *key, as_word_at word_at)
{
    const char *word;

    if (!word_at) {
        as_json_kv_null(w, key);
        return;
    }
    as_json_kv_array(w, key);
    for (size_t i = 0; (word = word_at(i)) != NULL; i++)
        as_json_text(w, word);
    as_json_array_end(w);
}

static void put_opts(struct as_json_writer *w, const char *key, const struct as_opt *opt)
{
    as_json_kv_array(w, key);
    for (; opt && opt->name; opt++) {
        as_json_object(w);
        as_json_kv_text(w, "name", opt->name);
        as_json_key(w, "letter");
        as_json_text_n(w, &opt->letter, opt->letter ? 1 : 0);
        as_json_kv_text(w, "argument", opt->argument);
        as_json_kv_text(w, "help", opt->help);
        as_json_kv_text(w, "group", as_opt_group(opt));
        put_words(w, "words", opt->word_at);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void put_examples(struct as_json_writer *w, const struct as_example *example)
{
    as_json_kv_array(w, "examples");
    for (; example && example->line; example++) {
        as_json_object(w);
        as_json_kv_text(w, "line", example->line);
        as_json_kv_text(w, "what", example->what);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void put_command(struct as_json_writer *w, const struct as_cmd *cmd)
{
    as_json_object(w);
    AS_JSON_FIELDS(w, cmd, name, summary, usage, details);
    put_examples(w, cmd->examples);
    put_opts(w, "options", cmd->opts);
    as_json_object_end(w);
}

static void put_topics(struct as_json_writer *w)
{
    const struct as_topic *topic;
    const char *word;

    as_json_kv_array(w, "topics");
    for (size_t i = 0; (topic = as_topic_at(i)) != NULL; i++) {
        as_json_object(w);
        as_json_kv_text(w, "name", topic->name);
        as_json_kv_text(w, "summary", topic->summary);
        as_json_kv_object(w, "words");
        for (size_t k = 0; (word = topic->word_at(k)) != NULL; k++)
            as_json_kv_text(w, word, topic->meaning_at(k));
        as_json_object_end(w);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

int as_help_json(struct as_out *out, const struct as_cmd *only, struct assay_error *err)
{
    struct as_json_writer w;
    const struct as_cmd *cmd;

    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.help");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_array(&w, "commands");
    for (size_t i = 0; (cmd = as_cmd_at(i)) != NULL; i++) {
        if (!only || only == cmd)
            put_command(&w, cmd);
    }
    as_json_array_end(&w);
    put_opts(&w, "common_options", as_common_opts);
    if (!only)
        put_topics(&w);
    as_json_object_end(&w);
    as_out_char(out, '\n');
    return as_json_writer_finish(&w, err);
}
