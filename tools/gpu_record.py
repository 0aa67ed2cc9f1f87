#!/usr/bin/env python3
"""The GPU record: what tools/gpu_check.sh measured, as one JSON file.

gpu_record.py write WORK --digest D --record FILE   sum up the phases in WORK, write the record, exit 1 if not all is well
gpu_record.py partial WORK                          the same without a record, for a run that left phases out
gpu_record.py status FILE D                         say whether the record is of the sources with digest D

WORK holds, as far as a phase ran: NAME.status (exit status, 124: out of time), NAME.log, tests*.xml (Catch2's XML
reporter; the tests may be spread over any number of reports), bench.json (octet-bench), device.csv (nvidia-smi: name,
driver).
"""

import argparse
import datetime
import json
import pathlib
import re
import sys
import textwrap
import xml.etree.ElementTree as ElementTree

# What Catch2 says about a failure, in the order in which it says it.
FAILURE_TAGS = ("Info", "Warning", "Expression", "Exception", "Failure", "FatalErrorCondition")
BENCH_KEYS = ("table", "name", "g", "m", "n", "k", "rows", "us", "tflops", "gbps", "config")
SUMMARIES = {
    "memcheck": re.compile(r"ERROR SUMMARY: (\d+) error"),
    "racecheck": re.compile(r"RACECHECK SUMMARY: (\d+) hazard"),
}


def read(path):
    return path.read_text(errors="replace") if path.exists() else ""


def exit_status(work, phase):
    """None when the phase did not run."""
    text = read(work / f"{phase}.status").strip()
    return int(text) if text else None


# --- Tests ------------------------------------------------------------------------------------------------------------


def outcome(case):
    """passed, failed or skipped. Catch2 2 has no SKIP: there a test warns "skipped: why" and returns."""
    overall = case.find("OverallResult")
    if overall is None or overall.get("success") != "true":
        return "failed"  # no result: the run ended inside this test
    warned = any((warning.text or "").strip().lower().startswith("skipped") for warning in case.iter("Warning"))
    return "skipped" if warned or overall.get("skips", "0") != "0" else "passed"


def worst(outcomes):
    return min(outcomes, key=("failed", "skipped", "passed").index)


def text_of(element):
    lines = (line.strip() for line in "".join(element.itertext()).splitlines())
    return "\n".join(line for line in lines if line)


def read_report(path):
    """[(name, tags, outcome, what failed)], also from a report that breaks off."""
    parser = ElementTree.XMLPullParser(["start", "end"])
    cases, opened = [], {}

    def finish(case):
        result = outcome(case)
        failures = [text_of(part) for part in case.iter()
                    if part.tag in FAILURE_TAGS and part.get("success") != "true"]
        cases.append((case.get("name"), case.get("tags", ""), result, failures if result == "failed" else []))

    try:
        parser.feed(read(path))
        for event, element in parser.read_events():
            if element.tag != "TestCase":
                continue
            if event == "start":
                opened[id(element)] = element
            else:
                del opened[id(element)]
                finish(element)
    except ElementTree.ParseError:
        pass  # what came before the damage counts
    for case in opened.values():
        finish(case)
    return cases


def read_cases(work):
    """The cases of all reports. One that stands in several, since its work was shared, counts once: the worst."""
    merged = {}
    for path in sorted(work.glob("tests*.xml")):
        for name, tags, result, failures in read_report(path):
            _, tags_before, result_before, failures_before = merged.get(name, (name, "", result, []))
            merged[name] = (name, tags_before or tags, worst((result_before, result)), failures_before + failures)
    return list(merged.values())


def count(cases, status):
    counts = {key: sum(result == key for _, _, result, _ in cases) for key in ("passed", "failed", "skipped")}
    # A run that dies outside every test, or runs none, has not passed.
    if counts["failed"] == 0 and (status != 0 or not cases):
        counts["failed"] = 1
    return counts


def named_regressions(cases):
    """A regression is named by test cases tagged [named] whose names start with "<regression>:"; the worst counts."""
    named = {}
    for name, tags, result, _ in cases:
        if "[named]" in tags:
            key = name.split(":", 1)[0]
            named[key] = worst((named.get(key, result), result))
    return named


CELLS = re.compile(r"^(.+): (\d+) cells accepted, (\d+) refused", re.M)
FUZZ = re.compile(r"^fuzz: (\d+) problems accepted, (\d+) refused; OCTET_FUZZ_SEED=(\d+) OCTET_FUZZ_COUNT=(\d+)", re.M)


def coverage(work):
    """What the tests print beside their reports: cells of recipe, direction and activation, and the fuzzer's draws."""
    # Catch2 2 puts what a test prints into its report, Catch2 3 leaves it where it was printed.
    paths = sorted([*work.glob("tests*.log"), *work.glob("tests*.xml")])
    logs = "\n".join(read(path) for path in paths)
    cells = {name: {"accepted": int(accepted), "refused": int(refused)} for name, accepted, refused in CELLS.findall(logs)}
    draws = FUZZ.findall(logs)
    fuzz = {"problems": sum(int(draw[0]) for draw in draws), "refused": sum(int(draw[1]) for draw in draws),
            "seeds": {draw[2]: int(draw[3]) for draw in draws}}
    return {"cells": cells, "fuzz": fuzz}


# --- Sanitizers, benchmark --------------------------------------------------------------------------------------------


