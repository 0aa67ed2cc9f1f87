#!/usr/bin/env python3
"""Tests of the scripts in tools/: the GPU record and its digest, README's figures, and what deps.sh says."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import gpu_record  # noqa: E402

CASE = '<TestCase name="{}" tags="{}"><OverallResult success="{}"/></TestCase>'
ROW = {"table": "packed", "name": "p", "g": 8, "m": 4096, "n": 6144, "k": 7168, "rows": 33464, "us": 2175.0,
       "tflops": 1355.0, "gbps": 390.0, "config": "c", "bar": None}


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)


class Record(Scratch):
    def phase(self, name, status=0, log=""):
        (self.work / f"{name}.status").write_text(f"{status}\n")
        (self.work / f"{name}.log").write_text(log)

    def tests(self, *cases, status=0, end="</Group></Catch>", report="tests.xml"):
        self.phase("tests", status)
        (self.work / report).write_text('<?xml version="1.0"?><Catch><Group>' + "".join(cases) + end)

    def all_well(self):
        self.tests(CASE.format("g1-padded-buffer: NaN free", "[gemm][named]", "true"), CASE.format("b", "", "true"))
        self.phase("memcheck", log="ERROR SUMMARY: 0 errors\n")
        self.phase("racecheck", log="RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n")
        self.phase("bench")
        self.bench([ROW])
        (self.work / "device.csv").write_text("NVIDIA H200, 580.1\n")

    def bench(self, rows):
        (self.work / "bench.json").write_text(
            json.dumps({"nvrtc": "13.0.88", "yardsticks": {"copy_gbps": 4000.0}, "bench": rows}))

    def write(self):
        """(exit status, the record, what was printed), through the command line."""
        record = self.work / "record.json"
        done = subprocess.run([sys.executable, ROOT / "tools/gpu_record.py", "write", self.work, "--digest", "abc",
                               "--record", record], capture_output=True, text=True, check=False)
        return done.returncode, json.loads(record.read_text()), done.stdout + done.stderr

    def test_all_well(self):
        self.all_well()
        (self.work / "tests-001.log").write_text("recipes, packed: 46 cells accepted, 2 refused\n")
        for number, seed in ((2, 7), (3, 9)):
            (self.work / f"tests-00{number}.log").write_text(
                f"fuzz: 30 problems accepted, 4 refused; OCTET_FUZZ_SEED={seed} OCTET_FUZZ_COUNT=30\n")
        status, record, printed = self.write()
        self.assertEqual(status, 0, printed)
        self.assertEqual(list(record), ["date", "device", "driver", "nvrtc", "digest", "tests", "sanitizers", "named",
                                        "cells", "fuzz", "yardsticks", "bench"])
        self.assertRegex(record.pop("date"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(record, {
            "device": "NVIDIA H200", "driver": "580.1", "nvrtc": "13.0", "digest": "abc",
            "tests": {"passed": 2, "failed": 0, "skipped": 0},
            "sanitizers": {"memcheck": "clean", "racecheck": "clean"}, "named": {"g1-padded-buffer": "passed"},
            "cells": {"recipes, packed": {"accepted": 46, "refused": 2}},
            "fuzz": {"problems": 60, "refused": 8, "seeds": {"7": 30, "9": 30}},
            "yardsticks": {"copy_gbps": 4000.0}, "bench": [ROW]})

    def test_failed_test_is_named_with_what_it_saw(self):
        self.all_well()
        self.tests('<TestCase name="graph-replay-new-splits: i64" tags="[named]"><Expression success="false"><Expanded>'
                   ' 1 == 2 </Expanded></Expression><OverallResult success="false"/></TestCase>',
                   CASE.format("graph-replay-new-splits: i32", "[named]", "true"), status=1)
        status, record, printed = self.write()
        self.assertEqual(status, 1)
        self.assertEqual(record["tests"], {"passed": 1, "failed": 1, "skipped": 0})
        self.assertEqual(record["named"], {"graph-replay-new-splits": "failed"})
        self.assertIn("1 == 2", printed)

    def test_report_that_breaks_off_counts_its_open_test_as_failed(self):
        self.all_well()
        self.tests(CASE.format("a", "", "true"), '<TestCase name="hangs" tags=""><Section name="x">', status=124, end="")
        status, record, printed = self.write()
        self.assertEqual((status, record["tests"]), (1, {"passed": 1, "failed": 1, "skipped": 0}))
        self.assertIn("hangs", printed)

    def test_crash_outside_every_test_and_an_empty_run_have_failed(self):
        self.all_well()
        self.tests(CASE.format("a", "", "true"), status=139)
        self.assertEqual(self.write()[0], 1)
        self.assertEqual(self.write()[1]["tests"]["failed"], 1)
        self.tests()
        self.assertEqual(self.write()[1]["tests"], {"passed": 0, "failed": 1, "skipped": 0})

    def test_all_reports_count_and_a_test_in_several_counts_once(self):
        self.all_well()
        self.tests(CASE.format("fuzz", "", "true"), report="tests-001.xml")
        self.tests(CASE.format("fuzz", "", "false"), report="tests-002.xml")
        self.tests('<TestCase name="g1-padded-buffer: crashes" tags="[named]">', end="", report="tests-003.xml")
        self.tests('<TestCase name="g1-padded-buffer: crashes" tags="[named]"><Failure> killed by SIGSEGV </Failure>'
                   '<OverallResult success="false"/></TestCase>', report="tests-003-process.xml", status=1)
        self.tests(CASE.format("fuzz", "", "true"), report="tests-004.xml", status=1)
        status, record, printed = self.write()
        self.assertEqual((status, record["tests"]), (1, {"passed": 2, "failed": 2, "skipped": 0}))
        self.assertEqual(record["named"], {"g1-padded-buffer": "failed"})
        self.assertIn("killed by SIGSEGV", printed)

    def test_failure_is_printed_line_by_line_with_what_the_test_told_before(self):
        self.all_well()
        self.tests('<TestCase name="a" tags=""><Info>\n  OCTET_TEST_SEED=7\n  second </Info>'
                   '<Expression success="false"><Expanded> 1 == 2 </Expanded></Expression>'
                   '<OverallResult success="false"/></TestCase>', status=1)
        self.assertIn("test failed: a\n      OCTET_TEST_SEED=7\n      second\n      1 == 2\n", self.write()[2])

    def test_skipped_in_both_dialects(self):
        self.all_well()
        self.tests('<TestCase name="a" tags=""><Warning> skipped: two GPUs needed </Warning>'
                   '<OverallResult success="true"/></TestCase>',
                   '<TestCase name="b" tags=""><OverallResult success="true" skips="1"/></TestCase>')
        self.assertEqual(self.write()[1]["tests"], {"passed": 0, "failed": 0, "skipped": 2})

    def test_sanitizer_verdicts(self):
        for status, log, expected in ((86, "ERROR SUMMARY: 3 errors", "3 errors"), (124, "", "out of time"),
                                      (1, "ERROR SUMMARY: 0 errors", "exit status 1"),
                                      (0, "No tests ran\nERROR SUMMARY: 0 errors", "nothing was checked"),
                                      (0, "", "nothing was checked")):
            self.all_well()
            self.phase("memcheck", status, log)
            code, record, _ = self.write()
            self.assertEqual((code, record["sanitizers"]["memcheck"]), (1, expected))
        self.all_well()
        (self.work / "racecheck.status").unlink()
        code, record, _ = self.write()
        self.assertEqual((code, record["sanitizers"]["racecheck"]), (1, "not installed"))

    def test_benchmark_that_failed_leaves_no_rows(self):
        self.all_well()
        for text in ("", "{", '{"bench": [{"table": "packed"}]}', '{"yardsticks": {}}'):
            (self.work / "bench.json").write_text(text)
            code, record, _ = self.write()
            self.assertEqual((code, record["bench"], record["yardsticks"]), (1, [], {}), text)

    def test_row_that_misses_its_bar_is_shown(self):
        self.all_well()
        self.bench([{**ROW, "name": "slow", "pass": False}, {**ROW, "name": "quick", "pass": True}])
        status, _, printed = self.write()
        self.assertEqual(status, 0)
        self.assertIn("slow", printed)
        self.assertNotIn("quick", printed)

    def test_missed_bar_says_which(self):
        self.all_well()
        peer = {**ROW, "table": "masked", "name": "decode", "m": 20, "us": 90.0, "peer_us": 80.0, "limit": 0.93}
        wgrad = {**ROW, "table": "wgrad", "name": "wgrad", "m": None, "us": 1900.0, "peer_us": 2000.0, "limit": 0.85}
        recipe = {**ROW, "table": "recipes", "name": "mx", "tflops": 650.0, "tflops_bar": 720.0}
        self.bench([{**row, "pass": False} for row in (peer, wgrad, recipe)])
        status, record, printed = self.write()
        self.assertEqual((status, len(record["bench"])), (0, 3))
        self.assertIn("decode ~20 rows each (90.0 us, 1.125 of the peer's time, 0.930 allowed", printed)
        self.assertIn("wgrad (1900.0 us, 0.950 of the peer's time, 0.850 allowed", printed)
        self.assertIn("mx ~4096 rows each (2175.0 us, 650 TFLOPS of 720", printed)

    def test_row_keeps_what_it_is_judged_by(self):
        self.all_well()
        rows = [{**ROW, "table": "quantize", "bar": 0.97, "pass": True},
                {**ROW, "table": "quantize", "name": "decode", "us": 9.0, "allowed_us": 8.126, "pass": False}]
        self.bench(rows)
        _, record, printed = self.write()
        self.assertEqual(record["bench"], rows)
        self.assertIn("decode (9.0 us of 8.13 allowed", printed)

    def test_status_compares_digests(self):
        self.all_well()
        self.write()
        for digest, expected in (("abc", "is current"), ("abd", "is of other sources")):
            done = subprocess.run([sys.executable, ROOT / "tools/gpu_record.py", "status", self.work / "record.json",
                                   digest], capture_output=True, text=True, check=True)
            self.assertIn(expected, done.stdout)


class Digest(Scratch):
    def setUp(self):
        super().setUp()
        shutil.copytree(ROOT / "tools", self.work / "tools")
        for name in ("templates/a.cu", "runtime/reference/b.cc", "cache/c.cc", "include/d.h", "tests/gpu/e.cc"):
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            (self.work / name).write_text(name)

    def digest(self, **environment):
        return subprocess.run(["bash", self.work / "tools/gpu_check.sh", "--digest"], capture_output=True, text=True,
                              check=True, env={**os.environ, **environment}).stdout

    def test_depends_on_names_and_contents_alone(self):
        before = self.digest()
        self.assertRegex(before, r"^[0-9a-f]{64}\n$")
        (self.work / "tests/gpu/record.json").write_text("{}")
        (self.work / "tests/gpu/__pycache__").mkdir()
        (self.work / "tests/gpu/__pycache__/x.pyc").write_text("")
        os.utime(self.work / "cache/c.cc", (0, 0))
        self.assertEqual(self.digest(LC_ALL="C.UTF-8"), before)
        (self.work / "cache/c.cc").write_text("other")
        changed = self.digest()
        (self.work / "cache/c.cc").rename(self.work / "cache/f.cc")
        self.assertEqual(len({before, changed, self.digest()}), 3)


class GpuCheck(Scratch):
    """The whole script, over stand-ins for what needs a GPU."""

    REPORT = '<Catch><Group>' + CASE.format("g1-padded-buffer: x", "[named]", "true") + "</Group></Catch>"

    def setUp(self):
        super().setUp()
        shutil.copytree(ROOT / "tools", self.work / "tools")
        for folder in ("templates", "runtime", "cache", "include", "tests/gpu"):
            (self.work / folder).mkdir(parents=True)
        self.program("build/bin/octet-gpu-tests", f"""
            case "$*" in
              *"[fuzz]") exit 0 ;;
              --list-test-names-only*) echo 'g1-padded-buffer: x'; exit 1 ;;
            esac
            echo "cache ${{OCTET_CACHE_DIR:?}}, $OCTET_FUZZ_COUNT random problems"
            while [ $# -gt 1 ]; do [ "$1" = --out ] && echo '{self.REPORT}' >"$2"; shift; done""")
        self.program("build/bin/octet-bench", "echo '" + json.dumps(
            {"nvrtc": "13.0.88", "yardsticks": {"copy_gbps": 4000.0}, "bench": [ROW]}) + """' >"$2" """)
        self.stamp()
        self.program("fake/compute-sanitizer", """
            echo "ERROR SUMMARY: 0 errors"; echo "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" """)
        self.program("fake/nvidia-smi", "echo 'NVIDIA H200, 580.1'")

    def program(self, name, text):
        file = self.work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n" + text + "\n")
        file.chmod(0o755)

    def stamp(self, *programs):
        """What the build does after it linked them."""
        for program in programs or ("octet-gpu-tests", "octet-bench"):
            done = self.check("--stamp", self.work / "build/bin" / program)
            self.assertEqual(done.returncode, 0, done.stderr)

    def check(self, *arguments, **environment):
        return subprocess.run(
            ["bash", self.work / "tools/gpu_check.sh", *arguments], capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": f"{self.work / 'fake'}:{os.environ['PATH']}", "OCTET_NVRTC_LIBRARY": "/none",
                 **environment})

    def record(self, folder="tests/gpu"):
        return json.loads((self.work / folder / "record.json").read_text())

    def test_all_phases_make_a_record_of_these_sources(self):
        # A machine that runs a build from elsewhere need not have CUDA's headers.
        done = self.check(self.work / "out", OCTET_IGNORE_TOOLKIT="1", OCTET_NVRTC_LIBRARY="")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        record = self.record()
        self.assertEqual(record, self.record("out"))
        self.assertEqual(record["digest"], self.check("--digest").stdout.strip())
        self.assertEqual((record["device"], record["driver"]), ("NVIDIA H200", "580.1"))
        self.assertEqual(record["tests"], {"passed": 1, "failed": 0, "skipped": 0})
        self.assertEqual(record["sanitizers"], {"memcheck": "clean", "racecheck": "clean"})
        self.assertEqual(record["named"], {"g1-padded-buffer": "passed"})
        self.assertEqual(record["bench"], [ROW])
        self.assertIn("is current", self.check("--status").stdout)

    def test_tests_share_a_cache_and_draw_500_random_problems(self):
        for given, expected in (({}, "500"), ({"OCTET_FUZZ_COUNT": "7"}, "7")):
            done = self.check(self.work / "out", OCTET_GPU_CHECK_SKIP="sanitizer,bench", **given)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex((self.work / "out/tests-001.log").read_text(), f"cache /.*, {expected} random problems")
            self.assertIn("passed   g1-padded-buffer: x", (self.work / "out/tests.log").read_text())

    def refused(self, program):
        done = self.check()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertRegex(done.stderr, f"{program} is not of these sources .* rebuild")
        self.assertFalse((self.work / "tests/gpu/record.json").exists())
        self.assertFalse((self.work / "ran").exists())

    def test_programs_of_other_sources_are_not_run(self):
        for program in ("octet-gpu-tests", "octet-bench"):
            self.program(f"build/bin/{program}", f"touch {self.work}/ran")
        (self.work / "runtime/new.cc").write_text("int x;")
        self.refused("octet-gpu-tests")
        self.stamp("octet-gpu-tests")
        self.refused("octet-bench")
        self.stamp("octet-bench")
        self.check()
        self.assertTrue((self.work / "ran").exists())

    def test_programs_of_unknown_sources_are_not_run(self):
        (self.work / "build/bin/octet-bench.digest").unlink()
        self.refused("octet-bench")

    def test_a_build_folder_of_this_checkout_is_brought_up_to_date(self):
        (self.work / "build/CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.work}\n")
        self.program("fake/cmake", f"""
            [ "$1" = --build ] || exit 0
            for name in octet-gpu-tests octet-bench; do bash tools/gpu_check.sh --stamp "$2/bin/$name"; done""")
        (self.work / "runtime/new.cc").write_text("int x;")
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.record()["digest"], self.check("--digest").stdout.strip())

    def test_templates_from_elsewhere_are_not_what_the_record_is_of(self):
        self.program("build/bin/octet-bench", '[ -z "${OCTET_TEMPLATE_DIR+x}" ] || exit 9')
        self.assertNotIn("exit status 9", self.check(OCTET_TEMPLATE_DIR="/elsewhere").stdout)

    def test_failed_phases_are_in_the_record_and_in_the_exit_status(self):
        self.program("fake/compute-sanitizer", 'echo "ERROR SUMMARY: 2 errors"; exit 86')
        self.program("build/bin/octet-bench", "exit 3")
        done = self.check()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.record()["sanitizers"], {"memcheck": "2 errors", "racecheck": "exit status 86"})
        self.assertEqual(self.record()["bench"], [])
        self.assertEqual(self.record()["tests"]["passed"], 1)
        self.assertIn("the benchmark ended with exit status 3", done.stdout)

    def test_partial_run_writes_no_record_and_still_judges(self):
        done = self.check(OCTET_GPU_CHECK_SKIP="sanitizer,bench")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertFalse((self.work / "tests/gpu/record.json").exists())
        self.program("build/bin/octet-gpu-tests", "exit 1")
        self.assertEqual(self.check(OCTET_GPU_CHECK_SKIP="sanitizer,bench").returncode, 1)


