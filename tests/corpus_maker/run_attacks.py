# tests/corpus_maker/run_attacks.py - writes ONNX files that are read without complaint and mean harm when they are run.
# usage: run_attacks.py FOLDER writes the files and FOLDER/expect.tsv: file, exit statuses separated by '|', words separated by '|'.
#        run_attacks.py --seeds FOLDER writes those and some sound models behind a byte that says how fuzzing runs them.
import os
import struct
import sys

from onnx_attacks import (BOOL, DOUBLE, FLOAT, INT32, INT64, STRING, UINT8, attr_graph, attr_int, attr_ints, graph, info, model, node,
                          num, sized, tensor)

cases = []  # file, bytes, statuses, words


def case(name, data, status, *words):
    cases.append((name + ".onnx", data, status, words))


def ints(name, values, dims=None):
    return tensor(name, [len(values)] if dims is None else dims, INT64, sized(9, struct.pack(f"<{len(values)}q", *values)))


def floats(name, values, dims=None):
    return tensor(name, [len(values)] if dims is None else dims, FLOAT, sized(9, struct.pack(f"<{len(values)}f", *values)))


def flag(name, value):
    return tensor(name, [], BOOL, sized(9, bytes([value])))


def text(name, value):
    return tensor(name, [1], STRING, sized(6, value))


def attr_text(name, value):
    return sized(1, name) + sized(4, value) + num(20, 3)


def one(op, extra=(), attrs=(), constants=(), x=(1, 4), dtype=FLOAT, opset=13, outputs=("y",)):
    """x and constants into one operator."""
    return model(graph([node(op, ["x", *extra], list(outputs), *attrs, name="it")], constants, [info("x", x, dtype)],
                       [sized(1, o) for o in outputs]), opset=opset)


def values(*names):
    return [sized(1, n) for n in names]


def too_much():
    case("terabyte", one("Expand", ["s"], constants=[ints("s", [1 << 20, 1 << 16, 4])]), "3", "GiB")
    case("petabytes", one("Expand", ["s"], constants=[ints("s", [1 << 40, 1 << 18, 4])]), "3", "elements")
    case("expand_past_64_bits", one("Expand", ["s"], constants=[ints("s", [1 << 62, 1 << 62, 4])]), "3")
    case("input_terabyte", one("Relu", x=(1 << 20, 1 << 18)), "3", "GiB")
    case("empty_and_huge", one("Relu", x=(0, 1 << 61, 1 << 61)), "3", "elements")
    case("tile_many", one("Tile", ["r"], constants=[ints("r", [1 << 40, 1 << 20])]), "3")
    case("pad_far", one("Pad", ["p"], constants=[ints("p", [1 << 40, 0, 0, 1 << 40])]), "3")
    case("pad_negative", one("Pad", ["p"], constants=[ints("p", [-5, 0, 0, -9])]), "3")
    case("resize_by_billions", one("Resize", ["", "s"], constants=[floats("s", [1, 1, 1e9, 1e9])], x=(1, 1, 4, 4)), "3")
    case("resize_by_nan", one("Resize", ["", "s"], constants=[floats("s", [1, 1, float("nan"), 2])], x=(1, 1, 4, 4)), "3")
    case("one_hot_deep", one("OneHot", ["d", "v"], constants=[ints("d", [1 << 62], []), floats("v", [0, 1])], dtype=INT64), "3")
    case("range_endless", model(graph([node("Range", ["a", "b", "c"], ["y"], name="it")],
                                      [ints("a", [0], []), ints("b", [1 << 62], []), ints("c", [1], [])], [], values("y"))), "3")
    case("range_zero_step", model(graph([node("Range", ["a", "b", "c"], ["y"], name="it")],
                                        [ints("a", [0], []), ints("b", [9], []), ints("c", [0], [])], [], values("y"))), "3")
    case("shape_of_data", model(graph([node("ConstantOfShape", ["x"], ["y"], name="it")], [], [info("x", (3,), INT64)], values("y"))),
         "0|3")


