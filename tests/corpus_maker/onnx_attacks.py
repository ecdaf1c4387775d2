# tests/corpus_maker/onnx_attacks.py - writes ONNX files that mean harm, or are no ONNX at all, with what must be said of each.
# usage: onnx_attacks.py FOLDER writes the files and FOLDER/expect.tsv: file, stage (read or inference), words separated by '|'.
#        onnx_attacks.py --heavy FOLDER writes sound models that ask for much.
#        onnx_attacks.py --seeds FOLDER writes small sound models, from which fuzzing starts.
# Only the standard library, and protobuf by hand: the files must not depend on what a library refuses to write.
import os
import struct
import sys


# The wire.

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def num(field, value):
    return varint(field << 3) + varint(value)


def sized(field, data):
    if isinstance(data, str):
        data = data.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


def fixed32(field, value):
    return varint(field << 3 | 5) + struct.pack("<f", value)


# ONNX.

FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, INT4 = 1, 2, 3, 6, 7, 8, 9, 10, 11, 22


def model(graph, *more, opset=13, ir=8):
    return num(1, ir) + sized(8, num(2, opset)) + b"".join(more) + sized(7, graph)


def graph(nodes=(), constants=(), inputs=(), outputs=(), *more):
    return (b"".join(sized(1, n) for n in nodes) + sized(2, "g") + b"".join(sized(5, t) for t in constants) +
            b"".join(sized(11, i) for i in inputs) + b"".join(sized(12, o) for o in outputs) + b"".join(more))


def node(op, inputs, outputs, *attrs, name="", domain=""):
    return (b"".join(sized(1, i) for i in inputs) + b"".join(sized(2, o) for o in outputs) + (sized(3, name) if name else b"") +
            sized(4, op) + b"".join(sized(5, a) for a in attrs) + (sized(7, domain) if domain else b""))


def dim(d):
    return sized(1, sized(2, d) if isinstance(d, str) else num(1, d))


def tensor_type(dims, dtype=FLOAT):
    return sized(1, num(1, dtype) + sized(2, b"".join(dim(d) for d in dims)))


def info(name, dims=(1, 4), dtype=FLOAT):
    return sized(1, name) + sized(2, tensor_type(dims, dtype))


def tensor(name, dims, dtype, *data):
    return b"".join(num(1, d) for d in dims) + num(2, dtype) + b"".join(data) + sized(8, name)


def raw(count):
    return sized(9, bytes(count))


def external(**keys):
    return b"".join(sized(13, sized(1, k) + sized(2, v)) for k, v in keys.items()) + num(14, 1)


def attr_int(name, value):
    return sized(1, name) + num(3, value) + num(20, 2)


def attr_ints(name, values):
    return sized(1, name) + b"".join(num(8, v) for v in values) + num(20, 7)


def attr_graph(name, body):
    return sized(1, name) + sized(6, body) + num(20, 5)


def attr_tensor(name, data):
    return sized(1, name) + sized(5, data) + num(20, 4)


def function(name, inputs, outputs, nodes, *more, domain="own"):
    return (sized(1, name) + b"".join(sized(4, i) for i in inputs) + b"".join(sized(5, o) for o in outputs) +
            b"".join(sized(7, n) for n in nodes) + sized(9, num(2, 13)) + sized(10, domain) + b"".join(more))


def small(*constants, dtype=FLOAT):
    """x + w = y; w is what a case puts in."""
    return model(graph([node("Add", ["x", "w"], ["y"], name="add")], constants, [info("x", dtype=dtype)], [info("y", dtype=dtype)]))


def weight(*data, dims=(1, 4), dtype=FLOAT):
    return small(tensor("w", dims, dtype, *data), dtype=dtype)


GOOD = weight(raw(16))
cases = []  # file, bytes, words, stage


def case(name, data, *words, stage="read"):
    cases.append((name + ".onnx", data, words, stage))