class Readme(Scratch):
    def figures(self, *arguments):
        return subprocess.run([sys.executable, ROOT / "tools/readme_figures.py", *arguments, self.work / "README.md",
                               self.work / "record.json"], capture_output=True, text=True, check=False)

    def setUp(self):
        super().setUp()
        self.record = json.loads((ROOT / "tests/gpu/record.json").read_text())
        shutil.copy(ROOT / "README.md", self.work)

    def with_record(self, *arguments):
        (self.work / "record.json").write_text(json.dumps(self.record))
        return self.figures(*arguments)

    def test_figures_of_another_record_are_found_and_written(self):
        row = next(row for row in self.record["bench"] if row["table"] == "packed")
        row["us"], row["tflops"], row["peer_us"] = 1234.4, 777.4, 2468.8
        self.record["yardsticks"]["copy_gbps"] *= 2
        old = (self.work / "README.md").read_text()
        told = self.with_record("--check")
        self.assertEqual(told.returncode, 1)
        self.assertIn(f"+| {row['g']}, ~{row['m']} | {row['n']}, {row['k']} | 1234 | 777 | 0.50 |\n", told.stdout)
        self.assertIn("run tools/readme_figures.py", told.stderr)
        self.assertEqual((self.work / "README.md").read_text(), old)
        self.assertEqual(self.figures().returncode, 0)
        self.assertIn(f"same bytes ({self.record['yardsticks']['copy_gbps']:.0f} GB/s)",
                      (self.work / "README.md").read_text())
        self.assertEqual(self.figures("--check").returncode, 0)

    def test_a_record_without_a_row_is_refused_by_name(self):
        name = "quantize.packed g8 c2048 in=bf16 out=e4m3:1x32"
        self.record["bench"] = [row for row in self.record["bench"] if row["name"] != name]
        told = self.with_record()
        self.assertEqual(told.returncode, 1)
        self.assertIn(name, told.stderr)


