# tests/e2e/judge_moves.py - operators that move, pick, place and sample elements, with axes, steps and modes drawn by a fixed seed.
# usage: judge_moves.py FOLDER; writes cases of one node each as ONNX keeps its own, with what numpy and torch compute.
import os
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, mapping, numpy_helper

root = os.path.join(sys.argv[1], "node")
rng = np.random.default_rng(1)
count = 0


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def ints(*numbers):
    return np.array(numbers, dtype=np.int64)


def scalar(number, dtype=np.int64):
    return np.array(number, dtype=dtype)


def some_shape(low, high, longest):
    return tuple(int(n) for n in rng.integers(low, longest, size=rng.integers(1, high)))


def info(name, array, is_output):
    shape = [None] * array.ndim if is_output else array.shape
    return helper.make_tensor_value_info(name, mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype], shape)


def case(op, inputs, outputs, opset=17, name="", **attributes):
    """None among the inputs is one that is left out."""
    global count
    count += 1
    folder = os.path.join(root, f"test_{op.lower()}_{count:04d}{name}")
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    ins = ["" if a is None else f"in{i}" for i, a in enumerate(inputs)]
    outs = [f"out{i}" for i in range(len(outputs))]
    given = [(n, a) for n, a in zip(ins, inputs) if a is not None]
    made = [(n, np.ascontiguousarray(a)) for n, a in zip(outs, outputs)]
    graph = helper.make_graph([helper.make_node(op, ins, outs, **attributes)], "case",
                              [info(n, a, False) for n, a in given], [info(n, a, True) for n, a in made])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), os.path.join(folder, "model.onnx"))
    for kind, values in (("input", given), ("output", made)):
        for i, (n, a) in enumerate(values):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(a, n).SerializeToString())


def transposes():
    shapes = [(37, 53), (3, 17, 29), (2, 8, 16, 12), (2, 3, 4, 5, 6), (1, 7, 1, 9), (64, 64), (5, 33, 2), (5, 9, 4)]
    for dtype in (np.float32, np.int8, np.int16, np.float64, np.bool_):
        for shape in shapes:
            order = [int(i) for i in rng.permutation(len(shape))]
            x = (rng.standard_normal(shape) * 50).astype(dtype)
            case("Transpose", [x], [x.transpose(order)], perm=order)
    for shape, order in (((300, 517), (1, 0)), ((4, 100, 8, 64), (0, 2, 1, 3)), ((2, 100, 8, 64), (0, 2, 3, 1))):
        x = floats(*shape)
        case("Transpose", [x], [x.transpose(order)], perm=list(order))


def taken(start, end, step, length):
    """The places a slice takes, by ONNX's rules of clamping."""
    start = start + length if start < 0 else start
    end = end + length if end < 0 else end
    if step > 0:
        return range(min(max(start, 0), length), min(max(end, 0), length), step)
    return range(min(max(start, 0), length - 1), min(max(end, -1), length - 1), step)


def slices():
    for _ in range(60):
        shape = some_shape(1, 5, 9)
        axes = [int(a) for a in rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)]]
        starts, ends = rng.integers(-10, 10, size=(2, len(axes)))
        steps = rng.choice([-3, -2, -1, 1, 2, 3, 2**62, -(2**62)], size=len(axes))
        x = y = floats(*shape)
        for a, start, end, step in zip(axes, starts, ends, steps):
            y = np.take(y, list(taken(int(start), int(end), int(step), shape[a])), axis=a)
        case("Slice", [x, starts, ends, ints(*axes), steps], [y])


def pads():
    for _ in range(60):
        shape = some_shape(2, 5, 7)
        mode = str(rng.choice(["constant", "reflect", "edge", "wrap"]))
        most = {"reflect": -1, "wrap": 0}
        x = (rng.standard_normal(shape) * 9).astype(rng.choice([np.float32, np.int32, np.float64, np.float16]))
        before, after = ([int(rng.integers(0, d + most[mode] + 1 if mode in most else 5)) for d in shape] for _ in range(2))
        fill = np.array(3.5).astype(x.dtype)
        more = {"constant_values": fill} if mode == "constant" else {}
        y = np.pad(x, list(zip(before, after)), mode=mode, **more)
        case("Pad", [x, ints(*before, *after)] + ([fill] if more else []), [y], opset=19, mode=mode)
    x = floats(2, 3, 4)
    case("Pad", [x, ints(1, 2, 0, 1), None, ints(2, 0)], [np.pad(x, [(2, 1), (0, 0), (1, 0)])], opset=18)
    case("Pad", [x], [np.pad(x, [(0, 1), (1, 0), (2, 2)], constant_values=1.5)], opset=2, pads=[0, 1, 2, 1, 0, 2], value=1.5)