def paths():
    def at(location, **more):
        return weight(external(location=location, **more))

    case("path_parent", at("../secret.bin"), "..", "refused")
    case("path_parent_inside", at("a/../../secret.bin"), "..", "refused")
    case("path_parent_last", at("a/.."), "..", "refused")
    case("path_parent_only", at(".."), "..", "refused")
    case("path_parent_deep", at("../" * 40 + "etc/passwd"), "..", "refused")
    case("path_parent_back", at("sub/../weights.bin"), "..", "refused")
    case("path_absolute", at("/etc/passwd"), "absolute", "/etc/passwd")
    case("path_absolute_double", at("//etc/passwd"), "absolute")
    case("path_proc", at("/proc/version"), "absolute")
    case("path_symlink", at("link.bin"), "symbolic link", "link.bin")
    case("path_symlink_inside", at("inner_link.bin"), "symbolic link")
    case("path_symlink_folder", at("link_folder/secret.bin"), "symbolic link")
    case("path_symlink_loop", at("loop.bin"), "symbolic link")
    case("path_hard_link", at("hard.bin"), "hard links", "hard.bin")
    case("path_fifo", at("pipe.bin"), "FIFO", "pipe.bin")
    case("path_directory", at("folder.bin"), "a directory")
    case("path_dot", at("."), "a directory")
    case("path_missing", at("missing.bin"), "missing.bin")
    case("path_empty", at(""), "without a name")
    case("path_nul", at("weights.bin\0../x"), "NUL")
    case("path_escape_codes", at("\x1b[31mred\n../x"), "..")
    case("path_long", at("a" * 5000), "5000 bytes")
    case("path_long_part", at("a" * 300), "cannot open")
    case("path_slash_end", at("weights.bin/"), "cannot open")
    case("path_backslash", at("..\\secret.bin"), "cannot open")
    case("path_none", weight(external(offset="0", length="16")), "'w'", "does not say where")
    case("path_strings", weight(external(location="weights.bin"), dtype=STRING), "'w'", "strings")


def places():
    def at(offset, length):
        keys = {"location": "weights.bin"}
        if offset is not None:
            keys["offset"] = offset
        if length is not None:
            keys["length"] = length
        return weight(external(**keys))

    case("place_negative_offset", at("-1", "16"), "'w'", "offset of '-1'")
    case("place_negative_length", at("0", "-16"), "'w'", "length of '-16'")
    case("place_huge_offset", at("9223372036854775807", "16"), "'w'", "of a file of 64")
    case("place_wrapping", at("18446744073709551600", "32"), "'w'", "of a file of 64")
    case("place_past_64_bits", at("36893488147419103232", "16"), "'w'", "offset of")
    case("place_petabytes", at("0", "1125899906842624"), "'w'", "of a file of 64")
    case("place_past_end", at("56", "16"), "'w'", "of a file of 64")
    case("place_too_short", at("0", "8"), "'w'", "8 external bytes")
    case("place_too_long", at("0", "32"), "'w'", "32 external bytes")
    case("place_no_length", at("0", None), "'w'", "64 external bytes")
    case("place_words", at("twelve", "16"), "'w'", "offset of 'twelve'")
    case("place_hex", at("0x10", "16"), "'w'", "offset of '0x10'")
    case("place_float", at("1e1", "16"), "'w'", "offset of '1e1'")
    case("place_blank", at(" 4", "16"), "'w'", "offset of ' 4'")
    case("place_both", weight(external(location="weights.bin", offset="0", length="16"), raw(16)), "'w'", "both in the file and outside")
    case("place_nowhere", weight(num(14, 7)), "'w'", "place ONNX does not have")


