"""Writes test cases as ONNX has them, one node each, with numbers from numpy and torch: for types,
opsets and shapes that ONNX's own cases leave out. Usage: kernel_cases.py FOLDER"""
import os
import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

root = os.path.join(sys.argv[1], "node")
rng = np.random.RandomState(7)
count = 0
TYPE = helper.np_dtype_to_tensor_dtype if hasattr(helper, "np_dtype_to_tensor_dtype") else \
    lambda d: onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[np.dtype(d)]


def case(op, ins, outs, opset=17, domain="", name="", **attrs):
    global count
    count += 1
    folder = os.path.join(root, "test_%04d_%s%s" % (count, op.lower(), name))
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    names = ["" if x is None else "i%d" % i for i, x in enumerate(ins)]
    given = [(n, np.asarray(x)) for n, x in zip(names, ins) if x is not None]
    made = [("o%d" % i, np.asarray(y)) for i, y in enumerate(outs)]
    node = helper.make_node(op, names, [n for n, _ in made], domain=domain, **attrs)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info(n, TYPE(x.dtype), x.shape) for n, x in given],
        [helper.make_tensor_value_info(n, TYPE(y.dtype), y.shape) for n, y in made])
    imports = [helper.make_opsetid("", opset if not domain else 17)]
    if domain:
        imports.append(helper.make_opsetid(domain, opset))
    model = helper.make_model(graph, opset_imports=imports)
    model.ir_version = 8
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for what, values in (("input", given), ("output", made)):
        for i, (n, x) in enumerate(values):
            with open(os.path.join(data, "%s_%d.pb" % (what, i)), "wb") as f:
                f.write(numpy_helper.from_array(x, n).SerializeToString())


FLOATS = [np.float32, np.float64]
WHOLE = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def numbers(dtype, *shape, low=-4, high=4):
    if np.issubdtype(dtype, np.floating):
        return np.asarray(rng.rand(*shape) * (high - low) + low).astype(dtype)
    info = np.iinfo(dtype)
    return np.asarray(rng.randint(max(info.min, -120), min(info.max, 120), shape)).astype(dtype)


