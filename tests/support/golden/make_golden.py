#!/usr/bin/env python3
"""Writes the golden vectors of this folder. Usage: make_golden.py [OUTDIR]

Nothing of Octet is used. Casts and scales come from numpy and ml_dtypes (written with numpy 2.4.6, ml_dtypes 0.6.0,
Python 3.11), and every value is checked here against exact rational arithmetic before it is written, so two
independent sources agree on all of them. The rules are those of docs/numerics.md. Takes about two minutes.
"""

import bisect
import pathlib
import struct
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np

np.seterr(all="ignore")
F32, BF16 = np.float32, ml_dtypes.bfloat16
FP8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
FP8_MAX = {"e4m3": 448.0, "e5m2": 57344.0}
INPUT_MAX = {"bf16": float(ml_dtypes.finfo(BF16).max), "f32": float(np.finfo(F32).max)}
INF = float("inf")


# --- exact arithmetic -------------------------------------------------------------------------------------------------


def round_half_even(x: Fraction) -> int:
    return round(x)  # Python's round on a Fraction goes to the even integer


def exact_round(x: Fraction, mantissa_bits: int, min_exponent: int, max_exponent: int):
    """x to nearest even in a binary format with subnormals; infinity on overflow."""
    if x == 0:
        return Fraction(0)
    exponent = min_exponent
    magnitude = abs(x)
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    quantum = Fraction(2) ** (exponent - mantissa_bits)
    rounded = round_half_even(magnitude / quantum) * quantum
    if rounded >= Fraction(2) ** (max_exponent + 1):
        rounded = INF
    return rounded if x > 0 else -rounded


def exact_f32(x: Fraction):
    return exact_round(x, 23, -126, 127)


class ExactFp8:
    """The finite, non-negative values of a format in order: the index of a value is its byte."""

    def __init__(self, exponent_bits, mantissa_bits, bias, last_byte):
        self.values = []
        for byte in range(last_byte + 1):
            exponent, mantissa = byte >> mantissa_bits, byte & ((1 << mantissa_bits) - 1)
            if exponent == 0:
                value = Fraction(mantissa) * Fraction(2) ** (1 - bias - mantissa_bits)
            else:
                value = Fraction((1 << mantissa_bits) + mantissa) * Fraction(2) ** (exponent - bias - mantissa_bits)
            self.values.append(value)
        assert exponent_bits + mantissa_bits == 7

    def cast(self, x: float) -> int:
        if x != x:
            return 0x7F
        sign = 0x80 if np.signbit(x) else 0
        if abs(x) == INF or Fraction(abs(x)) >= self.values[-1]:
            return sign | len(self.values) - 1
        magnitude = Fraction(abs(x))
        above = bisect.bisect_left(self.values, magnitude)
        if self.values[above] == magnitude:
            return sign | above
        below = above - 1
        to_below, to_above = magnitude - self.values[below], self.values[above] - magnitude
        if to_below == to_above:
            return sign | (below if below % 2 == 0 else above)
        return sign | (below if to_below < to_above else above)


EXACT = {"e4m3": ExactFp8(4, 3, 7, 0x7E), "e5m2": ExactFp8(5, 2, 15, 0x7B)}


# --- numpy and ml_dtypes ----------------------------------------------------------------------------------------------


def bits(x) -> int:
    return int(np.asarray(x, F32).view(np.uint32))


def from_bits(b: int) -> float:
    return float(np.uint32(b).view(F32))


def cast_fp8(x: np.ndarray, kind: str) -> np.ndarray:
    """Saturating. ml_dtypes overflows e4m3 to NaN and e5m2 to infinity, so clip first; it keeps the sign of a NaN."""
    limit = F32(FP8_MAX[kind])
    data = np.clip(x.astype(F32), -limit, limit).astype(FP8[kind]).view(np.uint8)
    return np.where(np.isnan(x), np.uint8(0x7F), data)