def tensors():
    big = 1 << 62
    case("dims_wrap", weight(raw(16), dims=(big, 4)), "'w'", "64 bits")
    case("dims_wrap_to_16", weight(raw(16), dims=(big, 4, 1, 4)), "'w'", "64 bits")
    case("dims_wrap_bytes", weight(raw(16), dims=(big,)), "'w'", "64 bits")
    case("dims_2_61", weight(raw(16), dims=(1 << 61,)), "'w'")
    case("dims_negative", weight(raw(16), dims=(-1, 4)), "'w'", "negative dimension")
    case("dims_negative_pair", weight(raw(16), dims=(-2, -2)), "'w'", "negative dimension")
    case("dims_many", weight(raw(16), dims=[1] * 33), "'w'", "more dimensions")
    case("dims_million", weight(raw(16), dims=[1] * 1000000), "'w'", "more dimensions")
    case("dims_packed_many", weight(sized(1, bytes([1]) * 100000), raw(16), dims=()), "'w'", "more dimensions")
    case("dims_zero_with_data", weight(raw(16), dims=(0, 4)), "'w'", "16 bytes where its shape and type need 0")
    case("raw_short", weight(raw(15)), "'w'", "15 bytes where its shape and type need 16")
    case("raw_long", weight(raw(17)), "'w'", "17 bytes where its shape and type need 16")
    case("raw_none", weight(), "'w'", "has no data")
    case("raw_and_list", weight(raw(16), sized(4, bytes(16))), "'w'", "twice")
    case("two_lists", weight(sized(4, bytes(16)), sized(7, bytes(4))), "'w'", "two fields")
    case("wrong_list", weight(sized(7, bytes(4))), "'w'", "field 7")
    case("type_zero", weight(raw(16), dtype=0), "'w'", "type 0")
    case("type_unknown", small(tensor("w", (1, 4), 99, raw(16))), "'w'", "type 99")
    case("type_huge", small(tensor("w", (1, 4), 1 << 40, raw(16))), "'w'", "type 1099511627776")
    case("type_negative", small(tensor("w", (1, 4), -1, raw(16))), "'w'", "which ONNX does not have")
    case("segment", weight(raw(16), sized(3, num(1, 0) + num(2, 4))), "'w'", "segments")
    case("floats_short", weight(sized(4, bytes(12))), "'w'", "12 bytes")
    case("floats_odd", weight(sized(4, bytes(15))), "'w'", "15 bytes")
    case("floats_split_odd", weight(sized(4, bytes(7)), sized(4, bytes(9))), "cannot be read")
    case("int32s_few", weight(sized(5, bytes(3)), dtype=INT8), "'w'", "3 numbers where its shape and type need 4")
    case("int32s_many", weight(sized(5, bytes(5)), dtype=INT8), "'w'", "5 numbers")
    case("int32s_f16_many", weight(sized(5, bytes(6)), dtype=FLOAT16), "'w'", "6 numbers")
    case("int32s_count_bomb", weight(sized(5, bytes(4)), dims=(1 << 30, 4), dtype=INT8), "'w'", "need 4294967296")
    case("int64s_few", weight(sized(7, bytes(2)), dtype=INT64), "'w'", "2 numbers")
    case("int64s_cut", weight(sized(7, b"\1\2\3\x80"), dtype=INT64), "cannot be read", "byte")
    case("int4_many", weight(sized(5, bytes(3)), dtype=INT4), "'w'", "3 numbers where its shape and type need 2")
    case("int4_raw_long", weight(raw(4), dtype=INT4), "'w'", "4 bytes where its shape and type need 2")
    case("strings_few", weight(sized(6, "a"), sized(6, "b"), dtype=STRING), "'w'", "2 texts")
    case("strings_raw", weight(raw(16), dtype=STRING), "'w'", "strings")
    case("strings_bomb", weight(sized(6, "a"), dims=(1 << 40,), dtype=STRING), "'w'", "1 texts")
    case("no_name", small(num(1, 4) + num(2, FLOAT) + raw(16)), "no name")
    case("initializer_twice", small(tensor("w", (1, 4), FLOAT, raw(16)), tensor("w", (1, 4), FLOAT, raw(16))), "'w'", "twice")
    case("count_bomb_raw", num(1, 8) + sized(8, num(2, 13)) + b"\x3a\xff\xff\xff\xff\x07", "damaged ONNX file", "claims")
    case("count_bomb_2_63", num(1, 8) + sized(8, num(2, 13)) + b"\x3a" + varint(1 << 63), "damaged ONNX file", "claims")

    def sparse(values, indices, dims):
        return model(graph([node("Add", ["x", "w"], ["y"])], (), [info("x")], [info("y")],
                           sized(15, sized(1, values) + sized(2, indices) + b"".join(num(3, d) for d in dims))))

    one = tensor("w", (1,), FLOAT, raw(4))
    case("sparse_past_end", sparse(one, tensor("", (1,), INT64, sized(7, varint(4))), (1, 4)), "'w'", "index outside")
    case("sparse_negative", sparse(one, tensor("", (1,), INT64, sized(7, varint(-1))), (1, 4)), "'w'", "index outside")
    case("sparse_row", sparse(one, tensor("", (1, 2), INT64, sized(7, varint(0) + varint(9))), (1, 4)), "'w'", "index outside")
    case("sparse_misfit", sparse(one, tensor("", (2,), INT64, sized(7, bytes(2))), (1, 4)), "'w'", "do not fit")
    case("sparse_wrap", sparse(one, tensor("", (1,), INT64, sized(7, bytes(1))), (big, 4)), "'w'", "64 bits")


