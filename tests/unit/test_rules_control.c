/* tests/unit/test_rules_control.c - shapes through If, Loop, Scan, SequenceMap and sequences.
 * graph->times of every body is part of what is promised. */
#include "rule_cases.h"

#include <time.h>

static struct rule_kit infer(int64_t opset, const char *text)
{
    static const struct as_infer_options open = {.keep_unknown = true};
    struct rule_kit k;
    int rc = kit_infer(&k, opset, text, &open);

    if (rc != ASSAY_OK)
        fail_msg("%s", k.err.msg);
    return k;
}

static int64_t times_of(const struct rule_kit *k, const char *body)
{
    for (int i = 0; i < k->n_bodies; i++)
        if (strcmp(k->bodies[i], body) == 0)
            return k->closed[i]->times;
    fail_msg("there is no body %s", body);
    return 0;
}

static bool found(const struct rule_kit *k, enum as_finding_kind kind)
{
    for (const struct as_finding *f = k->model->findings; f; f = f->next)
        if (f->kind == kind)
            return true;
    return false;
}

/* ---- If ---- */

#define BRANCHES                                                                                   \
    "graph yes; const p i64{6}; Reshape a,p -> y1; out y1; end\n"                                  \
    "graph no; const q i64{3,2}; Reshape a,q -> n1; out n1; end\n"                                 \
    "If c -> r then_branch=@yes else_branch=@no"

static void a_known_condition_takes_one_branch(void **state)
{
    struct rule_kit k = infer(13, "in a 2x3; const c bool=1\n" BRANCHES);

    (void)state;
    kit_is(&k, "r", "6");
    assert_int_equal(times_of(&k, "yes"), 1);
    assert_int_equal(times_of(&k, "no"), 0);
    assert_false(found(&k, AS_FINDING_BRANCH));
    kit_free(&k);
    k = infer(13, "in a 2x3; const c bool=0\n" BRANCHES);
    kit_is(&k, "r", "3x2");
    kit_free(&k);
}

static const char *label_in(const struct rule_kit *k, const char *body, uint32_t node)
{
    for (int i = 0; i < k->n_bodies; i++)
        if (strcmp(k->bodies[i], body) == 0)
            return as_node_label(k->closed[i], &k->closed[i]->nodes[node]);
    fail_msg("there is no body %s", body);
    return "";
}

/* The kit names nodes by their operators. */
static void nodes_of_branches_are_called_by_their_path_where_names_are_not_unique(void **state)
{
    struct rule_kit k =
        infer(13, "in a 2x3; in c bool:scalar; Neg a -> b\n"
                  "graph yes; const p i64{6}; Reshape a,p -> y1; Neg y1 -> y2; out y2; end\n"
                  "graph no; const q i64{3,2}; Reshape a,q -> n1; Relu n1 -> n2; out n2; end\n"
                  "If c -> r then_branch=@yes else_branch=@no");

    (void)state;
    assert_string_equal(label_in(&k, "yes", 0), "If/then/Reshape");
    assert_string_equal(label_in(&k, "no", 0), "If/else/Reshape");
    assert_string_equal(label_in(&k, "yes", 1), "If/then/Neg");
    assert_string_equal(label_in(&k, "no", 1), "Relu");
    assert_string_equal(as_node_label(k.model->main, &k.model->main->nodes[0]), "Neg");
    kit_free(&k);
}

static void an_unknown_condition_keeps_what_both_branches_agree_on(void **state)
{
    struct rule_kit k = infer(13, "in a 2x3; in c bool:scalar\n" BRANCHES);

    (void)state;
    kit_is(&k, "r", "?");
    assert_int_equal(times_of(&k, "yes"), AS_DIM_UNKNOWN);
    assert_true(found(&k, AS_FINDING_BRANCH));
    assert_non_null(strstr(k.model->findings->text, "the one with more known FLOPs is counted"));
    kit_free(&k);
    k = infer(13, "in a 2x3; in b 2x5; in c bool:scalar\n"
                  "graph yes; Relu a -> y1; out y1; end; graph no; Relu b -> n1; out n1; end\n"
                  "If c -> r then_branch=@yes else_branch=@no");
    kit_is(&k, "r", "2x?");
    kit_free(&k);
}

