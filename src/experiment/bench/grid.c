/* experiment/bench/grid.c - what varies in an experiment: axes with their values, and every
 * combination of them, which is a setting. */
#include "experiment/bench/grid.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"

#define MAX_PATTERN 4096 /* bytes of a filled pattern */

static bool is_name(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!letter && !(i > 0 && ((c >= '0' && c <= '9') || c == '-' || c == '.')))
            return false;
    }
    return size > 0 && size <= 60;
}

static bool is_value(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < ' ')
            return false;
    return size > 0 && size <= 1000;
}

static const struct as_grid_axis *find_axis(const struct as_grid *grid, const char *name,
                                            size_t size)
{
    for (size_t i = 0; i < grid->n_axes; i++)
        if (strncmp(grid->axes[i].name, name, size) == 0 && !grid->axes[i].name[size])
            return &grid->axes[i];
    return NULL;
}

static int find_value(const struct as_grid_axis *axis, const char *text, size_t size)
{
    for (size_t i = 0; i < axis->n; i++)
        if (strncmp(axis->values[i], text, size) == 0 && !axis->values[i][size])
            return (int)i;
    return -1;
}

static int add_values(struct as_grid *grid, struct as_grid_axis *axis, const char *at,
                      struct assay_error *err)
{
    for (;; at++) {
        size_t size = strcspn(at, ",");

        if (!is_value(at, size))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "--grid %s has an empty value, or one that is not text", axis->name);
        if (find_value(axis, at, size) >= 0)
            return as_fail(err, ASSAY_ERR_USAGE, "--grid %s has the value %.*s twice", axis->name,
                           (int)size, at);
        if (axis->n == AS_GRID_VALUES)
            return as_fail(err, ASSAY_ERR_USAGE, "--grid %s has more than %d values", axis->name,
                           AS_GRID_VALUES);
        axis->values[axis->n] = as_arena_text(&grid->arena, at, size);
        if (!axis->values[axis->n])
            return as_fail_nomem(err);
        axis->n++;
        at += size;
        if (!*at)
            return ASSAY_OK;
    }
}

int as_grid_add(struct as_grid *grid, const char *text, struct assay_error *err)
{
    size_t size = strcspn(text, "=");
    struct as_grid_axis *axis = &grid->axes[grid->n_axes];
    int rc;

    if (!text[size] || !is_name(text, size))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--grid is a name and its values as in threads=1,2,4, not '%.60s'", text);
    if (find_axis(grid, text, size))
        return as_fail(err, ASSAY_ERR_USAGE, "--grid %.*s is given twice", (int)size, text);
    if (grid->n_axes == AS_GRID_AXES)
        return as_fail(err, ASSAY_ERR_USAGE, "a grid has at most %d axes", AS_GRID_AXES);
    *axis = (struct as_grid_axis){.name = as_arena_text(&grid->arena, text, size)};
    if (!axis->name)
        return as_fail_nomem(err);
    rc = add_values(grid, axis, text + size + 1, err);
    if (rc < 0)
        return rc;
    if (as_grid_count(grid) * axis->n > AS_GRID_SETTINGS)
        return as_fail(err, ASSAY_ERR_USAGE, "a grid has at most %d settings", AS_GRID_SETTINGS);
    grid->n_axes++;
    return ASSAY_OK;
}

void as_grid_fini(struct as_grid *grid)
{
    as_arena_fini(&grid->arena);
    grid->n_axes = 0;
}

size_t as_grid_count(const struct as_grid *grid)
{
    size_t n = 1;

    for (size_t i = 0; i < grid->n_axes; i++)
        n *= grid->axes[i].n;
    return n;
}

const char *as_grid_value(const struct as_grid *grid, size_t setting, size_t axis)
{
    for (size_t i = grid->n_axes; i-- > axis + 1;)
        setting /= grid->axes[i].n;
    return grid->axes[axis].values[setting % grid->axes[axis].n];
}

void as_grid_name(const struct as_grid *grid, size_t setting, char out[AS_GRID_NAME])
{
    size_t used = 0;

    (void)snprintf(out, AS_GRID_NAME, "all");
    for (size_t i = 0; i < grid->n_axes && used < AS_GRID_NAME; i++) {
        int n = snprintf(out + used, AS_GRID_NAME - used, "%s%s=%s", i ? "," : "",
                         grid->axes[i].name, as_grid_value(grid, setting, i));

        used += n > 0 ? (size_t)n : 0;
    }
}

int as_grid_find(const struct as_grid *grid, const char *text, size_t *setting,
                 struct assay_error *err)
{
    int place[AS_GRID_AXES];

