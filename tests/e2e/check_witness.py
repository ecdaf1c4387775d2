"""Recomputes a witness and a bundle from their documented form alone, with hashlib and struct."""
import base64
import hashlib
import json
import struct
import sys

KEYS = ["q_hash", "k_hash", "keep_mask", "cut_cost", "lambda", "tau", "eps", "timestamp", "index", "sample_id",
        "seq_len", "v_hash", "output_hash", "config_hash", "mask_bits", "mask_kept", "mask_hash", "prev_hash",
        "entry_hash"]


class Digits(str):
    """a number as it stands in the line"""


def packed(mask):
    if isinstance(mask, str):
        return base64.b64decode(mask, validate=True)
    out = bytearray((len(mask) + 7) // 8)
    for i, bit in enumerate(mask):
        out[i // 8] |= bit << (i % 8)
    return bytes(out)


def witness(path):
    """All entries, as pairs of hash and time; every claim of the file is asserted."""
    data = open(path, "rb").read()
    assert data.endswith(b"\n")
    lines = data[:-1].split(b"\n")
    head, entries = "0" * 64, []
    for i, line in enumerate(lines[:-1]):
        # Numbers stay as they stand in the line: the hash is of their text.
        e = json.loads(line, parse_float=str, parse_int=str)
        assert list(e) == KEYS, list(e)
        assert e["index"] == str(i) and e["prev_hash"] == head
        if e["keep_mask"] is not None:
            bits = packed(e["keep_mask"])
            assert hashlib.sha256(bits).hexdigest() == e["mask_hash"]
            assert sum(bin(b).count("1") for b in bits) == int(e["mask_kept"])
            assert len(bits) == (int(e["mask_bits"]) + 7) // 8
        text = "assay.witness 1\n" + "".join(
            f"{k}={e[k]}\n" for k in KEYS if k not in ("keep_mask", "timestamp", "entry_hash"))
        assert hashlib.sha256(text.encode()).hexdigest() == e["entry_hash"]
        for key in ("cut_cost", "lambda", "eps"):
            number = float(e[key])
            assert struct.unpack("f", struct.pack("f", number))[0] != 0 or number == 0
        head = e["entry_hash"]
        entries.append((head, int(e["timestamp"])))
    seal = json.loads(lines[-1])
    assert list(seal) == ["seal", "entries", "head", "file_hash"]
    assert seal["seal"] == 1 and seal["entries"] == len(entries) and seal["head"] == head
    before = data[:len(data) - len(lines[-1]) - 1]
    assert hashlib.sha256(before).hexdigest() == seal["file_hash"]
    return entries


def shake(data, size=32):
    return hashlib.shake_256(data).digest(size)


def segments(data):
    at, out = 0, []
    while at < len(data):
        (magic, version, kind, flags, ident, size, time, algo, packing, zero, zero2, content, full, padding) = \
            struct.unpack_from("<IBBHQQQBBHI16sII", data, at)
        assert magic == 0x52564653 and version == 1 and (algo, packing, zero, zero2) == (2, 0, 0, 0)
        assert ident == len(out) + 1 and full == size
        payload = data[at + 64:at + 64 + size]
        assert len(payload) == size and shake(payload, 16) == content
        end = at + 64 + size
        signature = None
        if flags & 4:
            algorithm, length = struct.unpack_from("<HH", data, end)
            assert (algorithm, length) == (0, 64)
            signature = data[end + 4:end + 68]
            assert struct.unpack_from("<I", data, end + 68) == (72,)
            end += 72
        assert data[end:end + padding] == bytes(padding) and (end + padding) % 64 == 0 and padding < 64
        out.append({"type": kind, "at": at, "payload": payload, "bytes": data[at:end + padding],
                    "signature": signature, "header": data[at:at + 64], "content": content})
        at = end + padding
    assert at == len(data)
    return out


def chain(payload, entries):
    assert len(payload) == 73 * len(entries)
    prev = bytes(32)
    for i, (head, time) in enumerate(entries):
        raw = payload[73 * i:73 * i + 73]
        assert raw[:32] == prev and raw[32:64] == bytes.fromhex(head)
        assert struct.unpack("<QB", raw[64:]) == (time, 2)
        prev = shake(raw)


def bundle(path, witnesses, signed_part=None, signature=None):
    parts = segments(open(path, "rb").read())
    assert [p["type"] for p in parts] == [7] + [10] * len(witnesses) + [7, 5]
    meta, stats, manifest = (json.loads(parts[i]["payload"]) for i in (0, -2, -1))
    assert meta["kind"] == "assay.bundle" and meta["version"] == 1
    assert meta["model_commit"] == "abc1234" and meta["config_hash"] == "7" * 64
    assert stats["kind"] == "assay.bundle_statistics" and stats["statistics"] == {"accuracy": 0.994}
    for i, name in enumerate(witnesses):
        entries = witness(name)
        chain(parts[1 + i]["payload"], entries)
        told = stats["witnesses"][i]
        assert told["name"] == name.split("/")[-1] and told["entries"] == len(entries)
        assert told["head"] == entries[-1][0]
    assert stats["entries"] == sum(w["entries"] for w in stats["witnesses"])
    assert manifest["kind"] == "assay.manifest" and len(manifest["segments"]) == len(parts) - 1
    for listed, part in zip(manifest["segments"], parts):
        assert listed["offset"] == part["at"] and listed["bytes"] == len(part["bytes"])
        assert listed["content_hash"] == part["content"].hex()
        assert listed["segment_hash"] == shake(part["bytes"]).hex()
    last = parts[-1]
    assert manifest["header_hash"] == shake(last["header"][:0x28] + bytes(16) + last["header"][0x38:]).hex()
    assert (last["signature"] is None) == (manifest["public_key"] is None)
    if signature:
        open(signed_part, "wb").write(last["header"] + last["payload"])
        open(signature, "wb").write(last["signature"])


if __name__ == "__main__":
    if sys.argv[1] == "witness":
        for name in sys.argv[2:]:
            print(witness(name)[-1][0])
    elif sys.argv[1] == "bundle":
        bundle(sys.argv[2], sys.argv[3:])
    else:
        bundle(sys.argv[2], sys.argv[5:], sys.argv[3], sys.argv[4])