static void a_branch_that_may_not_run_is_no_error(void **state)
{
    struct rule_kit k = infer(13, "in a 2x3; in b 4x5; in c bool:scalar\n"
                                  "graph yes; Add a,b -> y1; out y1; end\n"
                                  "graph no; Relu a -> n1; out n1; end\n"
                                  "If c -> r then_branch=@yes else_branch=@no");

    (void)state;
    assert_true(found(&k, AS_FINDING_CONFLICT));
    kit_is(&k, "r", "?");
    kit_free(&k);
}

/* ---- Loop ---- */

static void a_counted_loop_stacks_its_scans(void **state)
{
    struct rule_kit k = infer(13, "const m i64=5; const go bool=1; in s 2x3\n"
                                  "graph body; in i i64:scalar; in on bool:scalar; in t 2x3\n"
                                  "Identity on -> more; Add t,t -> u; out more; out u; out u; end\n"
                                  "Loop m,go,s -> last,all body=@body");

    (void)state;
    kit_is(&k, "last", "2x3");
    kit_is(&k, "all", "5x2x3");
    assert_int_equal(times_of(&k, "body"), 5);
    kit_free(&k);
}

#define GROWING                                                                                    \
    "const go bool=1; in s 1x3\n"                                                                  \
    "graph body; in i i64:scalar; in on bool:scalar; in t ?x3\n"                                   \
    "Identity on -> more; Concat t,s -> u axis=0; out more; out u; end\n"                          \
    "Loop m,go,s -> last body=@body"

static void what_grows_is_followed_or_given_up(void **state)
{
    struct rule_kit k = infer(13, "const m i64=4\n" GROWING);

    (void)state;
    kit_is(&k, "last", "5x3");
    assert_int_equal(times_of(&k, "body"), 4);
    kit_free(&k);
    k = infer(13, "in m i64:scalar\n" GROWING);
    kit_is(&k, "last", "?x3");
    assert_int_equal(times_of(&k, "body"), AS_DIM_UNKNOWN);
    assert_true(found(&k, AS_FINDING_BRANCH));
    kit_free(&k);
    k = infer(13, "const m i64=100000\n" GROWING);
    kit_is(&k, "last", "?x3");
    assert_int_equal(times_of(&k, "body"), 100000);
    kit_free(&k);
}

static void a_condition_in_the_body_ends_the_loop(void **state)
{
    struct rule_kit k = infer(13, "const go bool=1; const three i64=3; in s 4\n"
                                  "graph body; in i i64:scalar; in on bool:scalar; in t 4\n"
                                  "Less i,three -> more; Relu t -> u; out more; out u; out u; end\n"
                                  "Loop -,go,s -> last,all body=@body");

    (void)state;
    kit_is(&k, "all", "4x4"); /* rounds 0 to 3; that of number 3 says stop */
    assert_int_equal(times_of(&k, "body"), 4);
    kit_free(&k);
    k = infer(13, "const go bool=1; const m i64=9; in s 4; in flag bool:scalar\n"
                  "graph body; in i i64:scalar; in on bool:scalar; in t 4\n"
                  "Identity flag -> more; Relu t -> u; out more; out u; out u; end\n"
                  "Loop m,go,s -> last,all body=@body");
    kit_is(&k, "last", "4");
    kit_is(&k, "all", "?x4");
    assert_int_equal(times_of(&k, "body"), AS_DIM_UNKNOWN);
    kit_free(&k);
}

static void a_loop_that_never_runs_gives_back_what_it_got(void **state)
{
    struct rule_kit k =
        infer(13, "const m i64=0; const go bool=1; const s i64=7\n"
                  "graph body; in i i64:scalar; in on bool:scalar; in t i64:scalar\n"
                  "Identity on -> more; Add t,t -> u; out more; out u; out u; end\n"
                  "Loop m,go,s -> last,all body=@body");

    (void)state;
    kit_is(&k, "all", "0");
    assert_int_equal(as_data_i64(kit_value(&k, "last")->data, 0), 7);
    assert_int_equal(times_of(&k, "body"), 0);
    kit_free(&k);
}

