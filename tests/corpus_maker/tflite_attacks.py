#!/usr/bin/env python3
"""TensorFlow Lite files that want to do harm, and the words their refusal must contain.

usage: tflite_attacks.py FOLDER     writes the files and expect.tsv (file, stage, words)
       tflite_attacks.py --seeds FOLDER     writes a few small good files for the fuzzer"""
import os
import struct
import sys


class Flat:
    """A FlatBuffer written from front to back; every place can be found again and broken."""

    def __init__(self):
        self.b = bytearray(b"\0\0\0\0TFL3")

    def put(self, at, form, value):
        struct.pack_into("<" + form, self.b, at, value)

    def get(self, at, form):
        return struct.unpack_from("<" + form, self.b, at)[0]

    def table(self, fields):
        """fields: number -> struct letter; letters O are offsets to be linked later."""
        n, offset, vtable = max(fields, default=-1) + 1, 4, len(self.b)
        slots = [0] * n
        for field, form in sorted(fields.items()):
            slots[field] = offset
            offset += struct.calcsize("<" + form.replace("O", "I"))
        self.b += struct.pack("<HH%dH" % n, 4 + 2 * n, offset, *slots)
        table = len(self.b)
        self.b += struct.pack("<i", table - vtable) + b"\0" * (offset - 4)
        return table

    def vtable(self, table):
        return table - self.get(table, "i")

    def slot(self, table, field):
        return table + self.get(self.vtable(table) + 4 + 2 * field, "H")

    def set(self, table, field, form, value):
        self.put(self.slot(table, field), form, value)

    def link(self, table, field, target):
        at = self.slot(table, field)
        self.put(at, "I", (target - at) & 0xFFFFFFFF)

    def vector(self, form, values):
        at = len(self.b)
        self.b += struct.pack("<I%d%s" % (len(values), form), len(values), *values)
        return at

    def offsets(self, n):
        return self.vector("I", [0] * n)

    def element(self, vector, i, target):
        at = vector + 4 + 4 * i
        self.put(at, "I", (target - at) & 0xFFFFFFFF)

    def text(self, s):
        at = len(self.b)
        self.b += struct.pack("<I", len(s)) + s.encode() + b"\0"
        return at


class Conv(Flat):
    """x -> CONV_2D(w, bias) -> y."""

    def __init__(self, n_subgraphs=1):
        super().__init__()
        self.model = self.table({0: "I", 1: "O", 2: "O", 3: "O", 4: "O"})
        self.put(0, "I", self.model)
        self.set(self.model, 0, "I", 3)
        self.codes = self.offsets(1)
        self.link(self.model, 1, self.codes)
        self.code = self.table({0: "b", 2: "i", 3: "i"})
        self.element(self.codes, 0, self.code)
        self.set(self.code, 0, "b", 3)
        self.subgraphs = self.offsets(n_subgraphs)
        self.link(self.model, 2, self.subgraphs)
        self.link(self.model, 3, self.text("made by hand"))
        self.buffers = self.offsets(3)
        self.link(self.model, 4, self.buffers)
        self.buffer = []
        for i, size in enumerate((0, 288, 8)):
            self.buffer.append(self.table({0: "O", 1: "Q", 2: "Q"}))
            self.element(self.buffers, i, self.buffer[i])
            self.link(self.buffer[i], 0, self.vector("B", [0] * size))
        self.graphs, self.ops = [], []
        for i in range(n_subgraphs):
            self.add_graph(i)

    def add_graph(self, i):
        g = self.graph = self.table({0: "O", 1: "O", 2: "O", 3: "O", 4: "O"})
        self.graphs.append(g)
        self.element(self.subgraphs, i, g)
        self.tensors = self.offsets(4)
        self.link(g, 0, self.tensors)
        self.inputs = self.vector("i", [0])
        self.link(g, 1, self.inputs)
        self.outputs = self.vector("i", [3])
        self.link(g, 2, self.outputs)
        self.link(g, 4, self.text("graph%d" % i))
        self.operators = self.offsets(1)
        self.link(g, 3, self.operators)
        self.op = self.table({0: "I", 1: "O", 2: "O", 3: "B", 4: "O"})
        self.ops.append(self.op)
        self.element(self.operators, 0, self.op)
        self.op_inputs = self.vector("i", [0, 1, 2])
        self.link(self.op, 1, self.op_inputs)
        self.op_outputs = self.vector("i", [3])
        self.link(self.op, 2, self.op_outputs)
        self.options = self.table({0: "b", 1: "i", 2: "i", 3: "b", 4: "i", 5: "i"})
        for field, value in ((1, 1), (2, 1), (4, 1), (5, 1)):
            self.set(self.options, field, "i", value)
        self.set(self.op, 3, "B", 1)
        self.link(self.op, 4, self.options)
        self.tensor, self.shape = [], []
        for k, (name, buffer, shape) in enumerate((("x", 0, (1, 8, 8, 4)), ("w", 1, (2, 3, 3, 4)), ("bias", 2, (2,)),
                                                   ("y", 0, (1, 6, 6, 2)))):
            t = self.table({0: "O", 1: "b", 2: "I", 3: "O", 4: "O"})
            self.tensor.append(t)
            self.element(self.tensors, k, t)
            self.shape.append(self.vector("i", shape))
            self.link(t, 0, self.shape[k])
            self.set(t, 2, "I", buffer)
            self.link(t, 3, self.text(name))
            q = self.table({2: "O"})
            self.link(t, 4, q)
            self.link(q, 2, self.vector("f", [0.5]))

    def loop(self, i, cond, body):
        """The operator of graph i becomes a WHILE."""
        options = self.table({0: "i", 1: "i"})
        self.set(options, 0, "i", cond)
        self.set(options, 1, "i", body)
        self.set(self.code, 0, "b", 119)
        self.set(self.ops[i], 3, "B", 93)
        self.link(self.ops[i], 4, options)


