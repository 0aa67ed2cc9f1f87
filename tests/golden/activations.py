"""Activations twice: the documented formulas in numpy, and PyTorch's operators with its autograd, both in f64."""

import numpy as np
import torch
import torch.nn.functional as F

GATED = ("swiglu", "geglu", "qgeglu", "reglu", "sreglu", "glu", "clamped_swiglu", "situ_glu")
UNGATED = ("relu", "srelu", "gelu", "qgelu", "silu")
GATE_OF = {"swiglu": "silu", "geglu": "gelu", "qgeglu": "qgelu", "reglu": "relu", "sreglu": "srelu"}


def split(pre, gated, interleave, second):
    """[rows][2C] -> gate and up, [rows][C] each. interleave: columns per block, 0: two halves."""
    if not gated:
        return pre, None
    rows, wide = pre.shape
    width = interleave or wide // 2
    pairs = pre.reshape(rows, wide // (2 * width), 2, width)
    first, last = pairs[:, :, 0].reshape(rows, -1), pairs[:, :, 1].reshape(rows, -1)
    return (last, first) if second else (first, last)


def join(a, b, interleave, second):
    if b is None:
        return a
    rows, columns = a.shape
    width = interleave or columns
    first, last = (b, a) if second else (a, b)
    pairs = [x.reshape(rows, columns // width, 1, width) for x in (first, last)]
    return np.concatenate(pairs, axis=2).reshape(rows, 2 * columns)


def numpy_activation(name, a, b):
    """(y, dy/da, dy/db) of the few that quantize.txt uses."""
    if name == "swiglu":
        s = 1 / (1 + np.exp(-a))
        return a * s * b, (s + a * s * (1 - s)) * b, a * s
    if name == "srelu":
        return np.maximum(a, 0) ** 2, np.maximum(2 * a, 0), None
    if name == "gelu":
        t = np.tanh(a * (0.79788456 + 0.03567741 * a * a))
        slope = 0.5 * a * (1 - t * t) * (0.79788456 + 0.1070322243 * a * a) + 0.5 * (1 + t)
        return a * (0.5 + 0.5 * t), slope, None
    assert name == "clamped_swiglu"
    limited, up = np.minimum(a, 7), np.clip(b, -7, 7) + 1
    s = 1 / (1 + np.exp(-1.702 * limited))
    f, slope = limited * s, s + 1.702 * limited * s * (1 - s)
    return f * up, np.where(a > 7, 0, slope * up), np.where(np.abs(b) > 7, 0, f)


def torch_activation(name, a, b):
    if name in GATE_OF:
        return torch_activation(GATE_OF[name], a, None) * b
    if name == "glu":
        return torch.sigmoid(a) * b
    if name == "clamped_swiglu":  # as gpt-oss writes it; clamp's gradient at the limit itself differs between PyTorches
        gate, up = torch.where(a > 7, 7.0, a), torch.where(b.abs() > 7, b.detach().sign() * 7, b)
        return (up + 1) * (gate * torch.sigmoid(1.702 * gate))
    if name == "situ_glu":
        return 4 * torch.tanh(a / 4) * torch.sigmoid(a) * (25 * torch.tanh(b / 25))
    return {
        "none": lambda x: x * 1,
        "relu": F.relu,
        "srelu": lambda x: F.relu(x) ** 2,
        "gelu": lambda x: F.gelu(x, approximate="tanh"),
        "qgelu": lambda x: x * torch.sigmoid(1.702 * x),
        "silu": F.silu,
    }[name](a)


def numbers(values):
    return " ".join(float(v).hex() for v in np.asarray(values, np.float64).reshape(-1))


POINTS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.75, -2.75, 6.96875, 7.0, -7.0, 7.03125, -7.03125, 12.0, -12.0, 40.0, -40.0,
          1e-3, -1e-3, 1e-30)


def point_lines():
    lines = []
    for name in ("none",) + UNGATED + GATED:
        for i, x in enumerate(POINTS):
            ups = (POINTS[(3 * i + 1) % len(POINTS)], POINTS[(7 * i + 9) % len(POINTS)]) if name in GATED else (1.0,)
            for up in ups:
                a = torch.tensor(x, dtype=torch.float64, requires_grad=True)
                b = torch.tensor(up, dtype=torch.float64, requires_grad=True)
                y = torch_activation(name, a, b)
                da, db = torch.autograd.grad(y, (a, b), allow_unused=True)
                lines.append(f"{name} " + numbers((x, up, y.item(), da.item(), 0 if db is None else db.item())))
    return lines


GROUPS, SIZES, COLUMNS = 2, (3, 4), 8


def gradient_case(casts, name, interleave, second, biased):
    rows, gated = sum(SIZES), name in GATED
    wide = COLUMNS * (2 if gated else 1)

    def values(seed, *shape):
        words = casts.random_words(seed, np.arange(int(np.prod(shape))))
        return torch.tensor(((words >> np.uint64(48)).astype(np.float64) / 8192 - 4).reshape(shape))  # [-4, 4) by 2^-13

    pre, dy = values(1, rows, wide).requires_grad_(), values(2, rows, COLUMNS)
    bias, probs = values(3, GROUPS, wide).requires_grad_(), values(4, rows).requires_grad_()
    x = pre + torch.repeat_interleave(bias, torch.tensor(SIZES), dim=0) if biased else pre
    a, b = split(x, gated, interleave, second)
    y = probs[:, None] * torch_activation(name, a, b)
    leaves = (pre, probs) + ((bias,) if biased else ())
    gradients = torch.autograd.grad(y, leaves, dy)
    options = f" act={name}" + (" gate=second" if second else "") + (f" il={interleave}" if interleave else "")
    flags = ("+bias " if biased else "") + "+probs"
    head = f"activation.packed g{GROUPS} c{COLUMNS} in=f32{options} d=f32 {flags}"
    lines = [f"case {head}"]
    named = [("pre", pre), ("dy", dy), ("probs", probs), ("bias", bias), ("y", y), ("dpre", gradients[0]),
             ("dprobs", gradients[1])] + ([("dbias", gradients[2])] if biased else [])
    return lines + [f"{key} {numbers(tensor.detach())}" for key, tensor in named
                    if key not in ("pre", "dy", "probs", "bias")]


def gradient_lines(casts):
    lines = []
    for name in UNGATED:
        lines += gradient_case(casts, name, 0, False, True)
    for name in GATED:
        lines += gradient_case(casts, name, 0, False, True)
    for interleave, second in ((0, True), (1, False), (4, True)):
        lines += gradient_case(casts, "swiglu", interleave, second, interleave != 1)
        lines += gradient_case(casts, "clamped_swiglu", interleave, second, True)
    return lines