def too_long():
    window = [attr_ints("kernel_shape", [1 << 29, 1 << 29]), attr_ints("pads", [1 << 28, 1 << 28, (1 << 28) - 4, (1 << 28) - 4])]
    for op in "MaxPool", "AveragePool", "LpPool":
        case(f"wide_window_{op.lower()}", one(op, attrs=window, x=(1, 2, 4, 4)), "0|3")
    case("roi_samples", one("RoiAlign", ["r", "b"], [attr_int("sampling_ratio", 1 << 40)],
                            [floats("r", [0, 0, 2, 2], [1, 4]), ints("b", [0])], (1, 1, 4, 4)), "3", "region")
    case("roi_wide", one("RoiAlign", ["r", "b"], [attr_int("output_height", 2), attr_int("output_width", 2)],
                         [floats("r", [-1e30, -1e30, 1e30, 1e30], [1, 4]), ints("b", [0])], (1, 1, 4, 4)), "3")
    case("dft_long", one("DFT", ["n"], constants=[ints("n", [1 << 40], [])], x=(1, 4, 1), opset=17), "3")
    case("lrn_wide", one("LRN", attrs=[attr_int("size", (1 << 62) + 1)], x=(1, 4, 2, 2)), "0|3")


def loop(body_nodes, body_constants, inputs, carried_types, outputs, constants, more=(), trips=None):
    """A Loop without end: its condition stays, and there is no trip count, unless it is given."""
    body = graph([node("Identity", ["c"], ["c2"])] + body_nodes, body_constants,
                 [info("i", (), INT64), info("c", (), BOOL)] + carried_types, values("c2", *outputs))
    names = [f"y{i}" for i in range(len(outputs))]
    return model(graph(list(more) + [node("Loop", ["trips" if trips else "", "go", *inputs], names, attr_graph("body", body),
                                           name="it")],
                       [flag("go", 1), *constants, *([ints("trips", [trips], [])] if trips else [])], [], values(*names)), opset=13)


def same_again(trips):
    return loop([node("Relu", ["v"], ["v2"])], [], ["w"], [info("v", (1,))], ["v2"], [floats("w", [1])], trips=trips)


def loops():
    case("loop_endless", same_again(None), "3", "'it' (Loop")
    case("loop_endless_as_exported", same_again((1 << 63) - 1), "3", "'it' (Loop")
    case("loop_of_growing_tensors",
         loop([node("Concat", ["v", "v"], ["v2"], attr_int("axis", 0))], [], ["w"], [info("v", ("n",))], ["v2"], [floats("w", [1, 2])]),
         "3", "memory")
    case("loop_of_growing_texts",
         model(graph([node("Loop", ["", "go", "w"], ["y"], attr_graph("body", graph(
             [node("Identity", ["c"], ["c2"]), node("StringConcat", ["v", "v"], ["v2"])], [],
             [info("i", (), INT64), info("c", (), BOOL), info("v", (1,), STRING)], values("c2", "v2"))), name="it")],
             [flag("go", 1), text("w", "ab")], [], values("y")), opset=20), "3", "memory")
    nested = sized(1, "v") + sized(2, sized(4, sized(1, sized(1, num(1, FLOAT)))))
    case("loop_of_lists_in_lists",
         loop([node("SequenceConstruct", ["v"], ["v2"])], [], ["s"], [nested], ["v2"], [floats("w", [1])],
              [node("SequenceConstruct", ["w"], ["s"])]), "3")


def lies():
    case("reshape_lies", one("Reshape", ["s"], constants=[ints("s", [3, 3])]), "3")
    case("reshape_two_open", one("Reshape", ["s"], constants=[ints("s", [-1, -1])]), "3")
    case("gather_outside", one("Gather", ["i"], constants=[ints("i", [9, -9])]), "3")
    case("gather_far_outside", one("Gather", ["i"], constants=[ints("i", [(1 << 63) - 1, -(1 << 63)])]), "3")
    case("slice_backwards_for_ever", one("Slice", ["a", "b", "c", "d"], constants=[
        ints("a", [(1 << 63) - 1]), ints("b", [-(1 << 63)]), ints("c", [1]), ints("d", [-(1 << 63)])]), "0|3")
    case("slice_step_zero", one("Slice", ["a", "b", "c", "d"], constants=[
        ints("a", [0]), ints("b", [1]), ints("c", [1]), ints("d", [0])]), "3")
    case("split_sums_wrong", one("Split", ["s"], [attr_int("axis", 1)], [ints("s", [3, 5])], outputs=("y", "z")), "3")
    case("topk_negative", one("TopK", ["k"], constants=[ints("k", [-1])], outputs=("y", "z")), "3")
    case("topk_too_many", one("TopK", ["k"], constants=[ints("k", [5])], outputs=("y", "z")), "3")
    case("transpose_twice_the_same", one("Transpose", attrs=[attr_ints("perm", [0, 0])]), "3")
    case("division_by_zero", one("Div", ["d"], constants=[ints("d", [0, -1, 0, -1])], dtype=INT64), "0|3")
    case("modulo_zero", one("Mod", ["d"], constants=[ints("d", [0, -1, 0, -1])], dtype=INT64), "0|3")
    case("group_zero", one("Conv", ["w"], [attr_int("group", 0)], [floats("w", [1] * 4, [1, 4, 1, 1])], (1, 4, 2, 2)), "3")
    case("blocksize_zero", one("DepthToSpace", attrs=[attr_int("blocksize", 0)], x=(1, 4, 2, 2)), "3")


