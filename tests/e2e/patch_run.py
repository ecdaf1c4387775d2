# tests/e2e/patch_run.py - spoils a run in one way: patch_run.py WHAT FROM TO.
# The file is drawn in src/trace/run/run_format.h; checksums are made right again where the damage is not meant to be theirs.
import struct, sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def blocks(data):
    at = 64
    while at + 32 <= len(data):
        magic, kind, _, size, number, crc, records, salt, header_crc = struct.unpack_from("<IHHIIIIII", data, at)
        assert magic == 0x4B4C4241, at
        yield at, kind, size, number
        at += 32 + size


def seal(data, at):
    struct.pack_into("<I", data, at + 28, crc32c(data[at : at + 28]))


def version(data):
    struct.pack_into("<H", data, 8, 2)
    struct.pack_into("<I", data, 60, crc32c(data[:60]))
    return data


def header(data):
    data[20] ^= 1
    return data


def events(data):
    for at, kind, size, _ in blocks(data):
        if kind == 4:
            data[at + 32 + size // 2] ^= 0x40
            return data
    raise SystemExit("no events block")


def block_header(data):
    for at, kind, size, _ in blocks(data):
        if kind == 4:
            data[at + 8] ^= 0x40
            return data
    raise SystemExit("no events block")


def cut(data):
    last = [at for at, kind, size, _ in blocks(data) if kind == 4][-1]
    return data[: last + 40]


def unclosed(data):
    end = [at for at, kind, size, _ in blocks(data) if kind == 7][-1]
    return data[:end]


def unknown(data):
    end = [(at, number) for at, kind, size, number in blocks(data) if kind == 7][-1]
    salt = struct.unpack_from("<I", data, 32)[0]
    block = bytearray(struct.pack("<IHHIIIIII", 0x4B4C4241, 99, 0, 4, end[1] + 1, crc32c(b"news"), 0, salt, 0))
    seal(block, 0)
    return data + block + b"news"


# Bytes of one part replaced by as many others, with right checksums: only its kind can see that they are wrong.
def replaced(data, old, new):
    for at, kind, size, _ in blocks(data):
        payload = bytes(data[at + 32 : at + 32 + size])
        if old in payload:
            data[at + 32 : at + 32 + size] = payload.replace(old, new, 1)
            struct.pack_into("<I", data, at + 16, crc32c(data[at + 32 : at + 32 + size]))
            seal(data, at)
            return data
    raise SystemExit("no such part")


def missing_limit(data):
    return replaced(data, b'"max_latency_ns"', b'"max_latency_nz"')


# Stacks as older versions wrote them: the key is one that no reader knows.
def stacks_without_peaks(data):
    for at, kind, size, _ in blocks(data):
        payload = bytes(data[at + 32 : at + 32 + size])
        if kind == 8 and b'"stacks":[' in payload:
            data[at + 32 : at + 32 + size] = payload.replace(b'"peak_live_bytes"', b'"a_key_of_no_one"')
            struct.pack_into("<I", data, at + 16, crc32c(data[at + 32 : at + 32 + size]))
            seal(data, at)
            return data
    raise SystemExit("no stacks")


def sample_of_none(data):
    return replaced(data, b'"rows":[[0,', b'"rows":[[9,')


what, source, target = sys.argv[1:]
result = globals()[what](bytearray(open(source, "rb").read()))
open(target, "wb").write(result)
