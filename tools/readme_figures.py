#!/usr/bin/env python3
"""Writes the figures of README.md, "Measured", from the GPU record, so that they are those of one run.

readme_figures.py [--check] [README RECORD]

  --check   write nothing; exit with 1 and say which lines are of another record
"""

import argparse
import dataclasses
import difflib
import json
import pathlib
import re
import sys
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent

QUANTIZERS = {
    "`1x128` along rows": "out=e4m3:1x128",
    "`1x128` along rows and columns": "out=e4m3:1x128 dir=row,col",
    "SwiGLU, then `1x128` along rows": "act=swiglu out=e4m3:1x128",
    "SwiGLU backward, then both": "act=swiglu out=e4m3:1x128 dir=row,col +grad",
    "`tensor`, scale given": "out=e4m3:tensor +given",
    "`1x32` along rows": "out=e4m3:1x32",
    "`1x32` along rows and columns": "out=e4m3:1x32 dir=row,col",
    "`row` along columns": "out=e4m3:row dir=col",
}
PAIR = "gemm.packed g8 n6144 k7168 a=e4m3:{0} b=e4m3:{0} d=bf16"
MX = "{} a=e4m3:1x32 b=e4m3:1x32 d=bf16"
RECIPES = {
    "`tensor` by `tensor`, eight groups of ~4096, N = 6144, K = 7168": (PAIR.format("tensor"), ""),
    "`row` by `row`, the same": (PAIR.format("row"), ""),
    "`1x128` by `1x128`, the same": (PAIR.format("1x128"), ""),
    "MX `1x32` by `1x32`, dense 8192³, its pass counted": (MX.format("gemm.dense g1 n8192 k8192"), "cl1x2"),
    "the same without a workspace": (MX.format("gemm.dense g1 n8192 k8192"), "direct"),
    "MX masked, 32 groups of ~20, N = 6144, K = 7168": (MX.format("gemm.masked g32 m512 n6144 k7168"), ""),
    "wgrad `1x128` by `128x128`, eight groups, N = 4096, K = 7168":
        ("wgrad.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=f32 +acc", ""),
}
LAYERS = {
    "DeepSeek-V3, 8 experts": "g8 h7168 i2048",
    "DeepSeek-V3, 32 experts": "g32 h7168 i2048",
    "Qwen3-235B, 16 experts": "g16 h4096 i1536",
    "Mixtral, 8 experts": "g8 h4096 i14336",
}


class Record:
    def __init__(self, text):
        self.all = json.loads(text)
        self.copy = self.all["yardsticks"]["copy_gbps"]
        self.tflops = self.all["yardsticks"]["cublaslt_fp8_8192_tflops"]

    def of(self, table):
        return [row for row in self.all["bench"] if row["table"] == table]

    def one(self, table, name, config="", even=None):
        """The row of that problem; `even`: whether its groups are all of one size."""
        rows = [row for row in self.of(table) if row["name"] == name and config in row["config"]
                and (even is None or (row["m"] is not None) == even)]
        if len(rows) != 1:
            raise SystemExit(f"readme_figures.py: the record has {len(rows)} rows {table} '{name}' {config}")
        return rows[0]

    def quantizer(self, rest, columns, groups=8):
        return self.one("quantize", f"quantize.packed g{groups} c{columns} in=bf16 {rest}", even=True)


def microseconds(row):
    return f"{row['us']:.1f}" if row["us"] < 100.05 else f"{row['us']:.0f}"