static void numbers_and_sequences_are_carried(void **state)
{
    struct rule_kit k = infer(13, "const m i64=3; const go bool=1; const s i64=2; in x 4x8\n"
                                  "SequenceEmpty -> none\n"
                                  "graph body; in i i64:scalar; in on bool:scalar\n"
                                  "in n i64:scalar; in q [4]\n"
                                  "const zero i64=0; Unsqueeze n,zero -> ends\n"
                                  "const from i64{0}; const axis i64{1}\n"
                                  "Slice x,from,ends,axis -> part; SequenceInsert q,part -> q2\n"
                                  "Add n,n -> n2; Identity on -> more\n"
                                  "out more; out n2; out q2; end\n"
                                  "Loop m,go,s,none -> last,parts body=@body\n"
                                  "SequenceLength parts -> count\n"
                                  "ConcatFromSequence parts -> joined axis=1");

    (void)state;
    assert_int_equal(as_data_i64(kit_value(&k, "last")->data, 0), 16);
    kit_is(&k, "parts", "seq(3)[4x2, 4x4, 4x8]");
    assert_int_equal(as_data_i64(kit_value(&k, "count")->data, 0), 3);
    kit_is(&k, "joined", "4x14");
    kit_free(&k);
}

/* Loops in loops would repeat the innermost body to the power of their depth. */
static void nested_loops_end_soon(void **state)
{
    char text[4096];
    size_t size = 0;
    clock_t start = clock();
    struct rule_kit k;

    (void)state;
    size += (size_t)snprintf(text + size, sizeof text - size,
                             "in m i64:scalar; in s 1x3; in go bool:scalar\n");
    for (int d = 0; d < 7; d++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "graph b%d; in i%d i64:scalar; in on%d bool:scalar; in t%d 1x3\n",
                                 d, d, d, d);
    size += (size_t)snprintf(text + size, sizeof text - size, "Concat t6,s -> u7 axis=0\n");
    for (int d = 6; d >= 0; d--) {
        char outer[16] = "s";

        if (d > 0)
            snprintf(outer, sizeof outer, "t%d", d - 1);
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "Concat u%d,t%d -> v%d axis=0; out go; out v%d; end\n"
                                 "Loop m,go,%s -> u%d body=@b%d\n",
                                 d + 1, d, d, d, outer, d, d);
    }
    k = infer(13, text);
    kit_is(&k, "u0", "?x3");
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2.0);
    kit_free(&k);
}

/* ---- Scan, SequenceMap ---- */

static void scans_go_along_their_axes(void **state)
{
    struct rule_kit k = infer(11, "in s 2; in x 5x2x3; in y 4x5\n"
                                  "graph body; in t 2; in xs ?; in ys ?\n"
                                  "Add t,t -> u; Identity xs -> p; Identity ys -> q\n"
                                  "out u; out p; out q; end\n"
                                  "Scan s,x,y -> last,ps,qs num_scan_inputs=2 body=@body "
                                  "scan_input_axes=0,1 scan_output_axes=-1,0");

    (void)state;
    kit_is(&k, "last", "2");
    kit_is(&k, "ps", "2x3x5");
    kit_is(&k, "qs", "5x4");
    assert_int_equal(times_of(&k, "body"), 5);
    kit_free(&k);
    k = infer(8, "in s 7x2; in x 7x3x2\n"
                 "graph body; in t 2; in xs 2; Add t,xs -> u; out u; out u; end\n"
                 "Scan -,s,x -> last,all num_scan_inputs=1 body=@body");
    kit_is(&k, "last", "7x2");
    kit_is(&k, "all", "7x3x2");
    assert_int_equal(times_of(&k, "body"), 21);
    kit_free(&k);
}

static void scanned_lengths_must_agree(void **state)
{
    static const struct as_infer_options open = {.keep_unknown = true};
    struct rule_kit k;

    (void)state;
    assert_int_equal(kit_infer(&k, 11,
                               "in x 5x2; in y 4x2\n"
                               "graph body; in xs 2; in ys 2; Add xs,ys -> u; out u; end\n"
                               "Scan x,y -> all num_scan_inputs=2 body=@body",
                               &open),
                     ASSAY_ERR_FORMAT);
    assert_non_null(strstr(k.err.msg, "lengths of 5 and 4"));
    kit_free(&k);
}