def wrong_types():
    case("conv_of_int32", one("Conv", ["w"], constants=[tensor("w", [1, 4, 1, 1], INT32, sized(9, bytes(16)))], x=(1, 4, 2, 2),
                              dtype=INT32), "3")
    case("relu_of_bool", one("Relu", dtype=BOOL), "0|3")
    case("matmul_of_texts", one("MatMul", ["x"], dtype=STRING, x=(2, 2)), "3")
    case("add_of_two_types", one("Add", ["w"], constants=[tensor("w", [4], DOUBLE, sized(9, bytes(32)))]), "3")
    case("indices_of_float", one("Gather", ["i"], constants=[floats("i", [0.0, 1.0])]), "3")
    case("softmax_of_bytes", one("Softmax", dtype=UINT8), "3")
    case("no_such_operator", model(graph([node("Frobnicate", ["x"], ["y"], name="it")], [], [info("x")], values("y"))), "3", "Frobnicate",
         "'it'", "opset 13")
    case("missing_inputs", model(graph([node("Conv", [], ["y"], name="it")], [], [info("x")], values("y"))), "3")
    case("inputs_left_out", model(graph([node("MatMul", ["x", ""], ["y"], name="it")], [], [info("x")], values("y"))), "3")


def odd_but_sound():
    case("zero_batch", one("Conv", ["w"], constants=[floats("w", [1] * 4, [1, 4, 1, 1])], x=(0, 4, 2, 2)), "0")
    case("zero_inner", model(graph([node("MatMul", ["x", "w"], ["y"])], [floats("w", [], [0, 3])], [info("x", (2, 0))], values("y"))), "0")
    case("rank_32", one("Transpose", attrs=[attr_ints("perm", list(range(31, -1, -1)))], x=(1,) * 31 + (2,)), "0|3")
    case("rank_32_add", one("Add", ["x"], x=(1,) * 31 + (2,)), "0")
    case("output_is_input", model(graph([node("Relu", ["x"], ["y"])], [], [info("x")], values("x", "y"))), "0")
    case("output_is_constant", model(graph([node("Relu", ["x"], ["y"])], [floats("w", [1])], [info("x")], values("w", "y"))), "0")
    case("outputs_twice", model(graph([node("Relu", ["x"], ["y"])], [], [info("x")], values("y", "y"))), "0|3")
    case("input_unused", model(graph([node("Relu", ["x"], ["y"])], [], [info("x"), info("z", (7,))], values("y"))), "0")
    case("no_inputs", model(graph([node("Relu", ["w"], ["y"])], [floats("w", [1])], [], values("y"))), "0")
    case("no_outputs", model(graph([node("Relu", ["x"], ["y"])], [], [info("x")], [])), "0|3")
    case("no_nodes", model(graph([], [], [info("x")], values("x"))), "0|3")
    side = [graph([node("Relu", ["x"], ["a"])], [], [], values("a")),
            graph([node("Flatten", ["x"], ["f"], attr_int("axis", 0)), node("Neg", ["f"], ["b"])], [], [], values("b"))]
    case("if_of_two_ranks", model(graph([node("If", ["c"], ["y"], attr_graph("then_branch", side[0]), attr_graph("else_branch", side[1])),
                                         node("Neg", ["y"], ["z"])], [], [info("c", (), BOOL), info("x", (1, 2, 2))], values("z"))), "0")


def chain(*nodes, constants=(), x=(1, 4, 8, 8), opset=17):
    return model(graph(list(nodes), constants, [info("x", x)], values("y")), opset=opset)


