#!/usr/bin/env python3
"""Writes the golden vectors of this folder. Usage: make_golden.py [OUTDIR]

Nothing of Octet is used; the rules are those of docs/numerics.md. Written with Python 3.11, numpy 2.4.6,
ml_dtypes 0.6.0, torch 2.9.1. Takes some seconds.
"""

import importlib.util
import pathlib
import sys
from fractions import Fraction

import activations
import gemms
import numpy as np
import plans
from layouts import (Groups, block_amax, canaries, columnwise_data, columnwise_scales, padded, rowwise_data,
                     rowwise_scales, spread)

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("casts", HERE.parent / "support" / "golden" / "make_golden.py")
casts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(casts)

F32, BF16 = np.float32, casts.BF16
TYPES = {"bf16": BF16, "fp16": np.float16, "f32": F32}
LARGEST = {"bf16": F32(casts.ml_dtypes.finfo(BF16).max), "fp16": F32(65504), "f32": np.finfo(F32).max}
# rows, columns -> elements that share a scale; None: all
UNITS = {
    "tensor": ((None, None), (None, None)),
    "row": ((1, None), (None, 1)),
    "1x128": ((1, 128), (128, 1)),
    "128x128": ((128, 128), (128, 128)),
    "1x32": ((1, 32), (32, 1)),
    "32x32": ((32, 32), (32, 32)),
}
DEFAULT_LAYOUT = {
    "tensor": "per_group",
    "row": "per_row",
    "1x128": "mn_major",
    "128x128": "block2d",
    "1x32": "mx_compact",
    "32x32": "mx_32x32",
}


# --- inputs -----------------------------------------------------------------------------------------------------------

# Seeds that are even have these: row, first column, how many, f32 bits. Rounded to the type of the input.
OVERRIDES = [
    (0, 128, 64, 0x00000000),
    (1, 0, 202, 0x00000000),
    (2, 5, 1, 0x7F800000),  # infinity
    (3, 7, 1, 0x7FC00000),  # NaN
    (4, 0, 32, 0x7FC00000),
    (5, 0, 202, 0x00010000),  # subnormal
    (6, 201, 1, 0x7F7F0000),
    (7, 0, 32, 0x80000000),
    (8, 130, 1, 0xFF800000),
]


