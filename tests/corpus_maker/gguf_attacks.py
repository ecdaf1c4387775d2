#!/usr/bin/env python3
"""GGUF files that want to do harm, one for each way known, and the words their refusal must contain.

usage: gguf_attacks.py FOLDER     writes the files and expect.tsv (file, stage, words)
       gguf_attacks.py --seeds FOLDER     writes a few small good files for the fuzzer"""
import os
import struct
import sys

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)


def u32(n):
    return struct.pack("<I", n & 0xFFFFFFFF)


def u64(n):
    return struct.pack("<Q", n & 0xFFFFFFFFFFFFFFFF)


def text(s):
    raw = s if isinstance(s, bytes) else s.encode()
    return u64(len(raw)) + raw


def pair(key, kind, value):
    return text(key) + u32(kind) + value


def tensor(name, dims, kind=0, offset=0):
    return text(name) + u32(len(dims)) + b"".join(u64(d) for d in dims) + u32(kind) + u64(offset)


def gguf(pairs=(), tensors=(), data=b"", version=3, n_pairs=None, n_tensors=None, align=32):
    head = b"GGUF" + u32(version) + u64(len(tensors) if n_tensors is None else n_tensors)
    head += u64(len(pairs) if n_pairs is None else n_pairs) + b"".join(pairs) + b"".join(tensors)
    return head + b"\0" * (-len(head) % align) + data


