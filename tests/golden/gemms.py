"""Expected results of GEMMs: whole matrices of dequantized values, multiplied by numpy in f64.

The operands are quantized here too, by make_golden.py's rules, and never laid out: what a kernel reads follows from the
layouts, what it computes does not.
"""

import numpy as np
from layouts import Groups, spread

TOKENS = {
    "packed": dict(text="packed g4", sizes=(50, 0, 133, 1), capacity=189),
    "padded": dict(text="padded g4 al32", sizes=(50, 0, 133, 1), capacity=230, align=32),
    "masked": dict(text="masked g3 m70", sizes=(70, 0, 33), capacity=210, m=70),
    "dense": dict(text="dense g1", sizes=(150,), capacity=150),
}
N, K = 136, 202
PICKED = 4  # elements of each group that are written one by one

E4, E5 = "e4m3", "e5m2"
# recipe of A, of B. Element types, layouts and flags vary over the cases.
FORWARD = [
    ("tensor", "tensor"),
    ("row", "row"),
    ("1x128", "128x128"),
    ("1x128:pow2", "128x128:pow2"),
    ("1x128@k_major", "128x128@block2d_t"),
    ("1x128", "1x128"),
    ("1x32", "1x32"),
    ("1x32@swizzled", "1x32@swizzled"),
    ("1x32", "32x32"),
]
WGRAD = [
    ("tensor", "tensor"),
    ("row", "row"),
    ("1x128", "1x128"),
    ("1x128:pow2", "128x128:pow2"),
    ("1x32", "1x32"),
    ("1x32@swizzled", "1x32@swizzled"),
]
MIXES = [(E4, E4), (E5, E4), (E4, E5), (E5, E5)]
EPILOGUES = [  # flags, type of D, alpha, beta
    ((), "bf16", 1.0, 1.0),
    (("bias",), "bf16", 1.0, 1.0),
    (("acc",), "f32", 0.5, 1.0),
    (("bias", "acc"), "fp16", -2.0, 0.25),
]


def case_list():
    """(op, layout, dir, recipe of A, recipe of B); options follow from the place in the list."""
    cases = [("gemm", "packed", "row", *pair) for pair in FORWARD]
    cases += [("gemm", "packed", "col", *pair) for pair in FORWARD]
    cases += [("wgrad", "packed", "row", *pair) for pair in WGRAD]
    for layout in ("masked", "padded", "dense"):
        cases += [("gemm", layout, "row", *FORWARD[i]) for i in ((2, 7, 1) if layout == "masked" else (2,))]
        cases += [("wgrad", layout, "row", *WGRAD[i]) for i in ((2, 3, 4, 5) if layout == "masked" else (2, 5))]
    return cases


def split_recipe(text):
    text, _, _ = text.partition("@")
    name, _, option = text.partition(":")
    return name, option == "pow2"


def dequantized(quantize_group, casts, x, recipe, kind, columnwise):
    """One group's rows, quantized along their columns, or columnwise along their rows, and back, in f64."""
    name, pow2 = split_recipe(recipe)
    case = {"recipe": name, "type": kind, "pow2": pow2, "in": "bf16", "floor": 0.0}
    if len(x) == 0:
        return np.zeros(x.shape)
    data, sf = quantize_group(x, case, columnwise, None, len(x))
    values = data.view(casts.FP8[kind]).astype(np.float64)
    scales = np.ldexp(1.0, sf.astype(int) - 127) if sf.dtype == np.uint8 else sf.astype(np.float64)
    unit = {"tensor": (len(x), x.shape[1]), "row": (1, x.shape[1]), "1x128": (1, 128), "128x128": (128, 128),
            "1x32": (1, 32), "32x32": (32, 32)}[name]
    if columnwise and name in ("row", "1x128", "1x32"):
        unit = (len(x) if name == "row" else unit[1], 1)
    return values * spread(scales, *unit, values.shape)