static void maps_go_over_each_element(void **state)
{
    struct rule_kit k = infer(17, "in s [2x3|4x5]; in x 1\n"
                                  "graph body; in e ?; in y 1; Add e,y -> r; Shape e -> h\n"
                                  "out r; out h; end\n"
                                  "SequenceMap s,x -> rs,hs body=@body");

    (void)state;
    kit_is(&k, "rs", "seq(2)[2x3, 4x5]");
    kit_is(&k, "hs", "seq(2)[2, 2]");
    assert_int_equal(times_of(&k, "body"), 2);
    kit_free(&k);
}

/* ---- sequences ---- */

static const struct rule_case sequences[] = {
    {11, "SequenceConstruct", "2x3; 4", "", "seq(2)[2x3, 4]"},
    {11, "SequenceAt", "[2x3|4x5]; i64=-1", "", "4x5"},
    {11, "SequenceAt", "[2x3|4x3]; i64:scalar", "", "?x3"},
    {11, "SequenceAt", "[2x3|4x3]; i64=2", "", "!element 2 of a sequence of 2"},
    {11, "SequenceInsert", "[2x3|4x5]; 7; i64=-1", "", "seq(3)[2x3, 7, 4x5]"},
    {11, "SequenceInsert", "[2x3|4x5]; 7", "", "seq(3)[2x3, 4x5, 7]"},
    {11, "SequenceInsert", "[2x3|4x3]; 7x3; i64:scalar", "", "seq(3)[?x3, ?x3, ?x3]"},
    {11, "SequenceInsert", "[2x3|4x5]; 7; i64=3", "", "!place 3"},
    {11, "SequenceErase", "[2x3|4x5|6]; i64=0", "", "seq(2)[4x5, 6]"},
    {11, "SequenceErase", "[2x3|4x5|6]", "", "seq(2)[2x3, 4x5]"},
    {11, "SplitToSequence", "5x2", "", "seq(5)[1x2, 1x2, 1x2, 1x2, 1x2]"},
    {11, "SplitToSequence", "2x2", "keepdims=0", "seq(2)[2, 2]"},
    {11, "SplitToSequence", "5x2; i64=2", "", "seq(3)[2x2, 2x2, 1x2]"},
    {11, "SplitToSequence", "5x2; i64{1,4}", "keepdims=0", "seq(2)[1x2, 4x2]"},
    {11, "SplitToSequence", "5x2; i64{1,3}", "", "!add up to 4"},
    {11, "SplitToSequence", "5x2; i64=0", "", "!parts of 0"},
    {11, "SplitToSequence", "?x2; i64=2", "", "seq(?)[?x2]"},
    {11, "ConcatFromSequence", "[2x3|4x3]", "axis=0", "6x3"},
    {11, "ConcatFromSequence", "[2x3|2x3]", "axis=-1 new_axis=1", "2x3x2"},
    {11, "ConcatFromSequence", "[2x3|4x5]", "axis=0", "!elements of 3 and 5"},
    {15, "Optional", "2x3", "", "optional(1)[2x3]"},
    {15, "Optional", "[2x3|4]", "", "optional(1)[seq(2)[2x3, 4]]"},
    {18, "OptionalGetElement", "2x3", "", "2x3"},
    {20, "StringConcat", "string:2x1; string:3", "", "2x3"},
    {20, "StringSplit", "string:2", "", "2x?; 2"},
    {20, "RegexFullMatch", "string:2x3", "", "2x3"},
};

static void sequences_keep_each_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(sequences); i++)
        kit_check(&sequences[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_condition_takes_one_branch),
        cmocka_unit_test(nodes_of_branches_are_called_by_their_path_where_names_are_not_unique),
        cmocka_unit_test(an_unknown_condition_keeps_what_both_branches_agree_on),
        cmocka_unit_test(a_branch_that_may_not_run_is_no_error),
        cmocka_unit_test(a_counted_loop_stacks_its_scans),
        cmocka_unit_test(what_grows_is_followed_or_given_up),
        cmocka_unit_test(a_condition_in_the_body_ends_the_loop),
        cmocka_unit_test(a_loop_that_never_runs_gives_back_what_it_got),
        cmocka_unit_test(numbers_and_sequences_are_carried),
        cmocka_unit_test(nested_loops_end_soon),
        cmocka_unit_test(scans_go_along_their_axes),
        cmocka_unit_test(scanned_lengths_must_agree),
        cmocka_unit_test(maps_go_over_each_element),
        cmocka_unit_test(sequences_keep_each_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