def picks():
    for _ in range(20):
        shape = some_shape(1, 5, 6)
        axis, x = int(rng.integers(0, len(shape))), floats(*shape)
        n = shape[axis]
        at = rng.integers(-n, n, size=some_shape(1, 3, 4)).astype(rng.choice([np.int64, np.int32]))
        case("Gather", [x, at], [np.take(x, at, axis=axis)], axis=axis - len(shape))
        at = rng.integers(-n, n, size=[int(rng.integers(1, 7 if d == axis else shape[d] + 1)) for d in range(len(shape))])
        where, data, update = torch.tensor(np.where(at < 0, at + n, at)), torch.tensor(x), floats(*at.shape)
        case("GatherElements", [x, at], [torch.gather(data, axis, where).numpy()], axis=axis)
        for reduction, word in (("add", "sum"), ("mul", "prod"), ("min", "amin"), ("max", "amax")):
            y = data.scatter_reduce(axis, where, torch.tensor(update), word, include_self=True).numpy()
            case("ScatterElements", [x, at, update], [y], opset=18, axis=axis, reduction=reduction)
    how = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    for reduction, meet in how.items():
        for dtype in (np.float32, np.int32, np.float64, np.uint8):
            x, update = (rng.random((5, 4, 3)) * 20).astype(dtype), (rng.random((3, 3)) * 9).astype(dtype)
            at, y = np.array([[4, 0], [1, -1], [4, 0]]), x.copy()
            for place, new in zip(at, update):
                y[tuple(place)] = meet(y[tuple(place)], new)
            case("ScatterND", [x, at, update], [y], opset=18, reduction=reduction)


def repeats_and_parts():
    for _ in range(15):
        shape = some_shape(1, 5, 5)
        times, x, axis = [int(n) for n in rng.integers(0, 4, size=len(shape))], floats(*shape), int(rng.integers(0, len(shape)))
        case("Tile", [x, ints(*times)], [np.tile(x, times)])
        x = floats(*(d if rng.random() < 0.5 else 1 for d in shape))
        case("Expand", [x, ints(2, *shape)], [np.broadcast_to(x, (2, *shape))])
        parts = [floats(*(int(rng.integers(0, 5)) if d == axis else shape[d] for d in range(len(shape)))) for _ in range(3)]
        whole = np.concatenate(parts, axis)
        case("Concat", parts, [whole], axis=axis - len(shape))
        case("Split", [whole, ints(*(p.shape[axis] for p in parts))], parts, axis=axis)
    for k in (-9, -2, 0, 1, 3, 9, 2**62, -(2**63)):
        x, near = floats(2, 4, 5), max(min(k, 100), -100)
        case("Trilu", [x, scalar(k)], [np.triu(x, near)])
        case("Trilu", [x, scalar(k)], [np.tril(x, near)], upper=0)


def resizes():
    for height, width, *size in ((5, 7, 10, 14), (9, 9, 5, 4), (8, 8, 16, 24), (6, 5, 13, 3)):
        x = floats(2, 3, height, width)
        inputs, t = [x, None, None, ints(2, 3, *size)], torch.tensor(x)
        for mode, word in (("linear", "bilinear"), ("cubic", "bicubic")):
            for corners in (False, True):
                y = F.interpolate(t, size=size, mode=word, align_corners=corners).numpy()
                case("Resize", inputs, [y], mode=mode,
                     coordinate_transformation_mode="align_corners" if corners else "half_pixel")
        y = F.interpolate(t, size=size, mode="nearest").numpy()
        nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        case("Resize", inputs, [y], **nearest)
        case("Resize", [x, None, None, ints(*size[::-1])], [y], opset=18, axes=[3, 2], **nearest)
        if size[0] < height and size[1] < width:
            y = F.interpolate(t, size=size, mode="bilinear", align_corners=False, antialias=True).numpy()
            case("Resize", inputs, [y], opset=18, mode="linear", antialias=1, exclude_outside=1)
    x, scales = floats(1, 2, 4, 4), [1.0, 1.0, 2.0, 3.0]
    y = x.repeat(2, 2).repeat(3, 3)
    case("Upsample", [x], [y], opset=7, mode="nearest", scales=scales)
    case("Upsample", [x, np.array(scales, np.float32)], [y], opset=9, mode="nearest")
    case("Resize", [x, np.array(scales, np.float32)], [y], opset=10, mode="nearest")