def graphs():
    def of(*nodes):
        return model(graph(nodes, (), [info("x")], [info("y")]))

    case("circle_self", of(node("Add", ["x", "y"], ["y"], name="knot")), "knot", "circle")
    case("circle_two", of(node("Add", ["x", "b"], ["a"], name="knot"), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])), "circle")
    ring = [node("Relu", [f"t{(i + 999) % 1000}"], [f"t{i}"]) for i in range(1000)]
    case("circle_thousand", of(*ring, node("Relu", ["x"], ["y"])), "circle")
    case("missing_input", of(node("Add", ["x", "ghost"], ["y"], name="lost")), "lost", "ghost", "nothing makes")
    case("missing_output", model(graph((), (), [info("x")], [info("ghost")])), "ghost", "nothing makes")
    case("output_twice", of(node("Relu", ["x"], ["y"]), node("Relu", ["x"], ["y"])), "'y'", "twice")
    case("output_twice_in_one", of(node("Split", ["x"], ["y", "y"])), "'y'", "twice")
    case("output_is_input", of(node("Relu", ["x"], ["x"]), node("Relu", ["x"], ["y"])), "'x'", "twice")
    case("input_twice", model(graph([node("Relu", ["x"], ["y"])], (), [info("x"), info("x")], [info("y")])), "'x'", "twice")
    case("input_unnamed", model(graph([node("Relu", ["x"], ["y"])], (), [info("")], [info("y")])), "no name")
    case("no_operator", of(sized(1, "x") + sized(2, "y") + sized(3, "void")), "void", "no operator")
    case("no_graph", num(1, 8) + sized(8, num(2, 13)), "without a graph")
    case("two_graphs", GOOD + GOOD[GOOD.index(b"\x3a"):], "two graphs")
    case("name_not_utf8", of(node("Relu", ["x"], [b"\xff\xfe"]), node("Relu", [b"\xff\xfe"], ["y"])), "not UTF-8", "byte")
    case("name_overlong_utf8", of(node("Relu", ["x"], [b"\xc0\x80"]), node("Relu", [b"\xc0\x80"], ["y"])), "not UTF-8")
    case("name_nul", of(node("Relu", ["x"], ["a\0b"]), node("Relu", ["a\0b"], ["y"])), "NUL")
    case("name_long", of(node("Relu", ["x"], ["n" * 5000]), node("Relu", ["n" * 5000], ["y"])), "longer than")
    case("operator_not_utf8", of(node(b"\xff", ["x"], ["y"])), "not UTF-8")
    case("too_many_nodes", of(*[node("Relu", ["x"], [f"t{i}"]) for i in range(400001)], node("Relu", ["x"], ["y"])), "400000 nodes")
    case("empty_nodes", num(1, 8) + sized(7, sized(1, b"") * 300000), "no operator")
    case("attributes_many", of(node("Relu", ["x"], ["y"], *[b""] * 900000)), "no name")
    case("attributes_named", of(node("Relu", ["x"], ["y"], *[sized(1, "a")] * 1500000)), "memory")
    case("inputs_many", model(graph((), (), [sized(1, f"{i:x}") for i in range(700000)])), "memory")
    case("value_names", of(*[node("Split", ["x"], [f"{k:x}.{i:x}" for i in range(100000)]) for k in range(7)]), "memory")
    case("attribute_kind", of(node("Relu", ["x"], ["y"], sized(1, "odd") + num(20, 77))), "'odd'", "kind 77")
    case("attribute_no_tensor", of(node("Constant", [], ["y"], sized(1, "value") + num(20, 4))), "'value'", "no value")
    case("attribute_no_graph", of(node("If", ["x"], ["y"], sized(1, "then_branch") + num(20, 5))), "'then_branch'", "no value")
    case("attribute_bad_tensor", of(node("Constant", [], ["y"], attr_tensor("value", tensor("t", (9,), FLOAT, raw(4))))), "'t'", "4 bytes")
    case("rank_33", model(graph([node("Relu", ["x"], ["y"])], (), [info("x", [1] * 33)], [info("y")])), "more than 32 dimensions")
    case("element_type_99", model(graph([node("Relu", ["x"], ["y"])], (), [info("x", dtype=99)], [info("y")])), "element type is 99")
    later = attr_graph("then_branch", graph([node("Relu", ["late"], ["o"], name="early")], (), (), [info("o")]))
    case("body_uses_later", of(node("If", ["x"], ["y"], later), node("Relu", ["x"], ["late"])), "early", "a later node makes")
    own = attr_graph("then_branch", graph([node("Relu", ["y"], ["o"], name="early")], (), (), [info("o")]))
    case("body_uses_own", of(node("If", ["x"], ["y"], own)), "early", "a later node makes")
    case("body_missing", of(node("If", ["x"], ["y"], attr_graph("then_branch", graph([node("Relu", ["nope"], ["o"], name="inner")])))), "inner", "nope")