    for (size_t i = 0; i < AS_GRID_AXES; i++)
        place[i] = -1;
    for (const char *at = text;; at++) {
        size_t name = strcspn(at, "="), size = strcspn(at, ",");
        const struct as_grid_axis *axis = name < size ? find_axis(grid, at, name) : NULL;
        int value = axis ? find_value(axis, at + name + 1, size - name - 1) : -1;

        if (value < 0)
            return as_fail(
                err, ASSAY_ERR_USAGE,
                "'%.*s' is not an axis and value of the grid; write it as NAME=VALUE,...",
                (int)(size < 60 ? size : 60), at);
        if (place[axis - grid->axes] >= 0)
            return as_fail(err, ASSAY_ERR_USAGE, "'%.60s' names %s twice", text, axis->name);
        place[axis - grid->axes] = value;
        at += size;
        if (!*at)
            break;
    }
    *setting = 0;
    for (size_t i = 0; i < grid->n_axes; i++) {
        if (place[i] < 0)
            return as_fail(err, ASSAY_ERR_USAGE, "'%.60s' gives no value for %s", text,
                           grid->axes[i].name);
        *setting = *setting * grid->axes[i].n + (size_t)place[i];
    }
    return ASSAY_OK;
}

bool as_grid_uses(const char *pattern, const char *name)
{
    size_t size = strlen(name);

    for (const char *at = pattern; (at = strchr(at, '{')) != NULL; at++) {
        if (at[1] == '{')
            at++;
        else if (strncmp(at + 1, name, size) == 0 && at[1 + size] == '}')
            return true;
    }
    return false;
}

int as_grid_fill(struct as_grid *grid, size_t setting, const char *pattern, const char **out,
                 struct assay_error *err)
{
    struct as_buffer filled = {.max_bytes = MAX_PATTERN};
    int rc = ASSAY_OK;

    for (const char *at = pattern; rc == ASSAY_OK && *at;) {
        size_t plain = strcspn(at, "{"), size = strcspn(at + plain, "}");
        const struct as_grid_axis *axis;

        (void)as_buffer_add(&filled, at, plain);
        at += plain;
        if (!*at)
            break;
        if (at[1] == '{') {
            (void)as_buffer_add(&filled, "{", 1);
            at += 2;
            continue;
        }
        axis = at[size] ? find_axis(grid, at + 1, size - 1) : NULL;
        if (axis) {
            const char *value = as_grid_value(grid, setting, (size_t)(axis - grid->axes));

            (void)as_buffer_add(&filled, value, strlen(value));
            at += size + 1;
        } else if (at[size] && is_name(at + 1, size - 1)) {
            rc = as_fail(err, ASSAY_ERR_USAGE,
                         "{%.*s} is not an axis of the grid; a brace that is meant is written {{",
                         (int)size - 1, at + 1);
        } else { /* not a name: text of the command's own, as in awk '{print}' */
            (void)as_buffer_add(&filled, at++, 1);
        }
    }
    if (rc == ASSAY_OK && filled.failed)
        rc = as_fail(err, ASSAY_ERR_LIMIT, "'%.40s' is too long when it is filled in", pattern);
    if (rc == ASSAY_OK) {
        *out =
            as_arena_text(&grid->arena, filled.size ? (const char *)filled.data : "", filled.size);
        rc = *out ? ASSAY_OK : as_fail_nomem(err);
    }
    as_buffer_fini(&filled);
    return rc;
}

/* ---- as a run keeps it ---- */

static const struct as_json_field axis_fields[] = {
    AS_FIELD(struct as_grid_axis, name),
    {.key = "values",
     .kind = AS_FIELD_ARRAY,
     .item = AS_FIELD_TEXT,
     .offset = offsetof(struct as_grid_axis, values),
     .size = sizeof(const char *),
     .count_offset = offsetof(struct as_grid_axis, n),
     .count_size = sizeof(size_t),
     .max = AS_GRID_VALUES},
};
static const struct as_json_shape axis_shape = AS_SHAPE(struct as_grid_axis, axis_fields);

static const struct as_json_field grid_fields[] = {
    AS_FIELD_ARRAY(struct as_grid, axes, n_axes, &axis_shape),
};
const struct as_json_shape as_grid_shape = AS_SHAPE(struct as_grid, grid_fields);

bool as_grid_is_sound(const struct as_grid *grid, size_t n_settings)
{
    uint64_t n = 1;

    for (size_t a = 0; a < grid->n_axes; a++) {
        if (!grid->axes[a].name || grid->axes[a].n == 0)
            return false;
        for (size_t i = 0; i < grid->axes[a].n; i++)
            if (!grid->axes[a].values[i])
                return false;
        n *= grid->axes[a].n;
        if (n > n_settings)
            return false;
    }
    return n == n_settings;
}