def unary():
    wide = lambda d: np.concatenate([numbers(d, 700, low=-12, high=12), numbers(d, 333, low=-1, high=1),
                                     np.array([0, -0.0, 100, -100, 1e-20, -1e-20, np.inf, -np.inf, np.nan], d)])
    t = lambda f: lambda x: f(torch.from_numpy(x.astype(np.float64))).numpy()
    sig = lambda x: 1 / (1 + np.exp(-x))
    curves = {
        "Exp": np.exp, "Tanh": np.tanh, "Sigmoid": sig, "Erf": t(torch.erf), "Neg": np.negative,
        "Abs": np.abs, "Floor": np.floor, "Ceil": np.ceil, "Round": np.rint, "Relu": t(torch.relu),
        "Softsign": lambda x: np.where(np.isinf(x), np.nan, x / (1 + np.abs(x))),
        "Mish": t(torch.nn.functional.mish), "Sin": np.sin, "Atan": np.arctan,
        "HardSwish": lambda x: x * np.clip(x / 6 + .5, 0, 1), "Elu": t(torch.nn.functional.elu),
        "Selu": t(torch.selu), "Gelu": t(torch.nn.functional.gelu),
        "Softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    }
    with np.errstate(all="ignore"):
        for d in FLOATS:
            for op, f in curves.items():
                x = wide(d)
                if op in ("Mish", "HardSwish", "Gelu", "Sin", "Softsign"):
                    x = x[np.isfinite(x)]
                case(op, [x], [f(x.astype(np.float64)).astype(d)], opset=20, name="_" + np.dtype(d).name)
        x = numbers(np.float32, 777)
        case("Gelu", [x], [(0.5 * x.astype(float) * (1 + np.tanh(np.sqrt(2 / np.pi) * (
            x + 0.044715 * x.astype(float) ** 3)))).astype(np.float32)], opset=20, approximate="tanh")
        case("Celu", [x], [torch.celu(torch.from_numpy(x), 0.7).numpy()], opset=12, alpha=0.7)
        for d in WHOLE:
            x = numbers(d, 130)
            case("Abs", [x], [np.abs(x)])
            case("Sign", [x], [np.sign(x)])
            case("BitwiseNot", [x], [~x], opset=18)
        case("Abs", [np.array([-128], np.int8)], [np.array([-128], np.int8)])
        x = np.array([1, np.inf, -np.inf, np.nan, 0], np.float64)
        case("IsInf", [x], [np.isinf(x) & (x < 0)], opset=10, detect_positive=0)
        case("IsNaN", [x], [np.isnan(x)], opset=13)


def binary():
    shapes = [((5, 7), (5, 7)), ((3, 4, 5), (5,)), ((3, 4, 5), (3, 1, 1)), ((1,), (6, 300)),
              ((2, 1, 4, 1), (3, 1, 65)), ((), (17,)), ((0, 3), (3,)), ((130, 70), ())]
    ops = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Less": np.less, "Equal": np.equal,
           "Greater": np.greater, "LessOrEqual": np.less_equal, "GreaterOrEqual": np.greater_equal,
           "Max": np.maximum, "Min": np.minimum}
    for a, b in shapes:
        for op, f in ops.items():
            for d in FLOATS + WHOLE:
                x, y = numbers(d, *a), numbers(d, *b)
                case(op, [np.asarray(x), np.asarray(y)], [np.asarray(f(x, y))])
    for d in WHOLE:
        x, y = numbers(d, 9, 33), numbers(d, 33)
        y[y == 0] = 3
        case("Div", [x, y], [np.trunc(x.astype(float) / y.astype(float)).astype(d)], opset=14)
        case("Mod", [x, y], [np.mod(x, y)])
        case("Mod", [x, y], [np.fmod(x, y)], fmod=1)
        for op, f in (("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)):
            case(op, [x, y], [f(x, y)], opset=18)
    low = np.array([-128, -128, 100], np.int8)
    minus = np.array([-1, 2, 100], np.int8)
    case("Div", [low, minus], [np.array([-128, -64, 1], np.int8)], opset=14)
    case("Mul", [low, minus], [(low.astype(int) * minus).astype(np.int8)], opset=14)
    shift = np.array([1, 31, 32, 40], np.uint32)
    case("BitShift", [np.full(4, 3, np.uint32), shift], [np.array([6, 1 << 31, 0, 0], np.uint32)], opset=11, direction="LEFT")
    x = np.array([1, np.nan, 3], np.float32)
    y = np.array([np.nan, 2, 1], np.float32)
    case("Max", [x, y], [np.maximum(x, y)])
    case("Min", [x, y], [np.minimum(x, y)])
    x, y, z = numbers(np.float32, 3, 1), numbers(np.float32, 4), numbers(np.float32, 2, 3, 4)
    case("Sum", [x, y, z], [x + y + z])
    case("Mean", [x, y, z], [(x + y + z) / np.float32(3)])
    # Before opset 7 the second input begins at an axis.
    x, y = numbers(np.float32, 2, 3, 4, 5), numbers(np.float32, 3, 4)
    case("Add", [x, y], [x + y[:, :, None]], opset=6, axis=1, broadcast=1)
    case("Mul", [x, y[0]], [x * y[0][:, None]], opset=6, axis=2, broadcast=1)
    case("Sub", [x, x], [x - x], opset=6)
    slope = numbers(np.float32, 3)
    case("PRelu", [x, slope], [np.where(x < 0, x * slope[:, None, None], x)], opset=6)
    case("PRelu", [x, slope[:, None, None]], [np.where(x < 0, x * slope[:, None, None], x)], opset=16)
    base = np.abs(numbers(np.float32, 50)) + np.float32(.1)
    for p in (2, 3, .5, -1.5):
        case("Pow", [base, np.array(p, np.float32)], [base ** np.float32(p)], opset=15)
    case("Pow", [np.arange(6, dtype=np.int64), np.array([2, 3, 0, 1, 5, 7], np.int32)],
         [np.arange(6, dtype=np.int64) ** np.array([2, 3, 0, 1, 5, 7])], opset=15)
    for d in FLOATS + WHOLE + [np.bool_]:
        c = rng.rand(4, 1, 6) > .5
        x = rng.rand(6) > .5 if d == np.bool_ else numbers(d, 6)
        y = rng.rand(4, 5, 6) > .5 if d == np.bool_ else numbers(d, 4, 5, 6)
        case("Where", [c, x, y], [np.where(c, x, y)])
    words = np.array(["a", "bc", ""], dtype=object)
    case("Equal", [words, np.array(["a", "b", ""], dtype=object)], [np.array([True, False, True])], opset=19)
    for d in FLOATS + WHOLE:
        x = numbers(d, 200)
        case("Clip", [x, np.array(1, d), np.array(3, d)], [np.clip(x, 1, 3)], opset=12)
        case("Clip", [x, None, np.array(3, d)], [np.minimum(x, np.array(3, d))], opset=12)
    x = numbers(np.float32, 99)
    case("Clip", [x], [np.clip(x, np.float32(-.5), np.float32(2))], opset=6, min=-.5, max=2.)


def casts():
    for a in FLOATS + WHOLE + [np.bool_, np.float16]:
        x = rng.rand(150) > .5 if a == np.bool_ else np.abs(numbers(np.float32, 150)).astype(a) if a == np.float16 \
            else np.abs(numbers(a, 150))
        for b in FLOATS + WHOLE + [np.bool_, np.float16]:
            case("Cast", [x], [x.astype(b)], opset=13, to=int(TYPE(b)))
    x = np.array([np.nan, 3e9, -3e9, 1e20, -1e20, 1.9, -1.9], np.float32)
    case("Cast", [x], [np.array([0, 2**31 - 1, -2**31, 2**31 - 1, -2**31, 1, -1], np.int32)], to=TensorProto.INT32)
    case("Cast", [x], [np.array([0, 3000000000, -3000000000, 2**63 - 1, -2**63, 1, -1], np.int64)], to=TensorProto.INT64)
    words = np.array(["1", " -2.5e3", "inf", "-INF", "NaN", "+7"], dtype=object)
    case("Cast", [words], [np.array([1, -2500, np.inf, -np.inf, np.nan, 7], np.float32)], to=TensorProto.FLOAT)
    x = np.array([0, 1, -1.5, 1e-5, 123456.789, 1e16, 0.1, 1e-4], np.float32)
    case("Cast", [x], [np.array([str(v) for v in x], dtype=object)], to=TensorProto.STRING)
    x = np.array([2**63 - 1, -5], np.int64)
    case("Cast", [x], [np.array([str(v) for v in x], dtype=object)], to=TensorProto.STRING)


def reductions():
    logsumexp = lambda x, axis, keepdims: np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))
    ops = {"ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceProd": np.prod, "ReduceMax": np.max,
           "ReduceMin": np.min, "ReduceL1": lambda x, **k: np.sum(np.abs(x), **k),
           "ReduceL2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
           "ReduceSumSquare": lambda x, **k: np.sum(x * x, **k),
           "ReduceLogSumExp": logsumexp, "ReduceLogSum": lambda x, **k: np.log(np.sum(x, **k))}
    for op, f in ops.items():
        for axes in [(0,), (1,), (2,), (0, 2), (1, 3), (0, 1, 2, 3), (-1,), (2, 3), (0, 3)]:
            for keep in (0, 1):
                for d in FLOATS:
                    x = np.abs(numbers(d, 3, 5, 4, 67)) / 3 + .1
                    x = x.astype(d)
                    case(op, [x, np.array(axes, np.int64)],
                         [np.asarray(f(x.astype(float), axis=axes, keepdims=bool(keep))).astype(d)], opset=18, keepdims=keep)
        x = numbers(np.float32, 2, 3, 4) ** 2 + np.float32(.5)
        case(op, [x], [np.asarray(f(x.astype(float), axis=(0, 2), keepdims=True)).astype(np.float32)], opset=11, axes=[0, 2])
    for d in (np.int32, np.int64, np.uint32, np.uint8, np.int8):
        x = numbers(d, 4, 100)
        for op in ("ReduceMax", "ReduceMin"):
            case(op, [x], [ops[op](x, axis=0, keepdims=True)], opset=13, axes=[0])
    x = numbers(np.int64, 4, 100)
    case("ReduceSum", [x, np.array([1], np.int64)], [x.sum(1, keepdims=True)], opset=13)
    x = np.zeros((2, 0, 3), np.float32)
    case("ReduceSum", [x, np.array([1], np.int64)], [np.zeros((2, 1, 3), np.float32)], opset=18)
    case("ReduceMax", [x, np.array([1], np.int64)], [np.full((2, 1, 3), -np.inf, np.float32)], opset=18)
    x = numbers(np.float32, 300, 5000)
    case("ReduceSum", [x, np.array([0], np.int64)], [x.astype(float).sum(0, keepdims=True).astype(np.float32)], opset=13)
    for d in FLOATS + WHOLE:
        x = numbers(d, 3, 40, 5)
        for axis in (0, 1, 2):
            case("ArgMax", [x], [x.argmax(axis)], opset=13, axis=axis, keepdims=0)
            case("ArgMin", [x], [np.expand_dims(x.argmin(axis), axis)], opset=13, axis=axis)
    for d in FLOATS:
        for shape in ((3, 4, 5), (2, 700), (3, 300, 2), (1, 1), (4, 64)):
            x = numbers(d, *shape, low=-20, high=20)
            t = torch.from_numpy(x)
            for axis in range(len(shape)):
                case("Softmax", [x], [torch.softmax(t, axis).numpy()], opset=13, axis=axis)
                case("LogSoftmax", [x], [torch.log_softmax(t, axis).numpy()], opset=13, axis=axis)
            flat = t.reshape(shape[0], -1)
            case("Softmax", [x], [torch.softmax(flat, 1).reshape(shape).numpy()], opset=11)
    for d in (np.float32, np.float64, np.int32, np.int64):
        x = numbers(d, 3, 6, 4)
        case("CumSum", [x, np.array(1, np.int32)], [np.cumsum(x, 1, dtype=d)], opset=14)
        case("CumSum", [x, np.array(-2, np.int64)], [(np.cumsum(x[:, ::-1], 1, dtype=d)[:, ::-1] - x).astype(d)],
             opset=14, reverse=1, exclusive=1)
    for d in (np.float32, np.float64, np.int64, np.uint8, np.int32):
        x = numbers(d, 4, 50, 3)
        for largest in (0, 1):
            for k in (1, 7, 50):
                order = np.argsort(-x.astype(float) if largest else x.astype(float), axis=1, kind="stable")[:, :k]
                case("TopK", [x, np.array([k], np.int64)], [np.take_along_axis(x, order, 1), order],
                     opset=11, axis=1, largest=largest)
    x = numbers(np.float32, 3, 9)
    order = np.argsort(-x, axis=1, kind="stable")[:, :4]
    case("TopK", [x], [np.take_along_axis(x, order, 1), order], opset=1, k=4)