def depth():
    body = graph([node("Relu", ["x"], ["o"])], (), (), [info("o")])
    for _ in range(40):
        body = graph([node("If", ["x"], ["o"], attr_graph("then_branch", body))], (), (), [info("o")])
    case("depth_graphs", model(graph([node("If", ["x"], ["y"], attr_graph("then_branch", body))], (), [info("x")], [info("y")])), "deep")
    body = graph([node("Relu", ["x"], ["o"])])
    for _ in range(3000):
        body = graph([node("If", ["x"], ["o"], attr_graph("b", body))])
    case("depth_graphs_3000", model(graph([node("If", ["x"], ["y"], attr_graph("b", body))], (), [info("x")], [info("y")])), "deep")
    for name, field in (("sequences", 4), ("optionals", 9)):
        kind = tensor_type((1,))
        for _ in range(20000):
            kind = sized(field, sized(1, kind))
        case("depth_" + name, model(graph([node("Relu", ["x"], ["y"])], (), [sized(1, "x") + sized(2, kind)], [info("y")])), "deep")
    kind = tensor_type((1,))
    for _ in range(5000):
        kind = sized(5, sized(2, kind))
    case("depth_maps", model(graph([node("Relu", ["x"], ["y"])], (), [sized(1, "x") + sized(2, kind)], [info("y")])), "deep")


def functions():
    def of(call, *all_functions):
        return model(graph([call], (), [info("x")], [info("y")]), *[sized(25, f) for f in all_functions])

    def call(op, inputs=("a",), outputs=("b",), **more):
        return node(op, inputs, outputs, domain="own", **more)

    start = call("F", ["x"], ["y"], name="first")
    case("function_itself", of(start, function("F", ["a"], ["b"], [call("F")])), "'F'", "calls itself")
    case("function_ring", of(start, function("F", ["a"], ["b"], [call("G")]), function("G", ["a"], ["b"], [call("F")])), "'F'", "calls itself")
    chain = [function(f"F{i}", ["a"], ["b"], [call(f"F{i + 1}")]) for i in range(100)]
    case("function_chain", of(call("F0", ["x"], ["y"]), *chain), "deep")

    def doubling(last):
        out = [function(f"F{i}", ["a"], ["b"], [call(f"F{i + 1}", ["a"], ["c"]), call(f"F{i + 1}", ["c"], ["b"])]) for i in range(30)]
        return out + [last]

    case("function_doubling", of(call("F0", ["x"], ["y"]), *doubling(function("F30", ["a"], ["b"], [node("Relu", ["a"], ["b"])]))), "need more memory")
    case("function_doubling_empty", of(call("F0", ["x"], ["y"]), *doubling(function("F30", ["b"], ["b"], []))), "need more memory")
    wide = [function(f"F{i}", ["a"], ["b"], [call(f"F{i + 1}", ["a"], [f"c{k}"]) for k in range(40)] + [node("Relu", ["a"], ["b"])]) for i in range(9)]
    case("function_wide", of(call("F0", ["x"], ["y"]), *wide, function("F9", ["a"], ["b"], [node("Relu", ["a"], ["b"])])), "need more memory")
    fat = function("F", [f"i{k}" for k in range(50000)], ["b"], [node("Relu", ["i0"], ["b"])])
    calls = [call("F", ["x"], ["y" if k == 0 else f"u{k}"]) for k in range(5000)]
    case("function_fat", model(graph(calls, (), [info("x")], [info("y")]), sized(25, fat)), "fields")
    case("function_twice", of(start, *[function("F", ["a"], ["b"], [node("Relu", ["a"], ["b"])])] * 2), "'F'", "twice")
    case("function_no_output", of(start, function("F", ["a"], ["b"], [node("Relu", ["a"], ["c"])])), "'F'", "'b'", "does not make")
    case("function_inputs", of(call("F", ["x", "x"], ["y"], name="first"), function("F", ["a"], ["b"], [node("Relu", ["a"], ["b"])])), "first", "2 inputs")
    case("function_outer_name", of(start, function("F", ["a"], ["b"], [node("Relu", ["x"], ["b"], name="peek")])), "peek", "nothing makes")


