"""Expected results of whole plans: a layer of experts, forward and backward, in whole matrices.

Quantized by make_golden.py's rules and back, multiplied by numpy in f64, activations and their gradients by PyTorch's
autograd. What a plan stores between its kernels is rounded here as well, to f32 and then to its type.
"""

import gemms
import numpy as np
import torch
from activations import GATED, split, torch_activation
from layouts import Groups

H, I = 272, 144  # of an mlp; a linear plan has K = H and N = I
SCALE = 2.0**-5  # of weights, so that activations are not all saturated
PICKED = 3

CASES = [  # capacity, sizes, line
    (189, (50, 0, 133, 1), "mlp.packed g4 h272 i144 act=swiglu +bias +probs +acc"),
    (230, (50, 0, 133, 1), "mlp.padded g4 h272 i144 al32 act=clamped_swiglu il=1 dy=e5m2:1x128 splits=i64/ends +bias"),
    (210, (70, 0, 33), "mlp.masked g3 m70 h272 i144 act=srelu recipe=mxfp8 dw=bf16"),
    (200, (3, 130, 0, 51), "mlp.packed g4 h272 i144 act=geglu gate=second recipe=tensor splits=i32/starts +probs"),
    (189, (50, 0, 133, 1), "mlp.packed g4 h272 i144 act=reglu recipe=row w=pointers +bias +acc"),
    (150, (150,), "mlp.dense g1 h272 i144 act=silu x=e4m3:1x128:pow2 weights=e4m3:128x128:pow2 dy=e4m3:1x128:pow2"),
    (189, (50, 0, 133, 1), "mlp.packed g4 h272 i144 act=glu weights=e4m3:1x128 w=pointers +inference"),
    (189, (50, 0, 133, 1), "linear.packed g4 n144 k272 dy=e5m2:1x128 +bias +acc"),
    (210, (70, 0, 33), "linear.masked g3 m70 n144 k272 x=e4m3:1x128@k_major weights=e4m3:128x128@block2d_t"),
    (150, (150,), "linear.dense g1 n144 k272 recipe=mxfp8 x=e4m3:1x32@swizzled weights=e4m3:32x32 dw=bf16"),
]


class Facts:
    """A plan's line, taken apart."""

    def __init__(self, line):
        head, *words = line.split()
        self.kind, self.layout = head.split(".")
        self.flags = {w[1:] for w in words if w[0] == "+"}
        options = dict(w.split("=") for w in words if "=" in w)
        sizes = {w.rstrip("0123456789"): int(w.lstrip("abcdefghijklmnopqrstuvwxyz")) for w in words
                 if "=" not in w and w[0] != "+"}
        self.groups, self.m, self.align = sizes["g"], sizes.get("m", 0), sizes.get("al", 1)
        wide = {"block_fp8": "1x128", "tensor": "tensor", "row": "row", "mxfp8": "1x32"}[
            options.get("recipe", "block_fp8")]
        defaults = {"x": wide, "dy": wide, "weights": "128x128" if wide == "1x128" else wide}
        self.recipes = {name: options.get(name, "e4m3:" + recipe).split(":", 1) for name, recipe in defaults.items()}
        self.act, self.second = options.get("act", "none"), options.get("gate") == "second"
        self.interleave, self.dw = int(options.get("il", 0)), options.get("dw", "f32")
        self.features = I * (2 if self.act in GATED else 1)


class Layer:
    """Rounding and quantizing as the plan's kernels do."""

    def __init__(self, facts, types, quantize_group, casts):
        self.facts, self.types, self.quantize_group, self.casts = facts, types, quantize_group, casts

    def stored(self, value, kind="bf16"):
        return value.astype(np.float32).astype(self.types[kind]).astype(np.float64)

    def quantized(self, value, name, columnwise):
        kind, recipe = self.facts.recipes[name]
        return gemms.dequantized(self.quantize_group, self.casts, value.astype(np.float32), recipe, kind, columnwise)

    def activate(self, h, probs):
        a, b = split_torch(h, self.facts)
        return probs[:, None] * torch_activation(self.facts.act, a, b)

    def forward(self, x, w1, w2, bias1, bias2, probs):
        h = self.stored(self.quantized(x, "x", False) @ self.quantized(w1, "weights", False).T + bias1)
        with torch.no_grad():
            a = self.stored(self.activate(torch.tensor(h), torch.tensor(probs)).numpy())
        y = self.stored(self.quantized(a, "x", False) @ self.quantized(w2, "weights", False).T + bias2)
        return h, a, y

    def activation_backward(self, da, h, probs):
        leaves = torch.tensor(h, requires_grad=True), torch.tensor(probs, requires_grad=True)
        gradients = torch.autograd.grad(self.activate(*leaves), leaves, torch.tensor(da))
        return gradients[0].numpy().astype(np.float32).astype(np.float64), gradients[1].numpy()

    def wgrad(self, dy, x):
        return self.quantized(dy, "dy", True).T @ self.quantized(x, "x", True)


