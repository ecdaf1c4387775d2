/* experiment/bench/grid.h - what varies in an experiment: axes with their values, and every
 * combination of them, which is a setting. Values are text; who runs the settings says what they
 * mean. */
#ifndef AS_EXPERIMENT_BENCH_GRID_H
#define AS_EXPERIMENT_BENCH_GRID_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json/json_fields.h"

enum { AS_GRID_AXES = 8, AS_GRID_VALUES = 64, AS_GRID_SETTINGS = 256, AS_GRID_NAME = 200 };

struct as_grid_axis {
    const char *name;
    const char *values[AS_GRID_VALUES];
    size_t n;
};

/* {0} is an empty grid: one setting without a name. */
struct as_grid {
    struct as_grid_axis axes[AS_GRID_AXES];
    size_t n_axes;
    struct as_arena arena; /* holds the text */
};

/* "threads=1,2,4". USAGE for anything else, a name or value that stands twice, an empty value, and
 * a grid that grows too large. */
AS_MUST_USE int as_grid_add(struct as_grid *grid, const char *text, struct assay_error *err);
void as_grid_fini(struct as_grid *grid);

/* How many settings there are; the last axis varies fastest. */
size_t as_grid_count(const struct as_grid *grid);

/* The value of axis `axis` in setting `setting`. */
const char *as_grid_value(const struct as_grid *grid, size_t setting, size_t axis);

/* "threads=1,batch=8", shortened to fit; "all" for a grid without axes. */
void as_grid_name(const struct as_grid *grid, size_t setting, char out[AS_GRID_NAME]);

/* The setting that "threads=1,batch=8" means; every axis must be named once. */
AS_MUST_USE int as_grid_find(const struct as_grid *grid, const char *text, size_t *setting,
                             struct assay_error *err);

/* `pattern` with every {name} replaced by its value, in the arena; {{ is a brace. USAGE for a name
 * that is no axis, and when memory runs out (NOMEM). */
AS_MUST_USE int as_grid_fill(struct as_grid *grid, size_t setting, const char *pattern,
                             const char **out, struct assay_error *err);

/* Whether `pattern` has {name} in it. */
bool as_grid_uses(const char *pattern, const char *name);

/* As a run keeps it; its text is then the run's. */
extern const struct as_json_shape as_grid_shape;

/* Whether what was read is a grid of so many settings. */
bool as_grid_is_sound(const struct as_grid *grid, size_t n_settings);

#endif
