#!/usr/bin/env python3
"""safetensors files and indexes that want to do harm, and the words their refusal must contain.

usage: safetensors_attacks.py FOLDER     writes the files and expect.tsv (file, stage, words)
       safetensors_attacks.py --seeds FOLDER     writes a few small good files for the fuzzer"""
import json
import os
import struct
import sys


def file(header, data=b"", length=None):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", (len(raw) if length is None else length) & 0xFFFFFFFFFFFFFFFF) + raw + data


def entry(dtype="F32", shape=(2,), begin=0, end=8):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def attacks():
    eight = b"\0" * 8
    yield "length_wraps", file({"t": entry()}, eight, -1), "the header has 18446744073709551615 bytes"
    yield "length_past_end", file({"t": entry()}, eight, 1 << 40), "the header has 1099511627776 bytes, but"
    yield "length_one_more", file(b'{"t":{}}', b"", 9), "the header has 9 bytes, but 8"
    yield "length_short", file({"t": entry()}, eight, 20), "the header, which begins at byte 8"
    yield "header_cut", file(b'{"t":{"dtype":"F32"'), "the header, which begins at byte 8"
    yield "header_then_more", file(b'{} {}'), "the header, which begins at byte 8"
    yield "array_bomb", file(b'{"t":{"x":' + b"[" * 100000), "the header, which begins at byte 8"
    yield "object_bomb", file(b'{"t":' + b'{"a":' * 100000), "the header, which begins at byte 8"
    yield "number_of_a_million_digits", file(b'{"t":{"shape":[' + b"9" * 1000000 + b"]}}"), "the header, which begins at byte 8"
    yield "number_past_64_bits", file(b'{"t":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0]}}'), "which is not a count"
    yield "shape_negative", file({"t": entry("U8", (-8,))}, eight), "'-8', which is not a count"
    yield "shape_real", file({"t": entry("U8", (8.5,))}, eight), "'8.5', which is not a count"
    yield "shape_text", file({"t": entry("U8", ("8",))}, eight), "not a list of up to"
    yield "shape_wraps", file({"t": entry("U8", (1 << 32, 1 << 32), 0, 0)}, eight), "multiplies past 2^63"
    yield "shape_wraps_to_8", file({"t": entry("F64", ((1 << 61) + 1,), 0, 8)}, eight), "multiplies past 2^63"
    yield "shape_2_64", file({"t": entry("U8", ((1 << 64) - 1,), 0, 8)}, eight), "past 2^63"
    yield "shape_of_100_dims", file({"t": entry("U8", [1] * 100, 0, 1)}, eight), "more than 32 numbers"
    yield "shape_larger_than_data", file({"t": entry("F32", (1000,))}, eight), "needs 4000 bytes for its shape, but has 8"
    yield "shape_smaller_than_data", file({"t": entry("F32", (1,))}, eight), "needs 4 bytes for its shape, but has 8"
    yield "offsets_past_end", file({"t": entry("F32", (1000,), 0, 4000)}, eight), "there are 8 bytes of data"
    yield "offsets_reversed", file({"t": entry("F32", (2,), 8, 0)}, eight), "from 8 to 0"
    yield "offsets_huge", file({"t": entry("F32", (2,), (1 << 64) - 8, (1 << 64) - 1)}, eight), "there are 8 bytes of data"
    yield "offsets_negative", file({"t": entry("F32", (2,), -8, 0)}, eight), "which is not a count"
    yield "offsets_one", file(b'{"t":{"dtype":"U8","shape":[8],"data_offsets":[0]}}', eight), "1 data_offsets instead of 2"
    yield "overlap", file({"t": entry("U8", (5,), 0, 5), "u": entry("U8", (4,), 4, 8)}, eight), "tensor 'u' overlaps tensor 't'"
    yield "twice", file(b'{"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"t":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}', eight), "tensor 't' is there twice"
    yield "type_unknown", file({"t": entry("FLOAT")}, eight), "type 'FLOAT', which is not known"
    yield "type_missing", file({"t": {"shape": [8], "data_offsets": [0, 8]}}, eight), "tensor 't' has no dtype"
    yield "name_empty", file({"": entry()}, eight), "name of a tensor is empty"
    yield "name_with_zero", file(b'{"a\\u0000b":{}}', eight), "cut by a zero byte"
    yield "name_of_5000", file({"n" * 5000: entry()}, eight), "above 4096 bytes"
    yield "entry_is_a_number", file(b'{"t":5}', eight), "a tensor's entry"
    yield "metadata_is_a_list", file(b'{"__metadata__":[]}', eight), "__metadata__"
    same = b",".join(b'"t%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % i for i in range(100000))
    yield "entries_100000_and_one_twice", file(b"{" + same + b',"t99":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'), "tensor 't99' is there twice"
    more = b",".join(b'"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % i for i in range(200001))
    yield "entries_200001", file(b"{" + more + b"}"), "more than 200000 tensors"

    def index(mapping, name):
        return name + ".index.json", json.dumps({"metadata": {"total_size": 8}, "weight_map": mapping}).encode()

    for name, shard, words in (("shard_above", "../outside.safetensors", "shard '../outside.safetensors'"),
                               ("shard_above_deep", "a/../../outside.safetensors", "shard 'a/../../outside"),
                               ("shard_absolute", "/etc/passwd", "shard '/etc/passwd'"),
                               ("shard_missing", "nowhere.safetensors", "shard 'nowhere.safetensors'"),
                               ("shard_link", "link.safetensors", "shard 'link.safetensors'"),
                               ("shard_folder", ".", "shard '.'"),
                               ("shard_fifo", "fifo.safetensors", "shard 'fifo.safetensors'"),
                               ("shard_empty_name", "", "has no fit name"),
                               ("shard_is_text", "expect.tsv", "shard 'expect.tsv'"),
                               ("shard_has_it_not", "good.part", "is not in shard 'good.part'")):
        yield index({"t": shard}, name) + (words,)
    yield index({"t%d" % i: "s%d" % i for i in range(2500)}, "shards_2500") + ("2500 shards, more than 2000",)
    yield "weight_map_bomb.index.json", b'{"weight_map":' + b"[" * 100000, "weight_map"
    yield "weight_map_twice.index.json", b'{"weight_map":{},"weight_map":{}}', "weight_map is there twice"
    yield "weight_map_cut.index.json", b'{"weight_map":{"a":"b', "byte"


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--seeds":
        os.makedirs(sys.argv[2], exist_ok=True)
        two = file({"__metadata__": {"format": "pt"}, "a": entry(), "b": entry("BF16", (1, 2), 8, 12)}, b"\0" * 12)
        for name, data in (("two", two), ("empty", file({})), ("index", b'{"metadata":{"total_size":4},"weight_map":{"a":"b"}}')):
            with open(os.path.join(sys.argv[2], name), "wb") as f:
                f.write(data)
        return
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "good.part"), "wb") as f:
        f.write(file({"other": entry()}, b"\0" * 8))
    link, fifo = (os.path.join(folder, n) for n in ("link.safetensors", "fifo.safetensors"))
    for path in (link, fifo):
        if os.path.lexists(path):
            os.unlink(path)
    os.symlink("good.part", link)
    os.mkfifo(fifo)
    with open(os.path.join(folder, "expect.tsv"), "w") as expect:
        for name, data, words in attacks():
            name = name if name.endswith(".json") else name + ".safetensors"
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)
            expect.write("%s\tread\t%s\n" % (name, words))


main()