def wire():
    head = num(1, 8) + sized(8, num(2, 13))
    case("wire_group", head + b"\x3b\x08\x01\x3c", "damaged ONNX file", "group")
    case("wire_group_inside", head + sized(7, b"\x0b\x0c"), "damaged ONNX file", "group")
    case("wire_kind_6", head + b"\x3e\x01", "damaged ONNX file", "group")
    case("wire_kind_7", head + sized(7, b"\x0f\x01"), "damaged ONNX file", "group")
    case("wire_field_zero", head + b"\x02\x00", "damaged ONNX file", "no field")
    case("wire_long_varint", b"\x08" + b"\xff" * 10 + b"\x01" + GOOD[2:], "damaged ONNX file", "byte 0")
    case("wire_long_tag", head + b"\xff" * 11, "damaged ONNX file")
    case("wire_long_length", head + b"\x3a" + b"\x80" * 10 + b"\x01", "damaged ONNX file")
    case("wire_length_beyond", head + sized(7, b"\x0a\x50abc"), "damaged ONNX file", "claims 80 bytes where 3 are left")
    case("wire_graph_number", head + num(7, 5), "damaged ONNX file")
    case("wire_name_number", model(graph([num(3, 5)])), "damaged ONNX file", "text")
    case("wire_type_text", model(graph((), [sized(2, "f")])), "damaged ONNX file", "a number")
    case("wire_fixed_cut", head + sized(7, b"\x0d\x00\x00"), "damaged ONNX file", "cut off")
    case("wire_garbage_after", GOOD + b"\xff\xff\xff", "damaged ONNX file", "byte")
    case("wire_zeros_after", GOOD + bytes(100), "damaged ONNX file", "no field")


def wrong_files():
    case("wrong_empty", b"", "is empty")
    case("wrong_html", b"<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n", "an HTML page")
    case("wrong_html_upper", b"\n  <HTML><BODY>moved</BODY></HTML>", "an HTML page")
    case("wrong_png", b"\x89PNG\r\n\x1a\n" + bytes(40), "a PNG image")
    case("wrong_jpeg", b"\xff\xd8\xff\xe0" + bytes(40), "a JPEG image")
    case("wrong_gif", b"GIF89a" + bytes(40), "a GIF image")
    case("wrong_zip", b"PK\x03\x04" + bytes(40), "a ZIP archive: perhaps a PyTorch checkpoint")
    case("wrong_gzip", b"\x1f\x8b\x08" + bytes(40), "gzip")
    case("wrong_xz", b"\xfd7zXZ\x00" + bytes(40), "xz")
    case("wrong_zstd", b"\x28\xb5\x2f\xfd" + bytes(40), "zstd")
    case("wrong_elf", b"\x7fELF\x02\x01\x01" + bytes(40), "ELF")
    case("wrong_pdf", b"%PDF-1.7\n" + bytes(40), "PDF")
    case("wrong_hdf5", b"\x89HDF\r\n\x1a\n" + bytes(40), "HDF5", "Keras")
    case("wrong_pickle", b"\x80\x02}q\x00." + bytes(4), "pickle")
    case("wrong_lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "Git LFS pointer", "git lfs pull")
    case("wrong_json", b'{"error": "not found"}\n', "a JSON file")
    case("wrong_xml", b"<?xml version='1.0'?><Error/>", "an XML file")
    case("wrong_text", b"Not Found\n", "a text file")
    case("wrong_zeros", bytes(4096), "zeros")
    case("wrong_one_byte", b"x", "a text file")
    case("wrong_noise", bytes((i * 167 + 89) % 251 + 3 for i in range(500)), "not a model file")


def divisions():
    def conv(*attrs, dims=(4, 4, 3, 3), x=(1, 4, 8, 8)):
        count = 4
        for d in dims:
            count *= d
        return model(graph([node("Conv", ["x", "w"], ["y"], *attrs, name="divide")], [tensor("w", dims, FLOAT, raw(count))],
                           [info("x", x)], [info("y", (1, 4, 6, 6))]))

    for name, data in (("group_zero", conv(attr_int("group", 0))), ("group_negative", conv(attr_int("group", -4))),
                       ("stride_zero", conv(attr_ints("strides", [0, 0]))), ("dilation_zero", conv(attr_ints("dilations", [0, 0]))),
                       ("kernel_zero", conv(attr_ints("kernel_shape", [0, 0]), dims=(4, 4, 0, 0))),
                       ("group_huge", conv(attr_int("group", (1 << 63) - 1)))):
        case("divide_" + name, data, "divide", stage="inference")
    pool = model(graph([node("MaxPool", ["x"], ["y"], attr_ints("kernel_shape", [2, 2]), attr_ints("strides", [0, 0]), name="divide")], (),
                       [info("x", (1, 4, 8, 8))], [info("y", (1, 4, 4, 4))]))
    case("divide_pool_stride", pool, "divide", stage="inference")


def truncated():
    for size in range(1, len(GOOD)):
        case(f"cut_{size:03}", GOOD[:size], "damaged ONNX file", "byte")


def surroundings(folder, outside):
    """What the paths in the files lead to."""
    os.makedirs(outside, exist_ok=True)
    with open(os.path.join(outside, "secret.bin"), "wb") as f:
        f.write(b"secret!!" * 8)
    for name in ("weights.bin", "sub/weights.bin"):
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "wb") as f:
            f.write(bytes(64))
    os.makedirs(os.path.join(folder, "a"), exist_ok=True)
    os.makedirs(os.path.join(folder, "folder.bin"), exist_ok=True)
    os.symlink(os.path.join(outside, "secret.bin"), os.path.join(folder, "link.bin"))
    os.symlink("weights.bin", os.path.join(folder, "inner_link.bin"))
    os.symlink(outside, os.path.join(folder, "link_folder"))
    os.symlink("loop.bin", os.path.join(folder, "loop.bin"))
    os.link(os.path.join(outside, "secret.bin"), os.path.join(folder, "hard.bin"))
    os.mkfifo(os.path.join(folder, "pipe.bin"))


