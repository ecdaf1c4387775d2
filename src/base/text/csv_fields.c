/* base/text/csv_fields.c - structs as rows of CSV, by the table of their fields. */
#include "base/text/csv_fields.h"

#include <string.h>

static bool has_column(const struct as_json_field *f)
{
    return f->kind != AS_FIELD_OBJECT && f->kind != AS_FIELD_REF && f->kind != AS_FIELD_OWN;
}

void as_csv_fields_keys(struct as_csv_writer *w, const struct as_json_shape *shape)
{
    for (size_t i = 0; i < shape->n; i++) {
        if (!shape->field[i].key)
            as_csv_fields_keys(w, shape->field[i].shape);
        else if (has_column(&shape->field[i]))
            as_csv_text(w, shape->field[i].key);
    }
}

void as_csv_fields_header(struct as_csv_writer *w, const struct as_json_shape *shape)
{
    as_csv_fields_keys(w, shape);
    as_csv_row_end(w);
}

/* The JSON of the value: a text without its quotes, null as an empty field, the rest as it is. */
static void put_value(struct as_csv_writer *w, const struct as_json_field *f, const void *object)
{
    struct as_json_cell cell = as_json_field_cell(f, object);

    switch (cell.kind) {
    case AS_JSON_STRING:
        as_csv_name(w, cell.text);
        break;
    case AS_JSON_NUMBER:
        if (cell.is_whole)
            as_csv_u64(w, cell.whole);
        else if (as_csv_is_ns(f->key))
            as_csv_ns(w, cell.real);
        else
            as_csv_f64(w, cell.real);
        break;
    case AS_JSON_TRUE:
    case AS_JSON_FALSE:
        as_csv_text(w, cell.kind == AS_JSON_TRUE ? "true" : "false");
        break;
    default:
        as_csv_empty(w);
    }
}

void as_csv_fields_values(struct as_csv_writer *w, const struct as_json_shape *shape,
                          const void *object)
{
    for (size_t i = 0; i < shape->n; i++) {
        const struct as_json_field *f = &shape->field[i];

        if (!f->key)
            as_csv_fields_values(w, f->shape, as_json_field_members(f, object));
        else if (has_column(f))
            put_value(w, f, object);
    }
}

void as_csv_fields_row(struct as_csv_writer *w, const struct as_json_shape *shape,
                       const void *object)
{
    as_csv_fields_values(w, shape, object);
    as_csv_row_end(w);
}