def line(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def against_peer(table, problem, figure="tflops"):
    """Lines of a table with a peer's time: the problem's cells, `figure` of the record, and the ratio to the peer."""
    def lines(record):
        return [line(problem.format(**row), microseconds(row), f"{row[figure]:.0f}",
                     f"{row['us'] / row['peer_us']:.2f}") for row in record.of(table)]
    return lines


def recipes(record):
    rows = {what: record.one("recipes", *which) for what, which in RECIPES.items()}
    return [line(what, microseconds(row), f"{row['tflops']:.0f}") for what, row in rows.items()]


def quantizers(record):
    def share(row):
        return f"{row['gbps'] / record.copy:.2f}"

    def cell(row):
        return f"{share(row)} ({microseconds(row)} µs)"

    lines = [line(what, *(cell(record.quantizer(rest, columns)) for columns in (7168, 2048)))
             for what, rest in QUANTIZERS.items()]
    current = "out=e4m3:tensor"
    many, few = record.quantizer(current, 7168, groups=32), record.quantizer(current, 7168)
    return lines + [line("`tensor`, scale of the data (read twice, counted once)",
                         f"{cell(many)}, 32 groups; {share(few)} with eight", cell(record.quantizer(current, 2048)))]


def layers(record):
    lines = []
    for what, sizes in LAYERS.items():
        rows = [row for row in record.of("mlp") if f" {sizes} " in row["name"]]
        lines.append(line(what, *(f"{microseconds(row)} µs" for row in rows)))
    return lines


@dataclasses.dataclass
class Table:
    head: str  # how its first line begins
    lines: Callable


TABLES = [
    Table("| forward: G,", against_peer("packed", "{g}, ~{m} | {n}, {k}")),
    Table("| masked: G,", against_peer("masked", "{g}, ~{m} | {n}, {k}", "gbps")),
    Table("| wgrad, f32 D", against_peer("wgrad", "{g}, {rows} | {n}, {k}")),
    Table("| dense: M,", against_peer("dense", "{rows}, {n}, {k}")),
    Table("| recipes that no peer", recipes),
    Table("| quantizer, bf16 in", quantizers),
    Table("| MLP as a plan", layers),
]


def with_table(lines, table, record):
    first = next((at for at, text in enumerate(lines) if text.startswith(table.head)), None)
    if first is None:
        raise SystemExit(f"readme_figures.py: no table '{table.head}…'")
    end = first
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    return lines[:first + 2] + table.lines(record) + lines[end:]


def with_sentences(text, record):
    weights = record.one("quantize", "quantize.uniform g8 n7168 k7168 in=bf16 out=e4m3:128x128")
    plain = record.one("quantize", "quantize.packed g256 c7168 in=bf16 out=e4m3:1x128")
    swiglu = record.one("quantize", "quantize.packed g256 c7168 in=bf16 act=swiglu out=e4m3:1x128")
    for pattern, figures in [
            (r"\(\d+ TFLOPS here\)", f"({record.tflops:.0f} TFLOPS here)"),
            (r"same bytes \(\d+ GB/s\)", f"same bytes ({record.copy:.0f} GB/s)"),
            (r"reach [\d.]+ \(\d+ µs\)", f"reach {weights['gbps'] / record.copy:.2f} ({microseconds(weights)} µs)"),
            (r"take [\d.]+ µs, [\d.]+ µs with SwiGLU",
             f"take {plain['us']:.1f} µs, {swiglu['us']:.1f} µs with SwiGLU"),
            (r"driver [\d.]+, NVRTC [\d.]+", f"driver {record.all['driver']}, NVRTC {record.all['nvrtc']}")]:
        text, count = re.subn(pattern, figures, text)
        if count != 1:
            raise SystemExit(f"readme_figures.py: {count} places like '{pattern}'")
    return text


def with_figures(text, record):
    lines = text.splitlines(keepends=True)
    for table in TABLES:
        lines = with_table(lines, table, record)
    return with_sentences("".join(lines), record)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("readme", nargs="?", type=pathlib.Path, default=ROOT / "README.md")
    parser.add_argument("record", nargs="?", type=pathlib.Path, default=ROOT / "tests/gpu/record.json")
    arguments = parser.parse_args()
    old = arguments.readme.read_text(encoding="utf-8")
    new = with_figures(old, Record(arguments.record.read_text(encoding="utf-8")))
    if not arguments.check:
        arguments.readme.write_text(new, encoding="utf-8")
        return 0
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True),
                                               arguments.readme.name, arguments.record.name))
    if old != new:
        print(f"{arguments.readme.name} has figures of another record; run tools/readme_figures.py", file=sys.stderr)
    return 0 if old == new else 1


if __name__ == "__main__":
    sys.exit(main())