def broken(breaking, *args):
    f = Conv(*args)
    breaking(f)
    return bytes(f.b)


def chain(n):
    """Each graph runs the next one twice: 2^n copies when nobody counts."""
    f = Conv(n)
    for i in range(n - 1):
        f.loop(i, i + 1, i + 1)
    return f


def attacks():
    yield "root_past_end", broken(lambda f: f.put(0, "I", 0x7FFFFFFF)), "the model is outside the file"
    yield "root_0", broken(lambda f: f.put(0, "I", 0xFFFFFFFC)), "the model is outside the file"
    yield "vtable_before_file", broken(lambda f: f.put(f.model, "i", 0x7FFFFFFF)), "the vtable of the model is outside"
    yield "vtable_past_end", broken(lambda f: f.put(f.model, "i", -0x7FFFFFFF)), "the vtable of the model is outside"
    yield "vtable_of_itself", broken(lambda f: f.put(f.graph, "i", 0)), "a subgraph"
    yield "vtable_odd", broken(lambda f: f.put(f.vtable(f.graph), "H", 7)), "the vtable of a subgraph has 7 bytes"
    yield "vtable_huge", broken(lambda f: f.put(f.vtable(f.tensor[3]), "H", 0xFFFE)), "the vtable of a tensor has 65534 bytes"
    yield "table_huge", broken(lambda f: f.put(f.vtable(f.tensor[3]) + 2, "H", 0xFFFF)), "ends past the end of the file"
    yield "field_outside", broken(lambda f: f.put(f.vtable(f.op) + 4, "H", 0x7FFF)), "field 0 of an operator is outside"
    yield "field_in_the_offset", broken(lambda f: f.put(f.vtable(f.op) + 4, "H", 1)), "field 0 of an operator is outside"
    yield "offset_0", broken(lambda f: f.set(f.model, 2, "I", 0)), "the model is outside the file"
    yield "offset_backwards", broken(lambda f: f.set(f.model, 2, "i", -8)), "outside the file"
    yield "cycle_to_the_model", broken(lambda f: f.element(f.subgraphs, 0, f.model)), "outside the file"
    yield "vector_count_huge", broken(lambda f: f.put(f.tensors, "I", 0xFFFFFFFF)), "4294967295 elements, past the end"
    yield "vector_of_subgraphs_huge", broken(lambda f: f.put(f.subgraphs, "I", 0x40000000)), "1073741824 elements, past the end"
    yield "text_past_end", broken(lambda f: f.put(f.slot(f.tensor[3], 3), "I", 0x7FFFFFF0)), "outside the file"
    yield "no_subgraph", broken(lambda f: f.put(f.subgraphs, "I", 0)), "no subgraph"
    yield "version_4", broken(lambda f: f.set(f.model, 0, "I", 4)), "schema version 4"
    yield "code_past_end", broken(lambda f: f.set(f.op, 0, "I", 1)), "code 1, but the file has 1"
    yield "code_negative", broken(lambda f: f.set(f.code, 3, "i", -5)), "operator code 0 is negative"
    yield "custom_without_name", broken(lambda f: f.set(f.code, 0, "b", 32)), "custom operator code 0 has no name"
    yield "input_minus_2", broken(lambda f: f.put(f.op_inputs + 4, "i", -2)), "input 0 is tensor -2"
    yield "input_past_end", broken(lambda f: f.put(f.op_inputs + 4, "i", 4)), "input 0 is tensor 4"
    yield "output_minus_1", broken(lambda f: f.put(f.op_outputs + 4, "i", -1)), "output 0 is tensor -1"
    yield "graph_input_minus_1", broken(lambda f: f.put(f.inputs + 4, "i", -1)), "a graph's input 0 is tensor -1"
    yield "graph_input_twice", broken(lambda f: f.link(f.graph, 1, f.vector("i", [0, 0]))), "tensor 'x' is an input of its graph twice"
    yield "graph_output_minus_1", broken(lambda f: f.put(f.outputs + 4, "i", -1)), "a graph's output 0 is tensor -1"
    yield "makes_its_own_input", broken(lambda f: f.put(f.op_inputs + 4, "i", 3)), "y"
    yield "makes_a_constant", broken(lambda f: f.put(f.op_outputs + 4, "i", 1)), "another one makes too"
    yield "buffer_past_end", broken(lambda f: f.set(f.tensor[1], 2, "I", 3)), "buffer 3 is asked for"
    yield "buffer_minus_1", broken(lambda f: f.set(f.tensor[1], 2, "I", 0xFFFFFFFF)), "buffer 4294967295 is asked for"
    yield "dims_larger_than_data", broken(lambda f: f.put(f.shape[1] + 4, "i", 1 << 20)), "constant 'w' needs"
    yield "dims_smaller_than_data", broken(lambda f: f.put(f.shape[1] + 4, "i", 1)), "constant 'w' needs 144 bytes"
    yield "dims_negative", broken(lambda f: f.put(f.shape[0] + 4, "i", -7)), "a dimension of tensor 'x' is -7"

    def wrap(f):
        for i in range(4):
            f.put(f.shape[1] + 4 + 4 * i, "i", 1 << 30)
    yield "dims_product_wraps", broken(wrap), "the size of constant 'w' is not known"
    yield "rank_1000", broken(lambda f: f.link(f.tensor[3], 0, f.vector("i", [1] * 1000))), "1000 dimensions"
    yield "type_127", broken(lambda f: f.set(f.tensor[0], 1, "b", 127)), "tensor 'x' is of type 127"
    yield "texts_that_are_none", broken(lambda f: f.set(f.tensor[1], 1, "b", 5)), "tensor 'w'"

    def declares(channels):
        def change(f):
            f.set(f.options, 0, "b", 1)  # VALID
            f.put(f.shape[3] + 16, "i", channels)
        return change
    yield "declares_other_channels", broken(declares(99)), "the file declares output 'y' as f32 1x6x6x99, but it is f32 1x6x6x2"

    def behind(offset, size):
        def change(f):
            f.link(f.buffer[2], 0, f.vector("B", []))
            f.set(f.buffer[2], 1, "Q", offset)
            f.set(f.buffer[2], 2, "Q", size)
        return change
    yield "behind_past_end", broken(behind(1 << 40, 8)), "buffer 2 has 8 bytes at 1099511627776"
    yield "behind_wraps", broken(behind(16, (1 << 64) - 8)), "past the end of the file"
    yield "padding_9", broken(lambda f: f.set(f.options, 0, "b", 9)), "the padding of an operator's options is 9"
    yield "activation_99", broken(lambda f: f.set(f.options, 3, "b", 99)), "the fused_activation_function of"
    yield "loop_in_itself", broken(lambda f: f.loop(0, 0, 0)), "of which it is a part"
    yield "loop_past_end", broken(lambda f: f.loop(0, 5, 5)), "runs subgraph 5, but the file has 1"
    yield "loop_minus_1", broken(lambda f: f.loop(0, -1, -1)), "runs subgraph -1"
    yield "loops_in_a_ring", broken(lambda f: (f.loop(0, 1, 1), f.loop(1, 0, 0)), 2), "of which it is a part"
    yield "depth_bomb", bytes(chain(60).b), "32 deep"
    yield "copies_2_30", bytes(chain(31).b), "more than 4096 times"

    def same(f):
        many = f.offsets(250000)
        f.link(f.graph, 0, many)
        t = f.table({1: "b"})
        for i in range(250000):
            f.element(many, i, t)
    yield "tensors_250000_of_one_table", broken(same), "more than 200000 tensors"

    def new_shape(f):
        f.set(f.op, 3, "B", 17)
        t = f.table({0: "O"})
        f.link(f.op, 4, t)
        f.link(t, 0, f.vector("i", [1] * 5000))
    yield "list_of_5000", broken(new_shape), "has 5000 elements, more than 4096"
    yield "name_of_10000", broken(lambda f: f.link(f.tensor[3], 3, f.text("n" * 10000))), "10000 bytes, more than 4096"
    good = bytes(Conv().b)
    for cut in (8, 12, 40, 100, 500):
        yield "cut_at_%d" % cut, good[:cut], "byte"


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--seeds":
        os.makedirs(sys.argv[2], exist_ok=True)

        def with_loop(f):
            f.loop(0, 1, 1)
            f.put(f.operators, "I", 0)
            f.put(f.outputs + 4, "i", 0)
        for name, data in (("conv", bytes(Conv().b)), ("loop", broken(with_loop, 2))):
            with open(os.path.join(sys.argv[2], name), "wb") as f:
                f.write(data)
        return
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "expect.tsv"), "w") as expect:
        for name, data, words in attacks():
            with open(os.path.join(folder, name + ".tflite"), "wb") as f:
                f.write(data)
            expect.write("%s.tflite\tread\t%s\n" % (name, words))


main()