def norms():
    import torch.nn.functional as F
    t = torch.from_numpy
    for d in FLOATS:
        x = numbers(d, 3, 6, 5, 7)
        s, b, m, v = (numbers(d, 6) for _ in range(4))
        v = np.abs(v) + d(.1)
        want = F.batch_norm(t(x), t(m), t(v), t(s), t(b), eps=1e-5).numpy()
        case("BatchNormalization", [x, s, b, m, v], [want], opset=15)
        case("BatchNormalization", [x, s, b, m, v], [want], opset=7)
        case("BatchNormalization", [x, s, b, m, v], [want], opset=6, is_test=1)
        flat = numbers(d, 8, 6)
        case("BatchNormalization", [flat, s, b, m, v], [F.batch_norm(t(flat), t(m), t(v), t(s), t(b)).numpy()], opset=15)
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
        y = (x - mean[:, None, None]) / np.sqrt(var + 1e-5)[:, None, None] * s[:, None, None] + b[:, None, None]
        run = [(m * .9 + mean * .1).astype(d), (v * .9 + var * .1).astype(d)]
        case("BatchNormalization", [x, s, b, m, v], [y.astype(d)] + run, opset=14, training_mode=1)
        case("BatchNormalization", [x, s, b, m, v], [y.astype(d)] + run + [mean, var], opset=9)
        case("InstanceNormalization", [x, s, b], [F.instance_norm(t(x), weight=t(s), bias=t(b)).numpy()], opset=6)
        case("GroupNormalization", [x, s, b], [F.group_norm(t(x), 3, t(s), t(b)).numpy()], opset=21, num_groups=3)
        g, h = numbers(d, 3), numbers(d, 3)
        case("GroupNormalization", [x, g, h], [F.group_norm(t(x), 3, t(g.repeat(2)), t(h.repeat(2))).numpy()],
             opset=18, num_groups=3)
        for axis, shape in ((-1, (7,)), (2, (5, 7)), (1, (6, 5, 7))):
            s, b = numbers(d, *shape), numbers(d, *shape)
            case("LayerNormalization", [x, s, b], [F.layer_norm(t(x), shape, t(s), t(b)).numpy()], axis=axis)
        s = numbers(d, 6, 1, 1)
        case("LayerNormalization", [x, s], [F.layer_norm(t(x), (7,)).numpy() * s], axis=-1)
        for size in (1, 3, 4, 9):
            case("LRN", [x], [F.local_response_norm(t(x), size, .3, .75, 2.).numpy()] if size % 2 else
                 [lrn(x, size)], opset=13, size=size, alpha=.3, beta=.75, bias=2.)
        for p in (1, 2):
            for axis in range(4):
                case("LpNormalization", [x], [F.normalize(t(x), p, axis).numpy()], opset=1, p=p, axis=axis)
        y = (x - x.mean((0, 3), keepdims=True)) / (x.std((0, 3), keepdims=True) + 1e-9)
        case("MeanVarianceNormalization", [x], [y.astype(d)], opset=13, axes=[0, 3])
        wide = numbers(d, 5, 1000)
        case("LayerNormalization", [wide, numbers(d, 1000) * 0 + 1], [F.layer_norm(t(wide), (1000,)).numpy()])
    target = rng.randint(0, 6, (3, 5, 7))
    x, w = numbers(np.float32, 3, 6, 5, 7), np.abs(numbers(np.float32, 6))
    for how in ("none", "sum", "mean"):
        case("SoftmaxCrossEntropyLoss", [x, target, w],
             [F.cross_entropy(t(x), t(target), t(w), ignore_index=2, reduction=how).numpy(),
              torch.log_softmax(t(x), 1).numpy()], opset=13, reduction=how, ignore_index=2)
        case("NegativeLogLikelihoodLoss", [x, target, w],
             [F.nll_loss(t(x), t(target), t(w), reduction=how).numpy()], opset=13, reduction=how)


