/* api/manager/extension_json.c - the small JSON writer that extensions get, and their part of a
 * report. Whatever an extension does wrong costs its own part, never the report. */
#include <string.h>

#include "api/manager/manager_internal.h"
#include "base/json/json_writer.h"

#define DEPTH 32

struct assay_json {
    struct as_json_writer w;
    bool array[DEPTH]; /* the kind of what is open */
    unsigned depth;
    const char *wrong; /* the first mistake; nothing is written after it */
};

/* The place for a value: its key is written, or there is none to write. */
static bool place(struct assay_json *json, const char *key)
{
    bool array = json && json->array[json->depth];

    if (!json)
        return false;
    if (!json->wrong && array && key)
        json->wrong = "the profiler gave a key inside an array";
    if (!json->wrong && !array && !key)
        json->wrong = "the profiler gave no key inside an object";
    if (json->wrong)
        return false;
    if (key)
        as_json_key(&json->w, key);
    return true;
}

void assay_json_number(struct assay_json *json, const char *key, double value)
{
    if (place(json, key))
        as_json_f64(&json->w, value);
}

void assay_json_count(struct assay_json *json, const char *key, uint64_t value)
{
    if (place(json, key))
        as_json_u64(&json->w, value);
}

void assay_json_text(struct assay_json *json, const char *key, const char *value)
{
    if (place(json, key))
        as_json_text(&json->w, value);
}

void assay_json_flag(struct assay_json *json, const char *key, bool value)
{
    if (place(json, key))
        as_json_bool(&json->w, value);
}

static void open_one(struct assay_json *json, const char *key, bool array)
{
    if (json && json->depth + 1 == DEPTH && !json->wrong)
        json->wrong = "the profiler nested its part too deep";
    if (!place(json, key))
        return;
    if (array)
        as_json_array(&json->w);
    else
        as_json_object(&json->w);
    json->array[++json->depth] = array;
}

void assay_json_object(struct assay_json *json, const char *key)
{
    open_one(json, key, false);
}

void assay_json_array(struct assay_json *json, const char *key)
{
    open_one(json, key, true);
}

void assay_json_close(struct assay_json *json)
{
    if (!json)
        return;
    if (!json->wrong && json->depth == 0)
        json->wrong = "the profiler closed more than it opened";
    if (json->wrong)
        return;
    if (json->array[json->depth--])
        as_json_array_end(&json->w);
    else
        as_json_object_end(&json->w);
}

/* Into a text of its own first: half a part would spoil the whole. */
static int write_part(struct as_out *out, const struct as_manager_extension *e,
                      struct assay_error *err)
{
    struct assay_json json = {0};
    int rc = ASSAY_OK;

    as_json_writer_init(&json.w, out, 0);
    as_json_object(&json.w);
    if (e->table.report)
        rc = e->table.report(e->state, &json, err);
    if (rc < 0)
        return rc;
    if (!json.wrong && json.depth)
        json.wrong = "the profiler closed less than it opened";
    if (json.wrong)
        return as_fail(err, ASSAY_ERR_STATE, "%s", json.wrong);
    as_json_object_end(&json.w);
    return as_json_writer_finish(&json.w, err);
}

int as_manager_write_extension(const struct as_manager_extension *e, struct as_arena *arena,
                               struct as_manager_extra *to, struct assay_error *err)
{
    struct assay_error wrong = {0};
    const char *text;
    struct as_out out;
    size_t size;
    int rc = as_out_memory(&out, err);

    if (rc < 0)
        return rc;
    *to = (struct as_manager_extra){.name = e->name};
    rc = write_part(&out, e, &wrong);
    if (rc == ASSAY_OK && !as_out_ok(&out))
        rc = as_fail_nomem(&wrong);
    text = rc < 0 ? wrong.msg : as_out_get(&out, &size);
    text = as_arena_text(arena, text, strlen(text));
    if (rc < 0)
        to->reason = text;
    else
        to->json = text;
    as_out_drop(&out);
    return text ? ASSAY_OK : as_fail_nomem(err);
}