def random_values(rows, columns, seed, kind):
    """Normal numbers of 17 bits with a power of two per 1 x 128 block, then the overrides, rounded to the type."""
    r, c = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    words = casts.random_words(seed, r * columns + c)
    total = sum(((words >> np.uint64(16 * lane)) & np.uint64(0xFFFF)).astype(np.int64) for lane in range(4))
    block = r * -(-columns // 128) + c // 128
    exponent = (casts.random_words(~seed, block) >> np.uint64(61)).astype(np.int64) - 4
    x = np.ldexp((total - 131070).astype(np.float64), exponent - 15).astype(F32)
    for row, column, count, value in OVERRIDES if seed % 2 == 0 else []:
        if row < rows and column < columns:
            x[row, column : column + count] = np.uint32(value).view(F32)
    return x.astype(TYPES[kind])


# --- scales -----------------------------------------------------------------------------------------------------------


def exact_e8m0(amax, kind):
    """The byte of the smallest power of two not below amax / fp8_max; the quotient is a product rounded to f32."""
    if np.isinf(amax):
        return 254
    reciprocal = Fraction(float(F32(1) / F32(casts.FP8_MAX[kind])))
    quotient = casts.exact_f32(Fraction(float(amax)) * reciprocal)
    byte = 0
    while Fraction(2) ** (byte - 127) < quotient:
        byte += 1
    return byte


def e8m0(amax, kind):
    distinct, inverse = np.unique(amax, return_inverse=True)
    values = np.array([exact_e8m0(a, kind) for a in distinct], np.uint8)
    return values[inverse].reshape(amax.shape)


def f32_scales(amax, kind, cap, pow2, floor):
    amax = np.maximum(amax, F32(floor))
    q = F32(casts.FP8_MAX[kind]) / amax
    q = np.where(np.isinf(q), cap, q)
    q = np.where((amax == 0) | np.isinf(amax), F32(1), q).astype(F32)
    if pow2:
        q = np.ldexp(F32(1), np.frexp(q)[1] - 1).astype(F32)
    return q, F32(1) / q


def quantize_group(x, case, columnwise, given, extent):
    """(data, scales, one row of them per row or block of rows) of one group of `extent` rows, those of x and zeros."""
    unit = UNITS[case["recipe"]][columnwise]
    rows, columns = unit[0] or max(extent, 1), unit[1] or x.shape[1]
    full = padded(x, extent, x.shape[1])
    amax = block_amax(full if unit[0] else padded(full, rows, x.shape[1]), rows, columns)
    if case["recipe"] in ("1x32", "32x32"):
        sf = e8m0(amax, case["type"])
        q = np.ldexp(F32(1), 127 - sf.astype(int)).astype(F32)
    elif given is not None:
        sf = np.full((1, 1), given, F32)
        q = F32(1) / sf
    else:
        cap = LARGEST["f32" if case["recipe"] == "tensor" else case["in"]]
        q, sf = f32_scales(amax, case["type"], cap, case["pow2"], case["floor"])
        q = q.copy()
        first_row = np.arange(len(q)) * rows
        q[first_row >= len(x)] = 1  # blocks without a row
        sf = np.where(first_row[:, None] >= len(x), F32(1), sf)
    data = casts.cast_fp8(full * spread(q, rows, columns, full.shape), case["type"])
    return data, sf


# --- cases ------------------------------------------------------------------------------------------------------------

COLUMNS = 202
LAYOUTS = {
    "packed": dict(text="packed g4 c202", sizes=(50, 0, 133, 1), capacity=189),
    "padded": dict(text="padded g4 c202 al32", sizes=(50, 0, 133, 1), capacity=230, align=32),
    "masked": dict(text="masked g4 c202 m133", sizes=(50, 0, 133, 1), capacity=532, m=133),
    "uniform": dict(text="uniform g2 n133 k202", sizes=(133, 133), capacity=266),
    "dense": dict(text="dense g1 c202", sizes=(150,), capacity=150),
}
GIVEN = F32(0.3) * np.arange(1, 9).astype(F32)


def make_case(layout, recipe, seed, **options):
    case = dict(layout=layout, recipe=recipe, seed=seed, type="e4m3", pow2=False, scales=DEFAULT_LAYOUT[recipe],
                act="none", flags=(), floor=0.0, options="")
    case["in"] = "bf16"
    case.update(options)
    return case


def problem_text(case):
    """As octet::Problem prints it."""
    recipe = f"{case['type']}:{case['recipe']}" + (":pow2" if case["pow2"] else "")
    if case["scales"] != DEFAULT_LAYOUT[case["recipe"]]:
        recipe += "@" + case["scales"]
    words = ["quantize." + LAYOUTS[case["layout"]]["text"], "in=" + case["in"]]
    words += ["act=" + case["act"]] if case["act"] != "none" else []
    words += [case["options"]] if case["options"] else []
    return " ".join(words + ["out=" + recipe, "dir=row,col"] + ["+" + f for f in case["flags"]])


def case_list():
    cases, seed = [], 1
    variants = [("tensor", {}), ("row", {}), ("1x128", {}), ("1x128", {"scales": "k_major", "pow2": True}),
                ("128x128", {}), ("1x32", {}), ("1x32", {"scales": "swizzled"})]
    for layout in LAYOUTS:
        here = variants + ([("128x128", {"scales": "block2d_t", "pow2": True}), ("32x32", {})]
                           if layout == "uniform" else [])
        for recipe, options in here:
            for kind, element in (("bf16", "e4m3"), (("f32", "fp16")[seed // 2 % 2], "e5m2")):
                cases.append(make_case(layout, recipe, seed, type=element, **{"in": kind}, **options))
                seed += 1
    for layout in ("packed", "masked"):
        cases += [
            make_case(layout, "tensor", 100, flags=("amax", "given")),
            make_case(layout, "tensor", 101, flags=("amax",), floor=64.0),
            make_case(layout, "1x128", 102, flags=("amax",), floor=1.0),
            make_case(layout, "1x128", 103, pow2=True, floor=1.0),
            make_case(layout, "row", 104, floor=1.0),
            make_case(layout, "1x32", 105, floor=1.0),
            make_case(layout, "1x128", 107, flags=("bias", "probs")),
            make_case(layout, "1x32", 109, flags=("probs", "grad", "dbias")),
            make_case(layout, "1x128", 111, act="swiglu", flags=("bias", "probs")),
            make_case(layout, "1x32", 113, act="swiglu", scales="swizzled", options="gate=second"),
            make_case(layout, "128x128", 115, act="clamped_swiglu", options="il=1"),
            make_case(layout, "row", 117, act="gelu", flags=("bias",)),
            make_case(layout, "1x128", 119, act="swiglu", flags=("probs", "grad", "dbias"), options="gate=second"),
            make_case(layout, "1x32", 121, act="clamped_swiglu", flags=("bias", "probs", "grad", "dbias"),
                      options="il=1"),
            make_case(layout, "tensor", 123, act="srelu", flags=("grad", "dbias")),
        ]
    return cases


def features(case, groups):
    """What is quantized, unrounded f32 [rows][F], and what else the launch writes."""
    rows, kind, seed, flags = groups.rows, case["in"], case["seed"], case["flags"]
    gated = case["act"] in activations.GATED
    wide = COLUMNS * (2 if gated else 1)
    group_of = np.zeros(rows, int)
    for g, (begin, count) in enumerate(zip(groups.begin, groups.count)):
        group_of[begin : begin + count] = g
    probs = (random_values(1, rows, 1001, "f32")[0] if "probs" in flags else np.ones(rows, F32)).astype(np.float64)
    bias = random_values(len(groups), wide, 1003, kind).astype(F32)[group_of] if "bias" in flags else F32(-0.0)
    backward = "grad" in flags
    source = random_values(rows, COLUMNS if backward else wide, seed, kind).astype(F32)
    if case["act"] == "none":
        x = source if backward else source + bias
        return (probs[:, None] * x).astype(F32), None
    pre = (random_values(rows, wide, 1005, kind).astype(F32) if backward else source) + bias
    interleave, second = ("il=1" in case["options"]), ("gate=second" in case["options"])
    a, b = activations.split(pre.astype(np.float64), gated, 1 if interleave else 0, second)
    y, da, db = activations.numpy_activation(case["act"], a, b)
    if not backward:
        return (probs[:, None] * y).astype(F32), None
    dy = source.astype(np.float64)
    scaled = probs[:, None] * dy
    x = activations.join(scaled * da, scaled * db if gated else None, 1 if interleave else 0, second)
    return x.astype(F32), (dy * y).sum(axis=1).astype(F32)


def outputs(case, groups):
    x, dprobs = features(case, groups)
    result = {}
    parts, _ = groups.of_rows(x)
    if "dbias" in case["flags"]:
        result["dbias"] = np.stack([p.astype(np.float64).sum(axis=0).astype(F32) for p in parts])
    if dprobs is not None and "probs" in case["flags"]:
        result["dprobs"] = canaries((groups.rows,), F32)
        for begin, count in zip(groups.begin, groups.count):
            result["dprobs"][begin : begin + count] = dprobs[begin : begin + count]
    parts = [p.astype(TYPES[case["in"]]).astype(F32) for p in parts]
    if "amax" in case["flags"]:
        result["amax"] = np.array([np.max(np.where(np.isnan(p), F32(0), np.abs(p)), initial=0) for p in parts], F32)
    given = GIVEN if "given" in case["flags"] else [None] * len(groups)
    for columnwise in (False, True):
        extents = groups.extent if columnwise else groups.count
        done = [quantize_group(p, case, columnwise, g, e) for p, g, e in zip(parts, given, extents)]
        data, sf = [d for d, _ in done], [s for _, s in done]
        if columnwise:
            result["data_col"] = columnwise_data(groups, data)
            result["sf_col"] = columnwise_scales(groups, case["scales"], sf)
            result.update(foreign(case, groups, data, sf))
        else:
            result["data"] = rowwise_data(groups, data)
            result["sf"] = rowwise_scales(groups, case["scales"], sf)
    return result


def foreign(case, groups, data, sf):
    """Columnwise data in the packings of other libraries."""
    if groups.layout == "uniform" or case["scales"] not in ("mn_major", "mx_compact"):
        return {}
    if case["recipe"] == "1x128":
        return {"deepgemm": np.concatenate([d.T.reshape(-1) for d in data]),
                "deepgemm_sf": np.concatenate([s.reshape(-1) for s in sf])}
    return {"te": rowwise_data(groups, [d[:c] for d, c in zip(data, groups.count)])}


def digest(array):
    return casts.digest(np.ascontiguousarray(array).reshape(1, -1).view(np.uint8))[0]


def quantize_lines():
    lines = [f"set {row} {column} {count} {value:08x}" for row, column, count, value in OVERRIDES]
    for case in case_list():
        layout = LAYOUTS[case["layout"]]
        groups = Groups(case["layout"], layout["sizes"], layout["capacity"], layout.get("align", 1),
                        layout.get("m", 0))
        sizes = ",".join(map(str, layout["sizes"]))
        lines.append(f"case {layout['capacity']} {sizes} {case['seed']} {case['floor']} {problem_text(case)}")
        for name, array in outputs(case, groups).items():
            lines.append(f"{name} {array.nbytes} {digest(array):016x}")
    return lines


# --- E8M0 and fp16 ----------------------------------------------------------------------------------------------------


def e8m0_lines():
    lines = []
    for kind, top in (("e4m3", 118), ("e5m2", 111)):
        limit = casts.FP8_MAX[kind]
        chosen = {0, 1, 2, 0x7F800000, 0x7F7FFFFF, 0x007FFFFF, 0x00800000}
        for power in range(top - 228, top + 1):
            exact = casts.bits(limit * 2.0**power)
            chosen.update((exact - 1, exact, exact + 1))
            low, same, high = (exact_e8m0(casts.from_bits(exact + i), kind) for i in (-1, 0, 1))
            assert low == same == power + 127 and high == same + 1
        for power in range(-149, 128, 7):
            chosen.update(casts.with_neighbours(casts.bits(2.0**power)))
        chosen.update(int(w) & 0x7F7FFFFF for w in casts.random_words(17, np.arange(50)))
        lines += [f"{kind} {b:08x} {exact_e8m0(casts.from_bits(b), kind):02x}" for b in sorted(chosen)]
    return lines


def fp16_lines():
    chosen = {0, 1, 0x7F800000, 0x7F7FFFFF}
    for power in range(-27, 18):
        chosen.update(casts.with_neighbours(casts.bits(2.0**power)))
        for step in (1, 2, 3, 5, 1023):
            for half in (0, 1):
                chosen.update(casts.with_neighbours(casts.bits(2.0**power * (1 + (step + half / 2) / 1024))))
    for value in (65503, 65504, 65519, 65520, 65521, 65536, 1e30):
        chosen.update(casts.with_neighbours(casts.bits(value)))
    lines = []
    for b in sorted(chosen):
        x = np.uint32(b).view(F32)
        got = x.astype(np.float16)
        if np.isfinite(x):
            exact = casts.exact_round(Fraction(float(x)), 10, -14, 15)
            assert float(exact) == float(got), (hex(b), exact, got)
        lines.append(f"{b:08x} {int(got.view(np.uint16)):04x}")
    return lines


def main():
    np.seterr(all="ignore")
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    about = "case: capacity, group sizes, seed, amax floor, problem; then each output: name, bytes, FNV-1a"
    casts.write(directory, "quantize.txt", about, quantize_lines())
    casts.write(directory, "e8m0.txt", "type, amax as f32 bits, byte", e8m0_lines())
    casts.write(directory, "fp16.txt", "f32 bits, fp16 bits", fp16_lines())
    casts.write(directory, "activations.txt", "activation, a, b, y, dy/da, dy/db", activations.point_lines())
    about = "case: capacity, group sizes, alpha, beta, problem; then of each group: weighted sum of D and of the "
    about += "magnitudes; of elements: i in the group, j, D, magnitude"
    casts.write(directory, "gemms.txt", about, gemms.lines(random_values, quantize_group, casts))
    about = "case: capacity, group sizes, plan; then of each group each output: its name, weighted sum of its elements and "
    about += "of their magnitudes; of elements: place in the group's part, value"
    casts.write(directory, "plans.txt", about, plans.lines(random_values, TYPES, quantize_group, casts))
    casts.write(directory, "gradients.txt", "problem, then what it reads and writes", activations.gradient_lines(casts))


if __name__ == "__main__":
    main()
