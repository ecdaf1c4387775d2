/* tests/unit/test_svg_labels.c - labels of a figure keep off each other, off dots and off lines. */
#include "report/page/svg_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static struct as_svg_labels in_frame(void)
{
    return (struct as_svg_labels){.frame = {0, 0, 400, 300}};
}

static void a_label_takes_the_first_spot_that_is_free(void **state)
{
    static const struct as_svg_spot spots[] = {{10, 50, AS_SVG_START}, {10, 80, AS_SVG_START}};
    struct as_svg_labels labels = in_frame();
    struct as_out out = unit_out();
    struct as_svg svg = {.out = &out};

    (void)state;
    assert_true(as_svg_label_at(&labels, &svg, spots, 2, 10, "first"));
    assert_true(as_svg_label_at(&labels, &svg, spots, 2, 10, "second"));
    assert_false(as_svg_label_at(&labels, &svg, spots, 2, 10, "third"));
    assert_non_null(strstr(as_out_get(&out, NULL), "y=\"50.00\" font-size=\"10.00\">first<"));
    assert_non_null(strstr(as_out_get(&out, NULL), "y=\"80.00\" font-size=\"10.00\">second<"));
    assert_null(strstr(as_out_get(&out, NULL), "third"));
    as_out_drop(&out);
}

static void a_label_stays_in_the_frame_and_off_lines(void **state)
{
    static const struct as_svg_spot outside = {390, 50, AS_SVG_START};
    static const struct as_svg_spot on_line = {100, 104, AS_SVG_START};
    static const struct as_svg_spot beside = {100, 120, AS_SVG_START};
    struct as_svg_labels labels = in_frame();
    struct as_out out = unit_out();
    struct as_svg svg = {.out = &out};

    (void)state;
    as_svg_avoid_line(&labels, 0, 100, 400, 101);
    assert_false(as_svg_label_at(&labels, &svg, &outside, 1, 10, "outside"));
    assert_false(as_svg_label_at(&labels, &svg, &on_line, 1, 10, "on the line"));
    assert_true(as_svg_label_at(&labels, &svg, &beside, 1, 10, "beside it"));
    as_svg_avoid_slanted(&labels, 100, 250, 0.5, 10, "a text that rises");
    assert_false(as_svg_label_at(&labels, &svg, &(struct as_svg_spot){150, 225, AS_SVG_START}, 1,
                                 10, "on it"));
    as_out_drop(&out);
}

/* The anchors are those of labels: x grows by the width to the right, to the left or to both sides.
 */
static size_t read_boxes(const char *svg, struct as_svg_box *boxes, size_t capacity)
{
    size_t n = 0;

    for (const char *at = svg; (at = strstr(at, "<text x=\"")) != NULL && n < capacity; n++) {
        double x = strtod(at + 9, NULL), y = strtod(strstr(at, "y=\"") + 3, NULL), left;
        const char *end = strchr(at, '>');
        double width = 6.2 * (double)strcspn(end + 1, "<");
        const char *anchor = strstr(at, "text-anchor=\"");

        left = !anchor || anchor > end               ? x
               : strncmp(anchor + 13, "end", 3) == 0 ? x - width
                                                     : x - width / 2;
        boxes[n] = (struct as_svg_box){left, y - 8, left + width, y + 2};
        at = end;
    }
    return n;
}

static void labels_of_a_crowd_never_overlap(void **state)
{
    struct as_svg_labels labels = in_frame();
    struct as_svg_box boxes[80];
    struct as_out out = unit_out();
    struct as_svg svg = {.out = &out};
    size_t drawn = 0, n;
    unsigned seed = 1;
    double at[80][2];

    (void)state;
    for (size_t i = 0; i < 80; i++) {
        for (int c = 0; c < 2; c++) {
            seed = seed * 1103515245u + 12345u;
            at[i][c] = 100 + seed / 65536 % 100;
        }
        as_svg_avoid_box(
            &labels, (struct as_svg_box){at[i][0] - 4, at[i][1] - 4, at[i][0] + 4, at[i][1] + 4});
    }
    for (size_t i = 0; i < 80; i++)
        drawn += as_svg_label_dot(&labels, &svg, at[i][0], at[i][1], 4, 10, "layer3.conv1");
    n = read_boxes(as_out_get(&out, NULL), boxes, 80);
    assert_int_equal(n, drawn);
    assert_true(n > 3 && n < 80);
    for (size_t i = 0; i < n; i++) {
        assert_true(boxes[i].left >= 0 && boxes[i].right <= 400);
        for (size_t k = 0; k < i; k++)
            assert_true(boxes[i].left >= boxes[k].right || boxes[k].left >= boxes[i].right ||
                        boxes[i].top >= boxes[k].bottom || boxes[k].top >= boxes[i].bottom);
    }
    as_out_drop(&out);
}

static void what_is_beyond_the_capacity_is_not_kept(void **state)
{
    struct as_svg_labels labels = in_frame();

    (void)state;
    for (int i = 0; i < 2 * AS_SVG_OBSTACLES; i++) {
        as_svg_avoid_box(&labels, (struct as_svg_box){i, i, i + 1, i + 1});
        as_svg_avoid_line(&labels, i, i, i, i);
    }
    assert_int_equal(labels.n_boxes, AS_SVG_OBSTACLES);
    assert_int_equal(labels.n_lines, sizeof labels.lines / sizeof *labels.lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_takes_the_first_spot_that_is_free),
        cmocka_unit_test(a_label_stays_in_the_frame_and_off_lines),
        cmocka_unit_test(labels_of_a_crowd_never_overlap),
        cmocka_unit_test(what_is_beyond_the_capacity_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