def seeds(folder):
    branch = graph([node("Relu", ["x"], ["o"])], (), (), [info("o")])
    sound = {
        "add": GOOD,
        "symbols": model(graph([node("Relu", ["x"], ["y"])], (), [info("x", ("n", 4))], [info("y", ("n", 4))])),
        "if": model(graph([node("If", ["c"], ["y"], attr_graph("then_branch", branch), attr_graph("else_branch", branch))], (),
                          [info("c", (), BOOL), info("x")], [info("y")])),
        "function": model(graph([node("F", ["x"], ["y"], domain="own", name="call")], (), [info("x")], [info("y")]),
                          sized(25, function("F", ["a"], ["b"], [node("Relu", ["a"], ["c"]),
                                                                 node("LeakyRelu", ["c"], ["b"], sized(1, "alpha") + num(20, 1) + sized(21, "alpha"))],
                                             sized(11, sized(1, "alpha") + fixed32(2, 0.5) + num(20, 1))))),
        # Calls without names, one of which makes what the call around it makes: names inside must differ all the same.
        "function_same_names": model(graph([node("F", ["x"], ["y"], domain="own")], (), [info("x")], [info("y")]),
                                     sized(25, function("F", ["a"], ["b"], [node("G", ["a"], ["c"], domain="own"),
                                                                            node("G", ["c"], ["b"], domain="own")])),
                                     sized(25, function("G", ["a"], ["b"], [node("Relu", ["a"], ["c"]), node("Relu", ["c"], ["b"])]))),
        "lists": model(graph([node("Constant", [], ["y"], attr_tensor("value", tensor("t", (4,), INT64, sized(7, bytes([1, 2, 3, 4])))),
                                   attr_ints("ints", [1, -1, 300]), sized(1, "f") + fixed32(2, 1.5) + num(20, 1),
                                   sized(1, "s") + sized(4, "text") + num(20, 3))], (), (), [info("y", (4,), INT64)])),
        "int4": weight(sized(5, bytes([0x21, 0x43])), dtype=INT4),
        "half": weight(sized(5, varint(15360) * 4), dtype=FLOAT16),
        "strings": weight(*[sized(6, t) for t in "abcd"], dtype=STRING),
        "split_floats": weight(sized(4, bytes(8)), sized(4, bytes(4)), fixed32(4, 2.0)),
        "sparse": model(graph([node("Add", ["x", "w"], ["y"])], (), [info("x")], [info("y")],
                              sized(15, sized(1, tensor("w", (1,), FLOAT, raw(4))) + sized(2, tensor("", (1,), INT64, sized(7, varint(3)))) +
                                    num(3, 1) + num(3, 4)))),
        "sequence": model(graph([node("SequenceConstruct", ["x"], ["y"])], (), [info("x")], [sized(1, "y") + sized(2, sized(4, sized(1, tensor_type((1, 4)))))])),
    }
    for name, data in sound.items():
        with open(os.path.join(folder, name + ".onnx"), "wb") as f:
            f.write(data)


