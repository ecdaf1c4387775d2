/* trace/run/run_facts.c - looks up the facts kept with a run by a path such as "host.cpu_model".
 * A later meta block's word wins over an earlier one's. */
#include "trace/run/run_reader.h"

#include <string.h>

#include "base/json/json_parser.h"
#include "base/text/redact.h"

/* Moves the parser behind the key `part` of the object it is about to enter; false when there is
 * none. */
static bool enter_key(struct as_json_parser *p, const char *part, size_t size)
{
    if (as_json_next(p, NULL) != AS_JSON_OBJECT)
        return false;
    while (as_json_next(p, NULL) == AS_JSON_KEY) {
        if (p->text_size == size && memcmp(p->text, part, size) == 0)
            return true;
        if (as_json_skip(p, NULL) < 0)
            return false;
    }
    return false;
}

/* The kind of token at "a.b" of one meta block, the parser left on it; AS_JSON_END when there is
 * none. */
static int find(struct as_json_parser *p, const char *json, const char *path)
{
    as_json_parser_init(p, json, strlen(json));
    for (;;) {
        const char *dot = strchr(path, '.');

        if (!enter_key(p, path, dot ? (size_t)(dot - path) : strlen(path)))
            return AS_JSON_END;
        if (!dot)
            return as_json_next(p, NULL);
        path = dot + 1;
    }
}

const char *as_run_fact_text(struct as_run *run, const char *path)
{
    const char *found = NULL;

    for (size_t i = run->n_meta; i-- > 0 && !found;) {
        struct as_json_parser p;

        if (find(&p, run->meta[i], path) == AS_JSON_STRING)
            found = as_arena_text(&run->arena, p.text, p.text_size);
        as_json_parser_fini(&p);
    }
    return found;
}

bool as_run_fact_is(const struct as_run *run, const char *path, const char *text)
{
    bool found = false, equal = false;

    for (size_t i = run->n_meta; i-- > 0 && !found;) {
        struct as_json_parser p;

        found = find(&p, run->meta[i], path) == AS_JSON_STRING;
        equal = found && p.text_size == strlen(text) && memcmp(p.text, text, p.text_size) == 0;
        as_json_parser_fini(&p);
    }
    return equal;
}

bool as_run_fact_number(const struct as_run *run, const char *path, double *out)
{
    bool found = false;

    for (size_t i = run->n_meta; i-- > 0 && !found;) {
        struct as_json_parser p;

        found = find(&p, run->meta[i], path) == AS_JSON_NUMBER &&
                as_json_get_f64(&p, out, NULL) == ASSAY_OK;
        as_json_parser_fini(&p);
    }
    return found;
}

const char *as_run_fact_list(struct as_run *run, const char *path)
{
    const char *found = NULL;

    for (size_t i = run->n_meta; i-- > 0 && !found;) {
        struct as_buffer joined = {.max_bytes = 1u << 16};
        struct as_json_parser p;

        if (find(&p, run->meta[i], path) == AS_JSON_ARRAY) {
            while (as_json_next(&p, NULL) == AS_JSON_STRING) {
                bool hide = run->redacted && joined.size;

                if (joined.size && !joined.failed)
                    as_buffer_add(&joined, " ", 1);
                as_buffer_add(&joined, hide ? AS_REDACTED : p.text,
                              hide ? sizeof AS_REDACTED - 1 : p.text_size);
            }
            if (joined.size && !joined.failed)
                found = as_arena_text(&run->arena, (const char *)joined.data, joined.size);
        }
        as_buffer_fini(&joined);
        as_json_parser_fini(&p);
    }
    return found;
}