def block_scale(amax: float, kind: str, source: str, pow2: bool):
    """(q, sf) as f32."""
    amax = F32(amax)
    if amax == 0 or np.isinf(amax):
        q = F32(1)
    else:
        q = F32(FP8_MAX[kind]) / amax
        if np.isinf(q):
            q = F32(INPUT_MAX[source])
    if pow2:
        q = F32(np.ldexp(F32(1), int(np.frexp(q)[1]) - 1))
    return q, F32(1) / q


def exact_block_scale(amax: float, kind: str, source: str, pow2: bool):
    if amax == 0 or amax == INF:
        q = Fraction(1)
    else:
        q = exact_f32(Fraction(FP8_MAX[kind]) / Fraction(float(F32(amax))))
        if q == INF:
            q = Fraction(INPUT_MAX[source])
    if pow2:
        power = Fraction(1)
        while power > q:
            power /= 2
        while power * 2 <= q:
            power *= 2
        q = power
    return q, exact_f32(1 / q)


# --- test data: docs/numerics.md, "Test data" -------------------------------------------------------------------------

MASK = (1 << 64) - 1


def random_words(seed: int, index: np.ndarray) -> np.ndarray:
    z = np.uint64(seed & MASK) + (index.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def random_matrix(rows: int, columns: int, seed: int, block_rows: int, group: int = 0) -> np.ndarray:
    r, c = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    words = random_words(seed, (group * rows + r) * columns + c)
    total = sum(((words >> np.uint64(16 * lane)) & np.uint64(0xFFFF)).astype(np.int64) for lane in range(4))
    across, down = -(-columns // 128), -(-rows // block_rows)
    block = (group * down + r // block_rows) * across + c // 128
    exponent = (random_words(~seed, block) >> np.uint64(61)).astype(np.int64) - 4
    return np.ldexp((total - 131070).astype(np.float64), exponent - 15).astype(F32).astype(BF16)


def digest(rows: np.ndarray) -> list:
    """FNV-1a, 64 bits, of the bytes of each row."""
    data = np.ascontiguousarray(rows).view(np.uint8)
    hashes = np.full(data.shape[0], 0xCBF29CE484222325, np.uint64)
    for column in data.T:
        hashes = (hashes ^ column.astype(np.uint64)) * np.uint64(0x100000001B3)
    return [int(h) for h in hashes]


# --- files ------------------------------------------------------------------------------------------------------------


def write(directory: pathlib.Path, name: str, about: str, lines: list):
    text = f"# {about}\n# Written by make_golden.py; do not edit.\n" + "".join(line + "\n" for line in lines)
    (directory / name).write_text(text)
    print(f"{name}: {len(lines)} lines, {len(text)} bytes")


def fp8_values() -> list:
    lines = []
    for kind in FP8:
        for byte in range(256):
            value = np.uint8(byte).view(FP8[kind]).astype(F32)
            if (byte & 0x7F) < len(EXACT[kind].values):
                exact = EXACT[kind].values[byte & 0x7F]
                assert Fraction(float(value)) == (-exact if byte & 0x80 else exact)
                assert bool(np.signbit(value)) == (byte >= 0x80)
            lines.append(f"{kind} {byte:02x} " + ("nan" if np.isnan(value) else f"{bits(value):08x}"))
    return lines


def with_neighbours(b: int) -> list:
    return [x for x in (b - 1, b, b + 1) if 0 <= x <= 0x7F800000]


def fp8_cast_inputs(kind: str) -> list:
    """Non-negative f32 as bits: what decides a rounding, and its neighbours one f32 ulp away."""
    values = EXACT[kind].values
    chosen = {0, 1, 2, 0x7F800000, 0x7F7FFFFF, 0x007FFFFF, 0x00800000}
    for low, high in zip(values, values[1:]):
        chosen.update(with_neighbours(bits(float(low))))
        chosen.update(with_neighbours(bits(float((low + high) / 2))))
    for exponent in range(-149, 128):
        chosen.update(with_neighbours(bits(float(Fraction(2) ** exponent))))
    for value in (448, 456, 463, 464, 465, 480, 1000, 57344, 59392, 61439, 61440, 61441, 65536, 1e30):
        chosen.update(with_neighbours(bits(value)))
    return sorted(chosen)


def casts() -> list:
    lines = []
    for kind in FP8:
        for b in fp8_cast_inputs(kind):
            x = from_bits(b)
            byte = int(cast_fp8(np.array([x], F32), kind)[0])
            assert byte == EXACT[kind].cast(x), (kind, hex(b))
            negative = int(cast_fp8(np.array([-x], F32), kind)[0])
            assert negative == byte | 0x80 == EXACT[kind].cast(-x), (kind, hex(b))
            lines.append(f"{kind} {b:08x} {byte:02x}")
    return lines


def bf16_casts() -> list:
    chosen = {0, 1, 0x7F800000, 0x7F7F7FFF, 0x7F7F8000, 0x7F7F8001, 0x7F7FFFFF}
    for exponent in range(-149, 128, 4):
        chosen.update(with_neighbours(bits(float(Fraction(2) ** exponent))))
    for base in (0x3F800000, 0x3F810000, 0x00000000, 0x00010000, 0x00800000, 0x007F0000, 0x3FFF0000, 0x7F7E0000):
        chosen.update(with_neighbours(base + 0x8000))
    chosen.update(int(w) & 0x7F7FFFFF for w in random_words(5, np.arange(200)))
    lines = []
    for b in sorted(chosen):
        x = np.uint32(b).view(F32)
        got = int(x.astype(BF16).view(np.uint16))
        if np.isfinite(x):
            exact = exact_round(Fraction(float(x)), 7, -126, 127)
            assert bits(float(exact)) >> 16 == got
        lines.append(f"{b:08x} {got:04x}")
    return lines


def amax_inputs(kind: str) -> list:
    chosen = {0, 1, 2, 0x7F800000, 0x7F7FFFFF, 0x7F7F0000, 0x00010000, 0x00800000}
    limit = F32(FP8_MAX[kind])
    overflow = bits(limit / F32(np.finfo(F32).max))  # about where fp8_max / amax leaves f32
    chosen.update(range(overflow - 4, overflow + 5))
    for value in (1e-40, 1.3e-36, 1.4e-36, 1e-30, 1e-4, 1, 3, 448, 57344, 1e30):
        chosen.update(with_neighbours(bits(value)))
    for j in range(-110, 110, 20):
        chosen.update(with_neighbours(bits(float(limit) * 2.0**j)))
    chosen.update(int(w) & 0x7F7F0000 for w in random_words(9, np.arange(40)))
    return sorted(chosen)


def scales() -> list:
    lines = []
    for kind in FP8:
        for source in INPUT_MAX:
            for pow2 in (False, True):
                for b in amax_inputs(kind):
                    q, sf = block_scale(from_bits(b), kind, source, pow2)
                    exact_q, exact_sf = exact_block_scale(from_bits(b), kind, source, pow2)
                    assert Fraction(float(q)) == exact_q and Fraction(float(sf)) == exact_sf, (kind, hex(b))
                    assert 0 < sf < INF
                    lines.append(f"{kind} {source} {int(pow2)} {b:08x} {bits(q):08x} {bits(sf):08x}")
    return lines


# row, first column, how many, bf16 bits: special values written over the random tokens
OVERRIDES = [
    (0, 128, 128, 0x0000),  # a block of zeros
    (1, 0, 128, 0x8000),  # of negative zeros
    (3, 5, 1, 0x7F80),  # +infinity
    (4, 300, 1, 0x7FC0),  # NaN
    (5, 2879, 1, 0xFFC1),  # negative NaN in the partial block
    (6, 256, 128, 0x7FC0),  # nothing but NaN
    (7, 1024, 1, 0xFF80),  # -infinity
    (8, 128, 128, 0x0001),  # smallest subnormals: q overflows
    (9, 128, 128, 0x8040),
    (10, 2816, 63, 0x0000),  # a partial block with one large element
    (10, 2879, 1, 0x7F7F),
    (129, 2816, 64, 0x0000),
]


def check_block(x: np.ndarray, data: np.ndarray, q, kind: str):
    """A block's data against exact arithmetic: one f32 rounding of x * q, then one of the cast."""
    for element, byte in zip(x.astype(np.float64).ravel(), data.ravel()):
        product = float(exact_f32(Fraction(element) * Fraction(float(q)))) if np.isfinite(element) else element
        if product == 0:
            product = np.copysign(0.0, element)
        assert EXACT[kind].cast(product) == byte


def quantize(x: np.ndarray, block_rows: int, kind: str, pow2: bool, check_every: int):
    """(data, sf [row blocks][column blocks]) of one matrix."""
    rows, columns = x.shape
    data = np.empty(x.shape, np.uint8)
    sf = np.empty((-(-rows // block_rows), -(-columns // 128)), F32)
    for i in range(sf.shape[0]):
        for j in range(sf.shape[1]):
            where = np.s_[i * block_rows : (i + 1) * block_rows, j * 128 : (j + 1) * 128]
            block = x[where].astype(F32)
            amax = float(np.max(np.where(np.isnan(block), F32(0), np.abs(block))))
            q, sf[i, j] = block_scale(amax, kind, "bf16", pow2)
            assert Fraction(float(q)) == exact_block_scale(amax, kind, "bf16", pow2)[0]
            data[where] = cast_fp8(block * q, kind)
            if (i * sf.shape[1] + j) % check_every == 0:
                check_block(block, data[where], q, kind)
    return data, sf


def quantize_tokens() -> list:
    rows, columns, seed, ld = 130, 2880, 7, 132
    x = random_matrix(rows, columns, seed, 1)
    lines = [f"problem {rows} {columns} {seed}"]
    for row, column, count, value in OVERRIDES:
        lines.append(f"set {row} {column} {count} {value:04x}")
    lines += [f"input {row} {h:016x}" for row, h in enumerate(digest(x))]
    for row, column, count, value in OVERRIDES:
        x[row, column : column + count] = np.uint16(value).view(BF16)
    for kind, pow2 in (("e4m3", False), ("e4m3", True), ("e5m2", False)):
        data, sf = quantize(x, 1, kind, pow2, 7)
        scales_in_memory = np.ones((sf.shape[1], ld), F32)
        scales_in_memory[:, :rows] = sf.T
        lines += [f"data {kind} {int(pow2)} {i} {h:016x}" for i, h in enumerate(digest(data))]
        lines += [f"sf {kind} {int(pow2)} {i} {h:016x}" for i, h in enumerate(digest(scales_in_memory))]
    return lines


def quantize_weights() -> list:
    groups, rows, columns, seed = 2, 130, 2880, 11
    lines = [f"problem {groups} {rows} {columns} {seed}"]
    x = [random_matrix(rows, columns, seed, 128, g) for g in range(groups)]
    lines += [f"input {row} {h:016x}" for row, h in enumerate(digest(np.concatenate(x)))]
    for kind, pow2 in (("e4m3", False), ("e4m3", True)):
        parts = [quantize(m, 128, kind, pow2, 17) for m in x]
        data, sf = (np.concatenate(p) for p in zip(*parts))
        lines += [f"data {kind} {int(pow2)} {i} {h:016x}" for i, h in enumerate(digest(data))]
        lines += [f"sf {kind} {int(pow2)} {i} {h:016x}" for i, h in enumerate(digest(sf))]
    return lines


def fp8_bytes(seed: int, count: int, kind: str) -> np.ndarray:
    """Low bytes of random words, with NaN and infinity replaced by 0."""
    data = (random_words(seed, np.arange(count)) & np.uint64(0xFF)).astype(np.uint8)
    return np.where((data & 0x7F) < len(EXACT[kind].values), data, np.uint8(0))


def scale_values(seed: int, count: int, pow2: bool) -> np.ndarray:
    """f32 in [2^-4, 2^4): exponent from the top three bits of a word, mantissa from its low 23."""
    words = random_words(seed, np.arange(count))
    exponent = ((words >> np.uint64(61)) + np.uint64(123)).astype(np.uint32)
    mantissa = np.zeros(count, np.uint32) if pow2 else (words & np.uint64(0x7FFFFF)).astype(np.uint32)
    return (exponent << np.uint32(23) | mantissa).view(F32)


def gemm() -> list:
    sizes, capacity, n, k = (3, 0, 2), 7, 136, 272
    ld, k_blocks, n_blocks, groups = 8, -(-k // 128), -(-n // 128), len(sizes)
    lines = [f"problem {groups} {capacity} {n} {k}", "sizes " + " ".join(map(str, sizes))]
    cases = [("e4m3", "e4m3", True), ("e4m3", "e4m3", False), ("e5m2", "e4m3", False)]
    for case, (a_kind, b_kind, pow2) in enumerate(cases):
        seed = 100 * (case + 1)
        a = fp8_bytes(seed, capacity * k, a_kind).reshape(capacity, k)
        b = fp8_bytes(seed + 1, groups * n * k, b_kind).reshape(groups, n, k)
        sfa = scale_values(seed + 2, k_blocks * ld, pow2).reshape(k_blocks, ld)
        sfb = scale_values(seed + 3, groups * n_blocks * k_blocks, pow2).reshape(groups, n_blocks, k_blocks)
        lines.append(f"case {a_kind} {b_kind} {int(pow2)} {seed}")
        lines += gemm_rows(sizes, a.view(FP8[a_kind]), b.view(FP8[b_kind]), sfa, sfb, pow2)
    return lines


def gemm_rows(sizes, a, b, sfa, sfb, exact_in_f64: bool) -> list:
    """`row` lines: each element the exact rational value, rounded once to f64."""
    # Every FP8 value is a multiple of 2^-16, so the sum of products is an integer over 2^32; Python's do not overflow.
    a_int = (a.astype(np.float64) * 2**16).astype(np.int64).astype(object)
    b_int = (b.astype(np.float64) * 2**16).astype(np.int64).astype(object)
    lines, row = [], 0
    for group, size in enumerate(sizes):
        for _ in range(size):
            values = []
            for column in range(b.shape[1]):
                total = Fraction(0)
                for block in range(sfa.shape[0]):
                    where = np.s_[block * 128 : (block + 1) * 128]
                    products = int(np.dot(a_int[row, where], b_int[group, column, where]))
                    scale = Fraction(float(sfa[block, row])) * Fraction(float(sfb[group, column // 128, block]))
                    total += Fraction(products, 2**32) * scale
                assert not exact_in_f64 or Fraction(float(total)) == total
                values.append(struct.unpack("<Q", struct.pack("<d", float(total)))[0])
            lines.append(f"row {group} {row} " + " ".join(f"{v:016x}" for v in values))
            row += 1
    return lines


def main():
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent
    write(directory, "fp8_values.txt", "type, byte, value as f32 bits", fp8_values())
    write(directory, "casts.txt", "type, f32 bits, FP8 byte; a negated input gives the byte | 80", casts())
    write(directory, "bf16.txt", "f32 bits, bf16 bits", bf16_casts())
    write(directory, "scales.txt", "output type, input type, power of two, amax, q, sf as f32 bits", scales())
    hashed = "FNV-1a of each row of input, data, sf"
    write(directory, "quantize_tokens.txt", f"1x128 of [rows][columns]: {hashed}", quantize_tokens())
    write(directory, "quantize_weights.txt", f"128x128 of [G][rows][columns]: {hashed}", quantize_weights())
    write(directory, "gemm.txt", "row: group, row, D as f64 bits, rounded once from the exact value", gemm())


if __name__ == "__main__":
    main()