def operands(op, direction, pair, kinds, groups, make, dequantize):
    """Per group A as [i][s] and B as [j][s]."""
    wide = N if op == "wgrad" else K
    a, _ = groups.of_rows(make(groups.rows, wide, 1).astype(np.float32))
    if op == "wgrad":
        b, _ = groups.of_rows(make(groups.rows, K, 3).astype(np.float32))
        return [(dequantize(x, pair[0], kinds[0], True).T, dequantize(y, pair[1], kinds[1], True).T)
                for x, y in zip(a, b)]
    columnwise = direction == "col"
    rows, columns = (K, N) if columnwise else (N, K)
    weights = make(len(groups) * rows, columns, 3).astype(np.float32).reshape(len(groups), rows, columns)
    b = [dequantize(w, pair[1], kinds[1], columnwise) for w in weights]
    return [(dequantize(x, pair[0], kinds[0], False), y.T if columnwise else y) for x, y in zip(a, b)]


def problem_text(op, layout, direction, pair, kinds, flags, d):
    words = f"{TOKENS[layout]['text']} n{N} k{K}".split()  # sorted as octet::Problem prints them
    order = sorted(words[1:], key=lambda w: ("g", "m", "n", "k", "al").index(w.rstrip("0123456789")))
    recipes = [f"{kind}:{recipe}" for kind, recipe in zip(kinds, pair)]
    tail = ["dir=col"] if direction == "col" else []
    return " ".join([f"{op}.{words[0]}", *order, f"a={recipes[0]}", f"b={recipes[1]}", f"d={d}", *tail]
                    + [f"+{flag}" for flag in flags])


def group_lines(g, value, magnitude):
    """Sums over all of a group's D that any wrong element changes, then elements by themselves."""
    weights = np.arange(value.size).reshape(value.shape) % 7 + 1
    lines = [f"group {g} {float((value * weights).sum()).hex()} {float((magnitude * weights).sum()).hex()}"]
    for pick in range(PICKED if value.size else 0):
        i, j = divmod(pick * (value.size - 1) // (PICKED - 1), value.shape[1])
        lines.append(f"at {i} {j} {float(value[i, j]).hex()} {float(magnitude[i, j]).hex()}")
    return lines


def lines(random_values, quantize_group, casts):
    result = []
    for number, (op, layout, direction, *pair) in enumerate(case_list()):
        place, kinds = TOKENS[layout], MIXES[number % len(MIXES)]
        flags, d, alpha, beta = EPILOGUES[number // 2 % len(EPILOGUES)]
        flags = [flag for flag in flags if op == "gemm" or flag != "bias"]
        groups = Groups(layout, place["sizes"], place["capacity"], place.get("align", 1), place.get("m", 0))
        parts = operands(op, direction, pair, kinds, groups, lambda r, c, seed: random_values(r, c, seed, "bf16"),
                         lambda x, recipe, kind, columnwise: dequantized(quantize_group, casts, x, recipe, kind,
                                                                         columnwise))
        rows, columns = (len(groups) * N, K) if op == "wgrad" else (groups.rows, N)
        bias = random_values(len(groups), N, 5, d).astype(np.float64)
        old = random_values(rows, columns, 7, d).astype(np.float64)
        first = [g * N for g in range(len(groups))] if op == "wgrad" else groups.begin
        sizes = ",".join(map(str, place["sizes"]))
        result.append(f"case {place['capacity']} {sizes} {alpha} {beta} "
                      + problem_text(op, layout, direction, pair, kinds, flags, d))
        for g, (a, b) in enumerate(parts):
            value, magnitude = alpha * (a @ b.T), abs(alpha) * (np.abs(a) @ np.abs(b).T)
            if "bias" in flags:
                value, magnitude = value + bias[g], magnitude + np.abs(bias[g])
            if "acc" in flags:
                before = old[first[g] : first[g] + len(value)]
                value, magnitude = value + beta * before, magnitude + np.abs(beta * before)
            result += group_lines(g, value, magnitude)
    return result
