/* tests/unit/manager_kit.h - managers with the profilers a test wants, and their reports as trees.
 */
#ifndef AS_TESTS_MANAGER_KIT_H
#define AS_TESTS_MANAGER_KIT_H

#include <assay/manager.h>

#include "base/json/json_tree.h"
#include "unit.h"

/* Of one profiler alone, or of all when `name` is NULL; started. */
static inline struct assay_manager *kit_manager(const char *name)
{
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    struct assay_manager *m;

    options.profilers = name ? &name : NULL;
    options.n_profilers = name ? 1 : 0;
    assert_int_equal(assay_manager_new(&m, &options, NULL), ASSAY_OK);
    assert_int_equal(assay_manager_start(m, NULL), ASSAY_OK);
    return m;
}

static inline void kit_call(struct assay_manager *m, const char *layer)
{
    struct assay_manager_span span = assay_manager_layer_begin(m, layer);

    assert_int_equal(assay_manager_layer_end(m, &span, NULL, 0, NULL), ASSAY_OK);
}

/* A text of the manager, parsed; kit_forget() frees both. */
struct kit_tree {
    struct as_arena arena;
    char *text;
    const struct as_json_value *root;
};

static inline struct kit_tree kit_parse(char *text, size_t size)
{
    struct kit_tree tree = {.text = text};

    assert_int_equal(as_json_tree_read(&tree.root, &tree.arena, text, size, 1u << 22, NULL),
                     ASSAY_OK);
    return tree;
}

static inline struct kit_tree kit_report(struct assay_manager *m)
{
    char *text;
    size_t size;

    assert_int_equal(assay_manager_report(m, &text, &size, NULL), ASSAY_OK);
    return kit_parse(text, size);
}

static inline void kit_forget(struct kit_tree *tree)
{
    as_arena_fini(&tree->arena);
    assay_manager_text_free(tree->text);
}

static inline bool kit_is_null(const struct kit_tree *tree, const char *key)
{
    const struct as_json_value *v = as_json_get(tree->root, key);

    assert_non_null(v);
    return v->type == AS_TYPE_NULL;
}

#endif