def samples():
    for padding in ("zeros", "border", "reflection"):
        for corners in (False, True):
            more = {"padding_mode": padding, "align_corners": corners}
            x, grid = floats(2, 3, 5, 6), (rng.random((2, 4, 7, 2)) * 3 - 1.5).astype(np.float32)
            for mode in ("bilinear", "nearest", "bicubic"):
                y = F.grid_sample(torch.tensor(x), torch.tensor(grid), mode=mode, **more).numpy()
                case("GridSample", [x, grid], [y], opset=16, mode=mode, **more)
            x, grid = floats(2, 3, 5, 6, 4), (rng.random((2, 4, 3, 2, 3)) * 3 - 1.5).astype(np.float32)
            for mode, word in (("linear", "bilinear"), ("nearest", "nearest")):
                y = F.grid_sample(torch.tensor(x), torch.tensor(grid), mode=word, **more).numpy()
                case("GridSample", [x, grid], [y], opset=20, mode=mode, **more)
    for corners in (False, True):
        for theta, size in ((floats(2, 2, 3), (2, 3, 4, 5)), (floats(2, 3, 4), (2, 3, 4, 5, 6))):
            y = F.affine_grid(torch.tensor(theta), size, align_corners=corners).numpy()
            case("AffineGrid", [theta, ints(*size)], [y], opset=20, align_corners=corners)
    for size, block, stride, pad, dilation in (((5, 6), (2, 3), 1, 0, 1), ((6, 6), (3, 3), 2, 1, 1), ((8, 9), (2, 2), 1, 1, 2)):
        steps = [(n + 2 * pad - dilation * (b - 1) - 1) // stride + 1 for n, b in zip(size, block)]
        x = floats(2, 3 * block[0] * block[1], steps[0] * steps[1])
        y = F.fold(torch.tensor(x), size, block, dilation=dilation, padding=pad, stride=stride).numpy()
        case("Col2Im", [x, ints(*size), ints(*block)], [y], opset=18, pads=[pad] * 4, strides=[stride] * 2, dilations=[dilation] * 2)


def as_pairs(x):
    return np.stack([x.real, x.imag], -1).astype(np.float32)


def transforms():
    for n in (1, 2, 3, 8, 12, 100, 257):
        x = floats(2, n, 3, 2)
        signal = x[..., 0] + 1j * x[..., 1]
        for length in (n, n + 5, max(1, n - 1)):
            case("DFT", [x, scalar(length)], [as_pairs(np.fft.fft(signal, n=length, axis=1))], axis=1)
            case("DFT", [x, scalar(length)], [as_pairs(np.fft.ifft(signal, n=length, axis=1))], axis=1, inverse=1)
        x = floats(2, n, 1)
        case("DFT", [x], [as_pairs(np.fft.rfft(x[..., 0], axis=1))], axis=1, onesided=1)
        case("DFT", [x, None, scalar(-2)], [as_pairs(np.fft.rfft(x[..., 0], axis=1))], opset=20, onesided=1)
    x, window = floats(2, 40, 1), np.hanning(8).astype(np.float32)
    frames = np.stack([x[:, i : i + 8, 0] * window for i in range(0, 33, 4)], 1)
    case("STFT", [x, scalar(4), window], [as_pairs(np.fft.rfft(frames, axis=2))])


def selections():
    for x, axis in ((rng.integers(0, 5, size=(4, 6)), None), (rng.integers(0, 2, size=(6, 2, 2)).astype(np.float32), 0)):
        y = np.unique(x, axis=axis, return_index=True, return_inverse=True, return_counts=True)
        case("Unique", [x], [y[0]] + [a.reshape(-1).astype(np.int64) for a in y[1:]], **({} if axis is None else {"axis": axis}))
    x = rng.integers(0, 2, size=(3, 4, 5)).astype(np.float16)
    case("NonZero", [x], [np.stack(np.nonzero(x)).astype(np.int64)])
    case("NonZero", [np.zeros((3, 0), np.float32)], [np.zeros((2, 0), np.int64)])
    x, keep = floats(3, 4, 5), np.array([True, False, True])
    case("Compress", [x, keep], [np.compress(keep, x, axis=2)], axis=-1)


for family in (transposes, slices, pads, picks, repeats_and_parts, resizes, samples, transforms, selections):
    family()
print(count)