def split_torch(h, facts):
    if facts.act not in GATED:
        return h, None
    columns = np.arange(h.shape[1])[None, :]
    a, b = (torch.tensor(part[0]) for part in split(columns, True, facts.interleave, facts.second))
    return h[:, a], h[:, b]


def mlp(layer, x, dy, weights, biases, probs):
    w1, w2 = weights
    h, a, y = layer.forward(x, w1, w2, *biases, probs)
    results = {"y": y}
    if "inference" in layer.facts.flags:
        return results
    da = layer.stored(layer.quantized(dy, "dy", False) @ layer.quantized(w2, "weights", True))
    dh, dprobs = layer.activation_backward(da, h, probs)
    results.update(dprobs=dprobs[:, None], dbias2=dy.sum(axis=0)[None], dbias1=dh.sum(axis=0)[None])
    dh = layer.stored(dh)
    results["dx"] = layer.stored(layer.quantized(dh, "dy", False) @ layer.quantized(w1, "weights", True))
    results.update(dw1=layer.wgrad(dh, x), dw2=layer.wgrad(dy, a))
    return results


def linear(layer, x, dy, weights, biases, _):
    w = weights[0]
    y = layer.stored(layer.quantized(x, "x", False) @ layer.quantized(w, "weights", False).T + biases[0])
    dx = layer.stored(layer.quantized(dy, "dy", False) @ layer.quantized(w, "weights", True))
    return {"y": y, "dx": dx, "dbias1": dy.sum(axis=0)[None], "dw1": layer.wgrad(dy, x)}


def output_lines(name, g, value):
    """A sum that any wrong element changes, then elements by themselves."""
    weights = np.arange(value.size).reshape(value.shape) % 7 + 1
    magnitude = float((np.abs(value) * weights).sum())
    lines = [f"{name} {g} {float((value * weights).sum()).hex()} {magnitude.hex()}"]
    for pick in range(PICKED if value.size else 0):
        at = pick * (value.size - 1) // (PICKED - 1)
        lines.append(f"at {at} {float(value.reshape(-1)[at]).hex()}")
    return lines


def case_lines(capacity, sizes, line, random_values, types, quantize_group, casts):
    facts = Facts(line)
    layer = Layer(facts, types, quantize_group, casts)
    groups = Groups(facts.layout, sizes, capacity, facts.align, facts.m)
    is_mlp, count = facts.kind == "mlp", facts.groups
    shapes = [(facts.features, H), (H, I)] if is_mlp else [(I, H)]

    def values(rows, columns, seed, kind="bf16"):
        return random_values(rows, columns, seed, kind).astype(np.float64)

    x, dy = values(groups.rows, H, 1), values(groups.rows, shapes[-1][0], 13)
    weights = [values(count * n, k, seed).reshape(count, n, k) * SCALE for (n, k), seed in zip(shapes, (3, 5))]
    has_bias = "bias" in facts.flags
    biases = [values(count, n, seed) if has_bias else np.zeros((count, n)) for (n, _), seed in zip(shapes, (7, 9))]
    probs = values(1, groups.rows, 11, "f32")[0] if "probs" in facts.flags else np.ones(groups.rows)
    old = [values(count * n, k, seed, facts.dw).reshape(count, n, k) for (n, k), seed in zip(shapes, (15, 17))]
    lines = [f"case {capacity} {','.join(map(str, sizes))} {line}"]
    for g, (begin, rows) in enumerate(zip(groups.begin, groups.count)):
        at = slice(begin, begin + rows)
        family = mlp if is_mlp else linear
        results = family(layer, x[at], dy[at], [w[g] for w in weights], [b[g] for b in biases], probs[at])
        for name in ("dbias1", "dbias2") if not has_bias else ():
            results.pop(name, None)
        if "probs" not in facts.flags:
            results.pop("dprobs", None)
        for i, name in enumerate(("dw1", "dw2")):
            if name in results:
                kept = old[i][g] if "acc" in facts.flags else 0
                results[name] = layer.stored(results[name] + kept, facts.dw)
        for name, value in results.items():
            lines += output_lines(name, g, value)
    return lines


def lines(random_values, types, quantize_group, casts):
    return [text for case in CASES for text in case_lines(*case, random_values, types, quantize_group, casts)]