def heavy(folder):
    """Sound, but made to take long, to count past 64 bits or to find very much."""
    def loop(out, nodes):
        return graph(nodes + [node("Identity", ["c"], ["c2"])], (), [info("i", (), INT64), info("c", (), BOOL), info("v")],
                     [info("c2", (), BOOL), info(out)])

    def constant(name, value):
        return tensor(name, (), INT64, sized(7, varint(value)))

    body = loop("o", [node("MatMul", ["v", "w"], ["o"])])
    square = tensor("w", (4, 4), FLOAT, raw(64))
    files = {
        "loop": model(graph([node("Loop", ["m", "", "x"], ["y"], attr_graph("body", body))], [constant("m", 1 << 62), square], [info("x")], [info("y")])),
        "unknown": model(graph([node(f"Odd{i}", ["x"], [f"y{i}"]) for i in range(20000)], (), [info("x")], ())),
        "symbols": model(graph([node("Relu", ["x0"], ["y"])], (), [info(f"x{i}", (f"s{i}", f"t{i}")) for i in range(2000)], [info("y", ("s0", "t0"))])),
        "inputs": model(graph([node("Relu", ["x0"], ["y"])], (), [info(f"x{i}") for i in range(50000)], [info("y")])),
        "folds": model(graph([node("Add", [f"a{i}", "a0"], [f"a{i + 1}"]) for i in range(20000)], [tensor("a0", (1024,), INT64, raw(8192))],
                             [info("x", ("N", 4))], [info("a20000", (1024,), INT64)])),
    }
    for name, data in files.items():
        with open(os.path.join(folder, name + ".onnx"), "wb") as f:
            f.write(data)


def large():
    """More than a file of so few bytes may ask for."""
    def many(count, part, *more):
        return model(part * count + sized(11, info("x")) + sized(12, info("x")), *more)

    limit = "which is the limit for a file of its size"
    case("large_nodes", many(250000, sized(1, node("Relu", ["x"], []))), "250000 nodes", limit, stage="inference")
    case("large_nodes_more", many(400001, sized(1, node("Relu", ["x"], []))), "more than 400000 nodes")
    case("large_outputs", model(graph([node("Split", ["x"], [f"{i:x}" for i in range(300000)])], (), [info("x")], [])), limit, stage="inference")
    case("large_words", model(graph([node(f"Odd{i}", ["x"], []) for i in range(200000)], (), [info("x")], [])), limit, stage="inference")
    case("large_opsets", many(1, b"", b"\x42\x00" * 5000000), "5000001 opsets, more than 256")
    case("large_metadata", many(1, b"", b"\x72\x00" * 5000000), "5000000 entries of metadata")


def main():
    if sys.argv[1] == "--heavy":
        os.makedirs(sys.argv[2], exist_ok=True)
        heavy(sys.argv[2])
        return
    if sys.argv[1] == "--seeds":
        seeds(sys.argv[2])
        return
    folder = sys.argv[1]
    outside = os.path.join(os.path.dirname(os.path.abspath(folder)), "outside")
    os.makedirs(folder, exist_ok=True)
    for part in (paths, places, tensors, graphs, depth, functions, wire, wrong_files, divisions, truncated, large):
        part()
    with open(os.path.join(folder, "expect.tsv"), "w") as expect:
        for name, data, words, stage in cases:
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)
            expect.write(f"{name}\t{stage}\t{'|'.join(words)}\n")
    surroundings(folder, outside)
    print(f"{len(cases)} files")


if __name__ == "__main__":
    main()