def lrn(x, size):
    y = np.zeros_like(x)
    for c in range(x.shape[1]):
        y[:, c] = (x[:, max(0, c - (size - 1) // 2):c + size // 2 + 1] ** 2).sum(1)
    return (x / (2 + .3 / size * y) ** .75).astype(x.dtype)


def clip8(x, dtype):
    return np.clip(x, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


def quantised():
    for d in (np.uint8, np.int8, np.uint16, np.int16):
        x = numbers(np.float32, 3, 70, 5, low=-40, high=40)
        z = np.array(11, d)
        s = np.float32(.37)
        case("QuantizeLinear", [x, s, z], [clip8(np.rint(x / s) + 11, d)], opset=21)
        for axis, n in ((0, 3), (1, 70), (2, 5)):
            shape = [1, 1, 1]
            shape[axis] = n
            sc = (np.abs(numbers(np.float32, n)) / 8 + .05).astype(np.float32)
            zp = np.abs(numbers(d, n))
            q = clip8(np.rint(x / sc.reshape(shape)) + zp.reshape(shape), d)
            case("QuantizeLinear", [x, sc, zp], [q], opset=21, axis=axis)
            case("DequantizeLinear", [q, sc, zp],
                 [((q.astype(np.int32) - zp.reshape(shape)) * sc.reshape(shape)).astype(np.float32)], opset=21, axis=axis)
        for axis, shape in ((1, (3, 5, 5)), (2, (3, 70, 3))):
            block = 16 if axis == 1 else 2
            sc = (np.abs(numbers(np.float32, *shape)) / 8 + .05).astype(np.float32)
            zp = np.abs(numbers(d, *shape))
            big = np.repeat(sc, block, axis)[:, :70, :5]
            zbig = np.repeat(zp, block, axis)[:, :70, :5]
            q = clip8(np.rint(x / big) + zbig, d)
            case("QuantizeLinear", [x, sc, zp], [q], opset=21, axis=axis, block_size=block)
            case("DequantizeLinear", [q, sc, zp], [((q.astype(np.int32) - zbig) * big).astype(np.float32)],
                 opset=21, axis=axis, block_size=block)
    for da in (np.uint8, np.int8):
        for db in (np.uint8, np.int8):
            a, b = numbers(da, 2, 3, 9, 33), numbers(db, 3, 33, 600)
            za, zb = np.array(5, da), numbers(db, 600)
            case("MatMulInteger", [a, b, za, zb], [np.matmul(a.astype(np.int32) - 5, b.astype(np.int32) - zb)], opset=10)
            s = np.abs(numbers(np.float32, 600)) / 100 + np.float32(.001)
            # In single precision, so that ties are the same ones.
            scale = (float(np.float32(.02)) * s.astype(float) / float(np.float32(1.3))).astype(np.float32)
            y = np.matmul(a.astype(float) - 5, b.astype(float) - zb).astype(np.float32) * scale
            case("QLinearMatMul", [a, np.float32(.02), za, b, s, zb, np.float32(1.3), np.array(7, da)],
                 [clip8(np.rint(y) + 7, da)], opset=10)
    for group, cin, cout in ((1, 4, 6), (2, 4, 6), (4, 4, 4)):
        x, w = numbers(np.uint8, 2, cin, 9, 8), numbers(np.int8, cout, cin // group, 3, 2)
        conv = torch.nn.functional.conv2d(
            torch.from_numpy(x.astype(float) - 9), torch.from_numpy(w.astype(float)), stride=(2, 1),
            padding=(1, 1), dilation=(1, 2), groups=group).numpy()
        args = dict(strides=[2, 1], pads=[1, 1, 1, 1], dilations=[1, 2], group=group)
        z = np.array(9, np.uint8)
        case("ConvInteger", [x, w, z], [conv.astype(np.int32)], opset=10, **args)
        ws = (np.abs(numbers(np.float32, cout)) / 50 + .001).astype(np.float32)
        bias = numbers(np.int32, cout)
        y = (conv + bias[:, None, None]) * (.03 * ws.astype(float))[:, None, None] / .8
        ins = [x, np.float32(.03), z, w, ws, np.zeros(cout, np.int8), np.float32(.8), np.array(100, np.uint8), bias]
        case("QLinearConv", ins, [clip8(np.rint(y) + 100, np.uint8)], opset=10, **args)
        ins[0] = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
        case("QLinearConv", ins, [np.ascontiguousarray(clip8(np.rint(y) + 100, np.uint8).transpose(0, 2, 3, 1))],
             opset=1, domain="com.microsoft", channels_last=1, **args)


def microsoft():
    ms = dict(opset=1, domain="com.microsoft")
    f = np.float32
    t = torch.from_numpy
    for d in (np.uint8, np.int8):
        a, b = numbers(d, 3, 4, 50), numbers(d, 4, 1)
        za, zb, zy = np.array(3, d), np.array(2, d), np.array(5, d)
        x, y = (a.astype(float) - 3) * .1, (b.astype(float) - 2) * .2
        case("QLinearAdd", [a, f(.1), za, b, f(.2), zb, f(.23), zy], [clip8(np.rint((x + y) / .23) + 5, d)], **ms)
        case("QLinearMul", [a, f(.1), za, b, f(.2), zb, f(.91), zy], [clip8(np.rint((x * y) / .91) + 5, d)], **ms)
        case("QLinearSigmoid", [a, f(.1), za, f(1 / 250.), np.array(0, d)], [clip8(np.rint(250 / (1 + np.exp(-x))), d)], **ms)
        case("QLinearLeakyRelu", [a, f(.1), za, f(.13), zy], [clip8(np.rint(np.where(x < 0, .2 * x, x) / .13) + 5, d)], alpha=.2, **ms)
        c = numbers(d, 3, 2, 50)
        case("QLinearConcat", [f(.3), zy, a, f(.1), za, c, f(.2), zb],
             [np.concatenate([clip8(np.rint(x / .3) + 5, d), clip8(np.rint((c.astype(float) - 2) * .2 / .3) + 5, d)], 1)], axis=1, **ms)
        case("QLinearSoftmax", [a, f(.1), za, f(1 / 256.), np.array(0, d)],
             [clip8(np.rint(torch.softmax(t(x), -1).numpy() * 256), d)], axis=-1, opset=1, domain="com.microsoft")
        img = numbers(d, 2, 3, 7, 6)
        v = (img.astype(float) - 3) * .1
        case("QLinearGlobalAveragePool", [img, f(.1), za, f(.017), zy],
             [clip8(np.rint(v.mean((2, 3), keepdims=True) / .017) + 5, d)], **ms)
        for pad in (True, False):
            y = torch.nn.functional.avg_pool2d(t(v), (3, 2), (2, 1), (1, 0), count_include_pad=pad).numpy()
            out = clip8(np.rint(y / .031) + 5, d)
            args = dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 0], count_include_pad=int(pad))
            case("QLinearAveragePool", [img, f(.1), za, f(.031), zy], [out], **args, **ms)
            case("QLinearAveragePool", [np.ascontiguousarray(img.transpose(0, 2, 3, 1)), f(.1), za, f(.031), zy],
                 [np.ascontiguousarray(out.transpose(0, 2, 3, 1))], channels_last=1, **args, **ms)
    a, b = numbers(np.uint8, 4, 33), numbers(np.int8, 33, 7)
    s, bias = np.abs(numbers(f, 7)) / 10, numbers(f, 7)
    prod = np.matmul(a.astype(float) - 3, b.astype(float) - 1)
    z = [np.array(3, np.uint8), np.array(1, np.int8)]
    case("MatMulIntegerToFloat", [a, b, f(.2), s, z[0], z[1], bias], [(prod * .2 * s + bias).astype(f)], **ms)
    c = numbers(np.int32, 7)
    case("QGemm", [np.ascontiguousarray(a.T), f(.2), z[0], np.ascontiguousarray(b.T), s, z[1], c],
         [((prod + c) * .2 * s * .5).astype(f)], transA=1, transB=1, alpha=.5, **ms)
    case("QGemm", [a, f(.02), z[0], b, f(.01), z[1], c, f(.03), np.array(90, np.uint8)],
         [clip8(np.rint((prod + c) * .02 * .01 / .03) + 90, np.uint8)], **ms)


def machine_learning():
    ml = dict(opset=2, domain="ai.onnx.ml")
    f = np.float32
    x = np.array([[1, 2], [-3, .5], [4, -1]], f)
    case("Binarizer", [x], [(x > .75).astype(f)], threshold=.75, **ml)
    case("Scaler", [x], [((x - np.array([1, 2], f)) * np.array([2, .5], f)).astype(f)], offset=[1., 2.], scale=[2., .5], **ml)
    case("Normalizer", [x], [(x / np.linalg.norm(x, axis=1, keepdims=True)).astype(f)], norm="L2", **ml)
    case("ArrayFeatureExtractor", [x, np.array([1, 0, 1], np.int64)], [x[:, [1, 0, 1]]], **ml)
    case("Imputer", [x], [np.where(x == 2, f(9), x)], imputed_value_floats=[7., 9.], replaced_value_float=2., **ml)
    case("OneHotEncoder", [np.array([3, 1, 5], np.int64)], [np.array([[0, 1], [1, 0], [0, 0]], f)], cats_int64s=[1, 3], **ml)
    case("FeatureVectorizer", [x, x[:, :1]], [np.concatenate([x, x[:, :1]], 1)], inputdimensions=[2, 1], **ml)
    case("LabelEncoder", [np.array(["b", "a", "z"], dtype=object)], [np.array([2, 1, -1], np.int64)],
         keys_strings=["a", "b"], values_int64s=[1, 2], **ml)
    case("LabelEncoder", [np.array([2., 7.], f)], [np.array(["two", "none"], dtype=object)],
         keys_floats=[2.], values_strings=["two"], default_string="none", **ml)
    w, b = np.array([[1, 2], [0, -1], [.5, .5]], f), np.array([0, 1, -1], f)
    s = x @ w.T + b
    p = np.exp(s - s.max(1, keepdims=True))
    case("LinearClassifier", [x], [np.array([10, 20, 30])[s.argmax(1)], p / p.sum(1, keepdims=True)],
         coefficients=w.ravel().tolist(), intercepts=b.tolist(), classlabels_ints=[10, 20, 30], post_transform="SOFTMAX", **ml)
    case("LinearRegressor", [x], [s], coefficients=w.ravel().tolist(), intercepts=b.tolist(), targets=3, **ml)
    # x0 <= 0 ? 1 : (x1 > 1 ? 2 : 3), and a tree that is one leaf of 10.
    tree = dict(nodes_treeids=[0, 0, 0, 0, 0, 1], nodes_nodeids=[0, 1, 2, 3, 4, 0], nodes_featureids=[0, 0, 1, 0, 0, 0],
                nodes_values=[0., 0., 1., 0., 0., 0.], nodes_truenodeids=[1, 0, 3, 0, 0, 0], nodes_falsenodeids=[2, 0, 4, 0, 0, 0],
                nodes_modes=["BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF", "LEAF"])
    case("TreeEnsembleRegressor", [x], [np.array([[12], [11], [13]], f)], target_treeids=[0, 0, 0, 1], target_nodeids=[1, 3, 4, 0],
         target_ids=[0, 0, 0, 0], target_weights=[1., 2., 3., 10.], n_targets=1, **tree, **ml)
    case("TreeEnsembleClassifier", [x], [np.array(["b", "a", "c"], dtype=object), np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3]], f)],
         class_treeids=[0, 0, 0], class_nodeids=[1, 3, 4], class_ids=[0, 1, 2], class_weights=[1., 2., 3.],
         classlabels_strings=["a", "b", "c"], **tree, **ml)


for family in (unary, binary, casts, reductions, norms, quantised, microsoft, machine_learning):
    family()
print(count)