def verdict(work, tool):
    status, log = exit_status(work, tool), read(work / f"{tool}.log")
    if status is None:
        return "not installed"
    if status == 124:
        return "out of time"
    found = SUMMARIES[tool].search(log)
    if found and int(found.group(1)):
        return f"{found.group(1)} {'errors' if tool == 'memcheck' else 'hazards'}"
    if status != 0:
        return f"exit status {status}"
    if not found or re.search(r"No tests ran|No test cases matched", log):
        return "nothing was checked"
    return "clean"


def read_bench(path):
    """octet-bench's report; a missing or damaged one is empty."""
    try:
        report = json.loads(read(path))
        for row in report["bench"]:
            missing = [key for key in BENCH_KEYS if key not in row]
            if missing:
                raise ValueError(f"a row lacks {', '.join(missing)}: {row}")
        return report
    except (ValueError, KeyError, TypeError) as error:
        print(f"no benchmark in the record: {error!r}")
        return {}


def bar_text(row):
    """What a row missed, where its bar is not a share of the copy yardstick."""
    if "allowed_us" in row:
        return f" of {row['allowed_us']:.2f} allowed"
    if row.get("limit") is not None:
        return f", {row['us'] / row['peer_us']:.3f} of the peer's time, {row['limit']:.3f} allowed"
    if "tflops_bar" in row:
        return f", {row['tflops']:.0f} TFLOPS of {row['tflops_bar']:.0f}"
    return ""


def slow_rows(record):
    """Rows that octet-bench, which knows every bar, did not pass."""
    return [row for row in record["bench"] if not row.get("pass", True)]


# --- The record -------------------------------------------------------------------------------------------------------


def summarize(work, digest):
    cases = read_cases(work)
    bench = read_bench(work / "bench.json")
    device, _, driver = read(work / "device.csv").partition("\n")[0].partition(",")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device": device.strip() or bench.get("device", "unknown"),
        "driver": driver.strip() or bench.get("driver", "unknown"),
        "nvrtc": ".".join(bench.get("nvrtc", "unknown").split(".")[:2]),
        "digest": digest,
        "tests": count(cases, exit_status(work, "tests")),
        "sanitizers": {tool: verdict(work, tool) for tool in SUMMARIES},
        "named": named_regressions(cases),
        **coverage(work),
        "yardsticks": bench.get("yardsticks", {}),
        "bench": bench.get("bench", []),
    }


def problems(work, record, ran):
    """One line for everything that is not as it should be, among the phases in `ran`."""
    lines = []
    if "tests" in ran:
        for name, _, result, failures in read_cases(work):
            if result == "failed":
                lines.append(textwrap.indent("\n".join([f"test failed: {name}", *failures]), " " * 6).lstrip())
        if record["tests"]["failed"] and not lines:
            lines.append(f"the tests ended with exit status {exit_status(work, 'tests')}")
    lines += [f"{tool}: {text}" for tool, text in record["sanitizers"].items() if tool in ran and text != "clean"]
    if "bench" in ran and (exit_status(work, "bench") != 0 or not record["bench"]):
        lines.append(f"the benchmark ended with exit status {exit_status(work, 'bench')}")
    return lines


def one_row_a_line(record):
    """JSON whose benchmark rows take a line each, so that a diff of two records reads well."""
    rows = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in record["bench"])
    text = json.dumps({**record, "bench": []}, indent=2, ensure_ascii=False)
    return text.removesuffix("[]\n}") + (f"[\n{rows}\n  ]\n}}\n" if rows else "[]\n}\n")


def report(work, record, ran):
    tests = record["tests"]
    if "tests" in ran:
        print(f"   tests: {tests['passed']} passed, {tests['failed']} failed, {tests['skipped']} skipped")
    for row in slow_rows(record):
        rows = f" ~{row['m']} rows each" if row.get("m") and row["table"] != "quantize" else ""
        print(f"   misses its bar: {row['name']}{rows} ({row['us']} us{bar_text(row)}, {row['gbps']} GB/s)")
    lines = problems(work, record, ran)
    for line in lines:
        print(f"   {line}")
    return 1 if lines else 0


def write(arguments):
    record = summarize(arguments.work, arguments.digest)
    arguments.record.write_text(one_row_a_line(record))
    print(f"   {arguments.record} written")
    return report(arguments.work, record, ("tests", *SUMMARIES, "bench"))


def partial(arguments):
    ran = [phase for phase in ("tests", *SUMMARIES, "bench") if exit_status(arguments.work, phase) is not None]
    print(f"   no record: of its phases only these ran: {', '.join(ran) or 'none'}")
    return report(arguments.work, summarize(arguments.work, ""), ran)


def status(arguments):
    """Always 0: whether the record must be current is not for a machine without a GPU to say."""
    if not arguments.record.exists():
        print(f"   there is no {arguments.record}; run tools/gpu_check.sh on a GPU")
        return 0
    record = json.loads(arguments.record.read_text())
    tests = record["tests"]
    of = f"{record['device']}, {record['date']}: {tests['passed']} passed, {tests['failed']} failed"
    if record["digest"] == arguments.digest:
        print(f"   {arguments.record} is current ({of})")
    else:
        print(f"   {arguments.record} is of other sources ({of}); run tools/gpu_check.sh on a GPU")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("write")
    command.add_argument("work", type=pathlib.Path)
    command.add_argument("--digest", required=True)
    command.add_argument("--record", type=pathlib.Path, required=True)
    command.set_defaults(run=write)
    command = commands.add_parser("partial")
    command.add_argument("work", type=pathlib.Path)
    command.set_defaults(run=partial)
    command = commands.add_parser("status")
    command.add_argument("record", type=pathlib.Path)
    command.add_argument("digest")
    command.set_defaults(run=status)
    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
