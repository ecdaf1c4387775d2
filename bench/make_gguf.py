"""Makes a sparse GGUF file in the shape of an 8-billion-parameter decoder at 6.6 bits a weight: a real header with a
tokenizer of 128,256 entries, and weights that take no disk. usage: make_gguf.py FILE"""
import os
import struct
import sys

LAYERS, WIDTH, HEADS, KV_HEADS, FFN, VOCABULARY, CONTEXT = 32, 4096, 32, 8, 14336, 128256, 8192
Q6_K, F32, ALIGN = 14, 0, 32
U32, FLOAT, STRING, ARRAY, INT32 = 4, 6, 8, 9, 5


def text(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def u32(key, n):
    return pair(key, U32, struct.pack("<I", n))


pairs = [
    pair("general.architecture", STRING, text("llama")),
    pair("general.name", STRING, text("bench")),
    u32("llama.block_count", LAYERS),
    u32("llama.context_length", CONTEXT),
    u32("llama.embedding_length", WIDTH),
    u32("llama.feed_forward_length", FFN),
    u32("llama.attention.head_count", HEADS),
    u32("llama.attention.head_count_kv", KV_HEADS),
    u32("llama.rope.dimension_count", WIDTH // HEADS),
    pair("llama.rope.freq_base", FLOAT, struct.pack("<f", 500000.0)),
    pair("llama.attention.layer_norm_rms_epsilon", FLOAT, struct.pack("<f", 1e-5)),
    pair("tokenizer.ggml.model", STRING, text("gpt2")),
    pair("tokenizer.ggml.tokens", ARRAY,
         struct.pack("<IQ", STRING, VOCABULARY) + b"".join(text(f"token{i}") for i in range(VOCABULARY))),
    pair("tokenizer.ggml.token_type", ARRAY,
         struct.pack("<IQ", INT32, VOCABULARY) + struct.pack(f"<{VOCABULARY}i", *([1] * VOCABULARY))),
]
tensors = [("token_embd.weight", (WIDTH, VOCABULARY), Q6_K), ("output_norm.weight", (WIDTH,), F32),
           ("output.weight", (WIDTH, VOCABULARY), Q6_K)]
for i in range(LAYERS):
    for name, dims, kind in (("attn_norm", (WIDTH,), F32), ("ffn_norm", (WIDTH,), F32),
                             ("attn_q", (WIDTH, WIDTH), Q6_K), ("attn_output", (WIDTH, WIDTH), Q6_K),
                             ("attn_k", (WIDTH, WIDTH // HEADS * KV_HEADS), Q6_K),
                             ("attn_v", (WIDTH, WIDTH // HEADS * KV_HEADS), Q6_K),
                             ("ffn_gate", (WIDTH, FFN), Q6_K), ("ffn_up", (WIDTH, FFN), Q6_K),
                             ("ffn_down", (FFN, WIDTH), Q6_K)):
        tensors.append((f"blk.{i}.{name}.weight", dims, kind))

header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs)
offset = 0
for name, dims, kind in tensors:
    header += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
    header += struct.pack("<IQ", kind, offset)
    count = 1
    for d in dims:
        count *= d
    size = count * 4 if kind == F32 else count // 256 * 210
    offset += (size + ALIGN - 1) // ALIGN * ALIGN
header += b"\0" * (-len(header) % ALIGN)
with open(sys.argv[1], "wb") as f:
    f.write(header)
    os.ftruncate(f.fileno(), len(header) + offset)
