/* How much of a convolution or a pool lies in its padding, against a count of every single tap. */
#include "cost_kit.h"

struct window {
    int in, taps, stride, dilation, before, after, out;
};

/* Pairs of a place and a tap that meet an element, one by one. */
static uint64_t pairs(const struct window *w, int places, int size)
{
    uint64_t n = 0;

    for (int i = 0; i < places; i++)
        for (int k = 0; k < w->taps; k++) {
            int at = i * w->stride - w->before + k * w->dilation;

            n += at >= 0 && at < size;
        }
    return n;
}

static struct as_cost count(const char *text)
{
    struct cost_kit k;
    struct as_cost cost;

    cost_open(&k, 13, text);
    cost = k.costs->forward;
    cost_close(&k);
    return cost;
}

static int draw(unsigned *seed, int from, int to)
{
    *seed = *seed * 1103515245U + 12345U;
    return from + (int)(*seed / 65536U % (unsigned)(to - from + 1));
}

/* A window that fits. */
static struct window draw_window(unsigned *seed)
{
    struct window w;
    int reach;

    do {
        w = (struct window){.in = draw(seed, 1, 12),
                            .taps = draw(seed, 1, 5),
                            .stride = draw(seed, 1, 3),
                            .dilation = draw(seed, 1, 4),
                            .before = draw(seed, 0, 6),
                            .after = draw(seed, 0, 6)};
        reach = (w.taps - 1) * w.dilation + 1;
        w.out = (w.in + w.before + w.after - reach) / w.stride + 1;
    } while (w.in + w.before + w.after < reach);
    return w;
}

static void what_a_convolution_executes_is_what_meets_its_input(void **state)
{
    unsigned seed = 7;

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct window h = draw_window(&seed), w = draw_window(&seed);
        struct as_cost cost;
        char text[256];

        (void)snprintf(text, sizeof text,
                       "in x 2x4x%dx%d; const w 6x2x%dx%d; Conv x,w -> y group=2 strides=%d,%d "
                       "dilations=%d,%d pads=%d,%d,%d,%d",
                       h.in, w.in, h.taps, w.taps, h.stride, w.stride, h.dilation, w.dilation,
                       h.before, w.before, h.after, w.after);
        cost = count(text);
        assert_int_equal(cost.macs, 2 * 6 * 2 * h.out * w.out * h.taps * w.taps);
        assert_int_equal(as_cost_executed_macs(&cost),
                         2 * 6 * 2 * pairs(&h, h.out, h.in) * pairs(&w, w.out, w.in));
        assert_int_equal(as_cost_executed_flops(&cost), 2 * as_cost_executed_macs(&cost));
    }
}

/* Its taps lie in the output: padding is what is cut off there. */
static void what_a_transposed_convolution_executes_is_what_meets_its_output(void **state)
{
    unsigned seed = 11;

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct window w = draw_window(&seed);
        struct as_cost cost;
        char text[256];
        int out = (w.in - 1) * w.stride + (w.taps - 1) * w.dilation + 1 - w.before - w.after;

        if (out < 1)
            continue;
        (void)snprintf(text, sizeof text,
                       "in x 1x3x%d; const w 3x5x%d; ConvTranspose x,w -> y strides=%d, "
                       "dilations=%d, pads=%d,%d",
                       w.in, w.taps, w.stride, w.dilation, w.before, w.after);
        cost = count(text);
        assert_int_equal(cost.macs, 3 * 5 * w.in * w.taps);
        assert_int_equal(as_cost_executed_macs(&cost), 3 * 5 * pairs(&w, w.in, out));
    }
}

static void pools_do_not_read_their_padding(void **state)
{
    unsigned seed = 13;

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct window w = draw_window(&seed);
        uint64_t inside = pairs(&w, w.out, w.in), all = (uint64_t)w.out * (uint64_t)w.taps;
        struct as_cost cost;
        char text[256];

        (void)snprintf(text, sizeof text,
                       "in x 1x3x%d; AveragePool x -> y kernel_shape=%d, strides=%d, pads=%d,%d",
                       w.in, w.taps, w.stride, w.before, w.after);
        if (w.dilation != 1 || w.before >= w.taps || w.after >= w.taps)
            continue;
        cost = count(text);
        assert_int_equal(cost.padding_ops, 3 * (all - inside));
        assert_int_equal(as_cost_executed_flops(&cost), as_cost_flops(&cost) - 3 * (all - inside));
    }
}

/* Known numbers: 3x3 at 7x7 meets 19 x 19 of 21 x 21; ASPP's 3x3 with dilation 12 at 14x14 meets
 * 18 x 18 of 42 x 42. */
static void known_windows_have_known_shares(void **state)
{
    struct as_cost cost = count("in x 1x512x7x7; const w 512x512x3x3; Conv x,w -> y pads=1,1,1,1");

    (void)state;
    assert_int_equal(as_cost_executed_macs(&cost), 512 * 512 * 19 * 19);
    cost = count("in x 1x8x14x14; const w 8x8x3x3; Conv x,w -> y pads=12,12,12,12 dilations=12,12");
    assert_int_equal(as_cost_executed_macs(&cost), 8 * 8 * 18 * 18);
    cost = count("in x 1x1x5x5; const w 1x1x2x2; Conv x,w -> y auto_pad=SAME_UPPER");
    assert_int_equal(as_cost_executed_macs(&cost), 9 * 9);
    cost = count("in x 1x1x6x6; const w 1x1x3x3; Conv x,w -> y auto_pad=SAME_LOWER strides=2,2");
    assert_int_equal(as_cost_executed_macs(&cost), 8 * 8);
    cost = count("in x 1x1x5x5; const w 1x1x3x3; Conv x,w -> y auto_pad=VALID");
    assert_int_equal(as_cost_executed_macs(&cost), cost.macs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_convolution_executes_is_what_meets_its_input),
        cmocka_unit_test(what_a_transposed_convolution_executes_is_what_meets_its_output),
        cmocka_unit_test(pools_do_not_read_their_padding),
        cmocka_unit_test(known_windows_have_known_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