class Deps(Scratch):
    def deps(self, *options, **environment):
        return subprocess.run(["/bin/bash", ROOT / "tools/deps.sh", "--no-install", "--build-dir", self.work, *options],
                              capture_output=True, text=True, check=False, env=environment)

    def test_no_install_lists_what_is_missing_and_changes_nothing(self):
        tools = self.work / "bin"
        tools.mkdir()
        for name in ("dirname", "sed", "head", "awk", "bash"):
            (tools / name).symlink_to(shutil.which(name))
        done = self.deps("--for", "check", PATH=str(tools), OCTET_IGNORE_TOOLKIT="1")
        self.assertEqual(done.returncode, 1, done.stderr)
        for name in ("g++", "cmake", "ninja-build", "libfmt-dev", "catch2", "clang-format", "nvidia-cuda-nvrtc"):
            self.assertIn(name, done.stdout)
        self.assertFalse((self.work / "cuda-wheels").exists())

    def test_unpacked_wheels_serve_instead_of_a_toolkit(self):
        for name in ("include/cuda.h", "include/nvrtc.h", "lib/libnvrtc.so.13"):
            file = self.work / "cuda-wheels/nvidia/cu13" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("")
        done = self.deps(**{**os.environ, "OCTET_IGNORE_TOOLKIT": "1", "OCTET_NVRTC_LIBRARY": ""})
        self.assertNotIn("PyPI", done.stdout)

    def test_unknown_option_is_refused(self):
        self.assertIn("--for cake", self.deps("--for", "cake", **os.environ).stderr)


if __name__ == "__main__":
    unittest.main()