def llama(layers=1, width=32, heads=4, kv=2, ffn=64, words=16):
    head = width // heads
    shapes = [("token_embd.weight", [width, words])]
    for i in range(layers):
        shapes += [("blk.%d.%s.weight" % (i, n), d) for n, d in (
            ("attn_norm", [width]), ("attn_q", [width, heads * head]), ("attn_k", [width, kv * head]),
            ("attn_v", [width, kv * head]), ("attn_output", [heads * head, width]), ("ffn_norm", [width]),
            ("ffn_gate", [width, ffn]), ("ffn_up", [width, ffn]), ("ffn_down", [ffn, width]))]
    shapes.append(("output_norm.weight", [width]))
    tensors, data = [], b""
    for name, dims in shapes:
        n = 1
        for d in dims:
            n *= d
        kind, size = (8, n // 32 * 34) if len(dims) == 2 else (0, n * 4)
        tensors.append(tensor(name, dims, kind, len(data)))
        data += b"\0" * (size + -size % 32)
    pairs = [pair("general.architecture", STRING, text("llama"))]
    for key, value in (("block_count", layers), ("embedding_length", width), ("attention.head_count", heads),
                       ("attention.head_count_kv", kv), ("feed_forward_length", ffn), ("context_length", 128)):
        pairs.append(pair("llama." + key, U32, u32(value)))
    pairs.append(pair("llama.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-5)))
    pairs.append(pair("tokenizer.ggml.tokens", ARRAY, u32(STRING) + u64(3) + text("a") + text("") + text("c")))
    return gguf(pairs, tensors, data)


def attacks():
    big = 0xFFFFFFFFFFFFFFFF
    one = b"\0" * 64
    yield "version_0", gguf(version=0), "version 0"
    yield "version_1", gguf(version=1), "version 1"
    yield "version_99", gguf(version=99), "version 99"
    yield "big_endian", gguf(version=0x03000000), "big-endian"
    yield "only_magic", b"GGUF", "ends inside its version"
    yield "no_counts", b"GGUF" + u32(3) + b"\1\0", "ends inside its counts"
    yield "tensor_count_wraps", gguf(n_tensors=big, data=one), "tensors, more than fit into its bytes"
    yield "tensor_count_one_too_many", gguf([], [tensor("a", [8])], one[:0], n_tensors=2), "tensor"
    yield "pair_count_wraps", gguf(n_pairs=big, data=one), "metadata keys, more than fit into its bytes"
    yield "pair_count_sign_bit", gguf(n_pairs=1 << 63, data=one), "metadata keys, more than fit into its bytes"
    many = b"".join(pair("k%05d" % i, U8, b"\0") for i in range(70000))
    yield "pairs_above_limit", gguf([many], n_pairs=70000), "more than 65536"
    yield "tensors_above_limit", gguf([], [tensor("t%06d" % i, [0]) for i in range(100001)]), "more than 100000"
    yield "key_length_wraps", gguf([u64(big) + b"k"], data=one), "a metadata key has"
    yield "key_too_long", gguf([pair("k" * 5000, U8, b"\0")]), "a metadata key has 5000 bytes"
    yield "key_empty", gguf([pair("", U8, b"\0")], data=one), "key 0 is empty"
    yield "key_with_zero", gguf([pair(b"a\0b", U8, b"\0")]), "cut by a zero byte"
    yield "key_twice", gguf([pair("same", U8, b"\0")] * 2), "key 'same' is there twice"
    yield "kind_unknown", gguf([pair("k", 13, one)]), "key 'k' is of kind 13"
    yield "kind_huge", gguf([pair("k", 0xFFFFFFFF, one)]), "key 'k' is of kind 4294967295"
    yield "bool_2", gguf([pair("k", BOOL, b"\2")], data=one), "neither true nor false"
    yield "string_length_wraps", gguf([pair("k", STRING, u64(big - 7) + one)]), "the text of a metadata key has"
    yield "array_count_wraps_8", gguf([pair("k", ARRAY, u32(U64) + u64((1 << 61) + 1) + one)]), "array of key 'k' has"
    yield "array_count_of_strings", gguf([pair("k", ARRAY, u32(STRING) + u64(1 << 60) + one)]), "array of key 'k' has"
    yield "array_kind_unknown", gguf([pair("k", ARRAY, u32(77) + u64(1) + one)]), "array of key 'k' is of kind 77"
    yield "array_bomb", gguf([pair("k", ARRAY, (u32(ARRAY) + u64(1)) * 20000)]), "nest more than 4 deep"
    yield "array_string_past_end", gguf([pair("k", ARRAY, u32(STRING) + u64(2) + text("a") + u64(1 << 62))], data=one), "text 1 of key 'k'"
    yield "alignment_0", gguf([pair("general.alignment", U32, u32(0))], data=one), "general.alignment is 0"
    yield "alignment_3", gguf([pair("general.alignment", U32, u32(3))], data=one), "general.alignment is 3"
    yield "alignment_2_31", gguf([pair("general.alignment", U32, u32(1 << 31))], data=one), "general.alignment is 2147483648"
    yield "alignment_text", gguf([pair("general.alignment", STRING, text("32"))], data=one), "general.alignment is a string"
    yield "dims_5", gguf([], [tensor("t", [1] * 5)], one), "tensor 't' has 5 dimensions"
    yield "dims_huge", gguf([], [text("t") + u32(0xFFFFFFFF)], one), "tensor 't' has 4294967295 dimensions"
    yield "dims_product_wraps", gguf([], [tensor("t", [1 << 32, 1 << 32])], one), "multiply past 2^63"
    yield "dims_product_wraps_to_8", gguf([], [tensor("t", [8, (1 << 61) + 1])], one), "multiply past 2^63"
    yield "dim_negative", gguf([], [tensor("t", [big])], one), "past 2^63"
    yield "dims_larger_than_data", gguf([], [tensor("t", [1024, 1024])], one), "tensor 't' of 4194304 bytes ends past the end"
    yield "bytes_wrap", gguf([], [tensor("t", [1 << 62])], one), "tensor 't'"
    yield "row_not_a_block", gguf([], [tensor("t", [100, 2], 12)], one), "not a multiple of the 256"
    yield "type_removed_q4_2", gguf([], [tensor("t", [32], 4)], one), "type q4_2, which ggml has removed"
    yield "type_removed_q4_0_4_4", gguf([], [tensor("t", [32], 31)], one), "type q4_0_4_4, which ggml has removed"
    yield "type_unknown", gguf([], [tensor("t", [32], 1000)], one), "type 1000, which is not known"
    yield "offset_odd", gguf([], [tensor("t", [4], 0, 4)], one), "not a multiple of the alignment"
    yield "offset_past_end", gguf([], [tensor("t", [4], 0, 1 << 40)], one), "ends past the end of the file"
    yield "offset_wraps", gguf([], [tensor("t", [16], 0, big - 31)], one), "ends past the end of the file"
    yield "tensors_overlap", gguf([], [tensor("t", [16]), tensor("u", [8], 0, 32)], one), "overlaps tensor 't'"
    yield "tensors_same_place", gguf([], [tensor("t", [8]), tensor("u", [8])], one), "overlaps tensor"
    yield "tensor_twice", gguf([], [tensor("t", [8]), tensor("t", [8], 0, 32)], one), "tensor 't' is there twice"
    yield "tensor_unnamed", gguf([], [tensor("", [8])], one), "name of a tensor is empty"
    yield "tensor_name_wraps", gguf([], [u64(big - 3) + one]), "the name of a tensor has"
    yield "tensor_name_zero", gguf([], [tensor(b"a\0b", [8])], one), "cut by a zero byte"
    good = llama()
    for cut in (5, 9, 20, 30, 60, 200, len(good) // 2, len(good) - 1):
        yield "cut_at_%d" % cut, good[:cut], "" if cut < 4 else "byte"


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--seeds":
        os.makedirs(sys.argv[2], exist_ok=True)
        small = gguf([pair("general.alignment", U32, u32(32)), pair("a", ARRAY, u32(ARRAY) + u64(1) + u32(U8) + u64(2) + b"ab")],
                     [tensor("t", [2, 2]), tensor("q", [32], 2, 32)], b"\0" * 50)
        for name, data in (("llama", llama()), ("small", small)):
            with open(os.path.join(sys.argv[2], name), "wb") as f:
                f.write(data)
        return
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "expect.tsv"), "w") as expect:
        for name, data, words in attacks():
            with open(os.path.join(folder, name + ".gguf"), "wb") as f:
                f.write(data)
            expect.write("%s.gguf\tread\t%s\n" % (name, words))


main()
