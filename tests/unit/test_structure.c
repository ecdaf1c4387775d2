/* Nodes that cost time and compute nothing new: found where they are, and nowhere else. */
#include "cost_kit.h"
#include "model/structure/structure.h"

/* The places and nodes of one kind; 0 where it is not found. */
static struct as_structure find(const char *text, enum as_structure_kind kind,
                                struct as_arena *arena)
{
    struct as_structure found[AS_STRUCTURE_COUNT] = {0}, none = {0};
    struct cost_kit k;
    size_t n;

    cost_open(&k, 17, text);
    assert_int_equal(as_structures_find(found, &n, k.graph.model, arena, NULL), ASSAY_OK);
    cost_close(&k);
    for (size_t i = 0; i < n; i++)
        if (found[i].kind == kind)
            return found[i];
    return none;
}

static const struct {
    const char *text;
    enum as_structure_kind kind;
    unsigned places, nodes;
} cases[] = {
    {"in x 2x3x4; Transpose x -> a perm=0,2,1; Relu a -> b; Transpose b -> y perm=0,2,1",
     AS_STRUCTURE_TRANSPOSE_PAIR, 1, 2},
    {"in x 2x3x4; Transpose x -> a perm=1,2,0; Sigmoid a -> b; Transpose b -> y perm=2,0,1",
     AS_STRUCTURE_TRANSPOSE_PAIR, 1, 2},
    {"in x 2x3x4; Transpose x -> a perm=1,2,0; Transpose a -> y perm=1,2,0", /* not its inverse */
     AS_STRUCTURE_TRANSPOSE_PAIR, 0, 0},
    {"in x 2x3x4; Transpose x -> a; Transpose a -> y", /* turned around twice */
     AS_STRUCTURE_TRANSPOSE_PAIR, 1, 2},
    {"in x 2x3x4; Transpose x -> a; Transpose a -> y perm=2,1,0", AS_STRUCTURE_TRANSPOSE_PAIR, 1,
     2},
    {"in x 2x3x4; Transpose x -> a perm=0,2,1; Softmax a -> b; Transpose b -> y perm=0,2,1",
     AS_STRUCTURE_TRANSPOSE_PAIR, 0, 0}, /* goes along a dimension */
    {"in x 2x3x4; Transpose x -> a perm=0,2,1; Relu a -> b; Transpose b -> y perm=0,2,1; "
     "Exp b -> z",
     AS_STRUCTURE_TRANSPOSE_PAIR, 0, 0}, /* somebody else reads the turned tensor */
    {"in x 2x3x4; Transpose x -> a perm=0,2,1; Transpose a -> b perm=0,2,1; "
     "Transpose b -> c perm=0,2,1; Transpose c -> y perm=0,2,1",
     AS_STRUCTURE_TRANSPOSE_PAIR, 2, 4}, /* each is of one pair */
    {"in x 2x3x4; Transpose x -> a perm=0,1,2; Transpose a -> y perm=0,1,2",
     AS_STRUCTURE_TRANSPOSE_PAIR, 0, 0}, /* neither turns anything */
    {"in x 2x3; Cast x -> a to=10; Cast a -> y to=1", AS_STRUCTURE_CAST_CHAIN, 1, 2},
    {"in x 2x3; Cast x -> a to=10; Exp a -> b; Cast b -> y to=1", AS_STRUCTURE_CAST_CHAIN, 0, 0},
    {"in x 2x3; Cast x -> a to=10; Cast a -> y to=1; Cast a -> z to=11", AS_STRUCTURE_CAST_CHAIN, 2,
     2}, /* the first must stay: two read it */
    {"in x 1x2x8x8; const w 4x2x3x3; const s 4; const b 4; const m 4; const v 4; "
     "Conv x,w -> c; BatchNormalization c,s,b,m,v -> y",
     AS_STRUCTURE_BATCH_NORM, 1, 1},
    {"in x 1x4x8x8; const s 4; const b 4; const m 4; const v 4; Relu x -> c; "
     "BatchNormalization c,s,b,m,v -> y",
     AS_STRUCTURE_BATCH_NORM, 0, 0},
    {"in x 1x2x8x8; const w 4x2x3x3; const s 4; const b 4; const m 4; const v 4; "
     "Conv x,w -> c; BatchNormalization c,s,b,m,v -> y; Relu c -> z",
     AS_STRUCTURE_BATCH_NORM, 0, 0},
};

static void what_computes_nothing_new_is_found_where_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_arena arena = {0};
        struct as_structure s = find(cases[i].text, cases[i].kind, &arena);

        if (s.n_places != cases[i].places || s.n_nodes != cases[i].nodes)
            print_error("%s: %u places, %u nodes\n", cases[i].text, (unsigned)s.n_places,
                        (unsigned)s.n_nodes);
        assert_int_equal(s.n_places, cases[i].places);
        assert_int_equal(s.n_nodes, cases[i].nodes);
        assert_true(s.n_places == 0 || s.example);
        as_arena_fini(&arena);
    }
}

static void a_model_without_a_graph_has_no_structures(void **state)
{
    struct as_structure found[AS_STRUCTURE_COUNT];
    struct as_model model = {0};
    struct as_arena arena = {0};
    size_t n = 7;

    (void)state;
    assert_int_equal(as_structures_find(found, &n, &model, &arena, NULL), ASSAY_OK);
    assert_int_equal(n, 0);
    as_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_computes_nothing_new_is_found_where_it_is),
        cmocka_unit_test(a_model_without_a_graph_has_no_structures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