def sound():
    """What is fused, quantised, or runs long ways round; for fuzzing only."""
    weights = [floats("w", [i % 7 / 8 for i in range(144)], [4, 4, 3, 3]), floats("b", [1, 2, 3, 4])]
    conv = node("Conv", ["x", "w", "b"], ["c"], attr_ints("pads", [1] * 4))
    case("conv_bn_relu", chain(conv, node("BatchNormalization", ["c", "b", "b", "b", "b"], ["n"]), node("Relu", ["n"], ["y"]),
                               constants=weights), "0")
    case("conv_add_relu", chain(conv, node("Add", ["c", "x"], ["a"]), node("Relu", ["a"], ["y"]), constants=weights), "0")
    case("conv_swish_pool", chain(conv, node("Sigmoid", ["c"], ["s"]), node("Mul", ["c", "s"], ["m"]), node(
        "MaxPool", ["m"], ["y"], attr_ints("kernel_shape", [2, 2])), constants=weights), "0")
    square = [floats("w", [i / 8 for i in range(16)], [4, 4]), floats("b", [1, 2, 3, 4]), floats("h", [0.5], []), floats("r", [1.5], [])]
    case("linear_gelu", chain(node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["a"]), node("Div", ["a", "r"], ["d"]), node(
        "Erf", ["d"], ["e"]), node("Add", ["e", "h"], ["f"]), node("Mul", ["a", "f"], ["y"]), constants=square, x=(2, 4)), "0")
    case("layer_norm", chain(
        node("ReduceMean", ["x"], ["m"], attr_ints("axes", [-1])), node("Sub", ["x", "m"], ["d"]), node("Pow", ["d", "two"], ["q"]),
        node("ReduceMean", ["q"], ["v"], attr_ints("axes", [-1])), node("Add", ["v", "h"], ["e"]), node("Sqrt", ["e"], ["s"]),
        node("Div", ["d", "s"], ["n"]), node("Mul", ["n", "b"], ["g"]), node("Add", ["g", "b"], ["y"]),
        constants=square + [floats("two", [2], [])], x=(2, 4)), "0")
    quant = [floats("s", [0.25], []), tensor("z", [], UINT8, sized(9, b"\x03")), tensor("q", [4, 4], UINT8, sized(9, bytes(range(16))))]
    case("quantised_product", chain(
        node("QuantizeLinear", ["x", "s", "z"], ["a"]), node("DequantizeLinear", ["a", "s", "z"], ["c"]), node(
            "DequantizeLinear", ["q", "s", "z"], ["w"]), node("MatMul", ["c", "w"], ["p"]), node("QuantizeLinear", ["p", "s", "z"], ["y"]),
        constants=quant, x=(2, 4)), "0")
    case("attention", chain(
        node("Transpose", ["x"], ["t"], attr_ints("perm", [0, 1, 3, 2])), node("MatMul", ["x", "t"], ["p"]), node(
            "Softmax", ["p"], ["a"], attr_int("axis", -1)), node("MatMul", ["a", "x"], ["y"]), x=(1, 2, 4, 4)), "0")
    case("recurrent", chain(node("LSTM", ["x", "W", "R"], ["", "y", ""], attr_int("hidden_size", 2)), constants=[
        floats("W", [0.5] * 24, [1, 8, 3]), floats("R", [0.25] * 16, [1, 8, 2])], x=(3, 1, 3)), "0")
    case("list_there_and_back", chain(node("SplitToSequence", ["x"], ["l"], attr_int("axis", 1)), node(
        "ConcatFromSequence", ["l"], ["y"], attr_int("axis", 0)), x=(2, 3)), "0")
    case("boxes", chain(node("NonMaxSuppression", ["x", "s", "k"], ["y"]), constants=[
        floats("s", [0.5, 0.75, 0.25], [1, 1, 3]), ints("k", [2])], x=(1, 3, 4)), "0")
    case("unique", chain(node("Unique", ["x"], ["y"]), x=(6,)), "0")


def main():
    folder = sys.argv[-1]
    os.makedirs(folder, exist_ok=True)
    for make in too_much, too_long, loops, lies, wrong_types, odd_but_sound:
        make()
    if "--seeds" in sys.argv:
        sound()
        for i, (name, data, _, _) in enumerate(cases):
            with open(os.path.join(folder, name), "wb") as f:
                f.write(bytes([i % 16]) + data)
        return
    with open(os.path.join(folder, "expect.tsv"), "w") as expect:
        for name, data, status, words in cases:
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)
            expect.write(f"{name}\t{status}\t{'|'.join(words)}\n")
    # It would end, after longer than anybody waits.
    with open(os.path.join(folder, "endless.onnx"), "wb") as f:
        f.write(same_again(10000000))


if __name__ == "__main__":
    main()
