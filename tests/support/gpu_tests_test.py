#!/usr/bin/env python3
"""Tests of tools/gpu_tests.py, which spreads the GPU tests over processes, on a stand-in for their program."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import gpu_record  # noqa: E402
import gpu_tests  # noqa: E402

# Answers as Catch2 2 does. Its tests are the lines of the file `names`; what one does is the shell script of its name
# in `bodies`, in which `passes` and `fails` write the report.
PROGRAM = r"""#!/bin/sh
cd "$(dirname "$0")" || exit 99
if [ "$1" = --list-test-names-only ]; then
  case ${2:-} in
    '') cat names; exit "$(wc -l <names)" ;;
    '[named]') grep '^named' names; exit "$(grep -c '^named' names)" ;;
    *) grep '^fuzz' names; exit "$(grep -c '^fuzz' names)" ;;
  esac
fi
name=$(printf '%s\n' "$1" | sed 's/\\\(.\)/\1/g') out=$5
printf '%s\n' "$1" >>specs
quoted=$(printf '%s' "$name" | sed 's/"/\&quot;/g')
begin() { printf '<Catch><TestCase name="%s">' "$quoted" >"$out"; }
result() { begin; printf '%s<OverallResult success="%s"/></TestCase></Catch>' "$2" "$1" >>"$out"; }
passes() { result true ''; }
fails() {
  result false '<Info>seed 7</Info><Expression success="false"><Expanded> 1 == 2 </Expanded></Expression>'
  exit 1
}
printf 'begin %s\n' "$name" >>events
. "./bodies/$(printf '%s\n' "$name" | tr -c 'a-zA-Z0-9\n' _)"
printf 'end %s\n' "$name" >>events
"""


class GpuTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.work = self.folder / "work"
        (self.folder / "bodies").mkdir()
        self.work.mkdir()
        (self.folder / "program").write_text(PROGRAM)
        (self.folder / "program").chmod(0o755)
        (self.folder / "names").write_text("")

    def add(self, name, body="passes"):
        with (self.folder / "names").open("a") as names:
            names.write(name + "\n")
        slug = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
        (self.folder / "bodies" / slug).write_text(body + "\n")

    def start(self, *options, **environment):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("OCTET_")}
        return subprocess.Popen(
            [sys.executable, ROOT / "tools/gpu_tests.py", self.folder / "program", self.work, *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**clean, **environment})

    def run_tests(self, *options, **environment):
        """(exit status, what was printed)"""
        process = self.start(*options, **environment)
        printed = process.communicate()[0]
        return process.returncode, printed

    def outcomes(self):
        return {name: outcome for name, _, outcome, _ in gpu_record.read_cases(self.work)}

    def lines(self, file):
        return (self.folder / file).read_text().splitlines()

    def test_each_test_runs_in_a_process_of_its_own(self):
        for i in range(20):
            self.add(f"t{i}", "echo $$ >>pids; passes")
        status, printed = self.run_tests("--jobs", "3")
        self.assertEqual(status, 0, printed)
        self.assertEqual(self.outcomes(), {f"t{i}": "passed" for i in range(20)})
        self.assertEqual(len(set(self.lines("pids"))), 20)
        self.assertRegex(printed, r"20/20 +\d+\.\d s  passed   t\d+\n")

    def test_as_many_at_a_time_as_asked_for(self):
        # Each waits for the other: with one at a time neither would end.
        self.add("x", "touch x; while [ ! -e y ]; do sleep 0.01; done; passes")
        self.add("y", "touch y; while [ ! -e x ]; do sleep 0.01; done; passes")
        status, printed = self.run_tests("--limit", "20", OCTET_GPU_TEST_JOBS="2")
        self.assertEqual(status, 0, printed)
        (self.folder / "x").unlink()
        (self.folder / "y").unlink()
        self.assertEqual(self.run_tests("--limit", "1", OCTET_GPU_TEST_JOBS="1")[0], 124)

    def test_names_are_escaped(self):
        names = ["a, [b] and \\c", "~d", "-e", '"f" g', "plain: h* ~ -"]
        for name in names:
            self.add(name)
        self.assertEqual(self.run_tests("--jobs", "1")[0], 0)
        self.assertEqual(self.lines("specs"), [r"a\, \[b\] and \\c", r"\~d", r"\-e", r'\"f" g', "plain: h* ~ -"])

    def test_those_with_processes_of_their_own_run_alone_and_last(self):
        for name in ("D01: 16", "graph-replay: x", "p", "cache: q", "concurrency: r"):
            self.add(name, "sleep 0.1; passes")
        self.assertEqual(self.run_tests("--jobs", "4")[0], 0)
        events = self.lines("events")
        self.assertEqual(events[:2], ["begin p", "end p"])
        for i in range(0, len(events), 2):
            self.assertEqual(events[i].removeprefix("begin "), events[i + 1].removeprefix("end "))

    def test_long_ones_start_first(self):
        for name in ("p", "activation: q", "fuzz: r"):
            self.add(name)
        self.assertEqual(self.run_tests("--jobs", "1")[0], 0)
        self.assertEqual(self.lines("events")[::2], ["begin fuzz: r", "begin activation: q", "begin p"])

    def test_failure_is_printed_with_what_it_saw(self):
        self.add("good")
        self.add("bad", "echo a trace; fails")
        status, printed = self.run_tests()
        self.assertEqual((status, self.outcomes()), (1, {"good": "passed", "bad": "failed"}))
        self.assertRegex(printed, r"failed   bad\n +seed 7\n +1 == 2\n +a trace\n")
        self.assertFalse(list(self.work.glob("*-process.xml")))
        self.assertEqual(len(list(self.work.glob("*.log"))), 1)

    def test_a_process_that_dies_is_a_failed_test_and_the_rest_goes_on(self):
        deaths = {"before any report": "kill -SEGV $$", "inside": "begin; exit 3", "early": "begin; exit 0",
                  "after its result": "passes; kill -ABRT $$", "at its end": "passes; exit 9",
                  "named: silent": "exit 0"}
        for name, body in deaths.items():
            self.add(name, body)
        self.add("good")
        status, printed = self.run_tests("--jobs", "2")
        self.assertEqual((status, self.outcomes()), (1, {**dict.fromkeys(deaths, "failed"), "good": "passed"}))
        for text in ("killed by SIGSEGV", "killed by SIGABRT", "exit status 9", "exit status 0"):
            self.assertIn(text, printed)
        named = gpu_record.named_regressions(gpu_record.read_cases(self.work))
        self.assertEqual(named, {"named": "failed"})

    def test_skipped(self):
        self.add("two GPUs", "result true '<Warning> skipped: one GPU </Warning>'")
        self.add("Catch2 3", "begin; echo '<OverallResult success=\"true\" skips=\"1\"/></TestCase>' >>$out; exit 4")
        status, printed = self.run_tests()
        self.assertEqual((status, set(self.outcomes().values())), (0, {"skipped"}), printed)

    def test_fuzz_is_shared_out(self):
        self.add("fuzz: x", 'echo "${OCTET_FUZZ_COUNT:-default}" >>counts; passes')
        for environment, counts in (({"OCTET_FUZZ_COUNT": "10"}, ["3", "3", "4"]), ({}, ["default"]),
                                    ({"OCTET_FUZZ_COUNT": "10", "OCTET_FUZZ_SEED": "1"}, ["10"]),
                                    ({"OCTET_FUZZ_COUNT": "10", "OCTET_TEST_SEED": "1"}, ["10"]),
                                    ({"OCTET_FUZZ_COUNT": "2"}, ["2"])):
            self.assertEqual(self.run_tests("--jobs", "3", **environment)[0], 0)
            self.assertEqual(sorted(self.lines("counts")), counts)
            (self.folder / "counts").unlink()
        self.assertEqual(self.outcomes(), {"fuzz: x": "passed"})

    def test_nothing_run_is_a_failure(self):
        status, printed = self.run_tests()
        self.assertEqual(status, 1, printed)
        (self.folder / "program").write_text("#!/bin/sh\necho a; exit 134\n")  # a list that breaks off
        status, printed = self.run_tests()
        self.assertEqual(status, 1)
        self.assertIn("cannot list its tests: exit status 134", printed)

    def dead(self, pid):
        """Soon: a killed process lingers until its new parent has seen it."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            stat = pathlib.Path(f"/proc/{pid}/stat")
            try:
                if stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
            except (FileNotFoundError, ProcessLookupError):
                return True
            time.sleep(0.01)
        return False

    def hanging(self):
        self.add("good")
        self.add("hangs", "sleep 60 & echo $! >child; echo $$ >p; mv p parent; wait")
        self.add("later")
        self.add("D01: alone")

    def check_all_ended(self, status, printed):
        self.assertEqual(status, 124, printed)
        failed = dict.fromkeys(("hangs", "later", "D01: alone"), "failed")
        self.assertEqual(self.outcomes(), {"good": "passed", **failed})
        self.assertIn("not run, time was up", printed)
        for file in ("child", "parent"):
            self.assertTrue(self.dead(self.lines(file)[0]))

    def test_time_limit_ends_everything(self):
        self.hanging()
        self.check_all_ended(*self.run_tests("--jobs", "1", "--limit", "1"))

    def test_a_signal_ends_everything(self):
        self.hanging()
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start("--jobs", "1")
            while not (self.folder / "parent").exists():
                time.sleep(0.01)
            process.send_signal(number)
            printed = process.communicate()[0]
            self.check_all_ended(process.returncode, printed)
            (self.folder / "parent").unlink()

    def test_what_children_leave_behind_is_ended(self):
        self.add("orphan", "sleep 60 >/dev/null 2>&1 & echo $! >child; passes")
        self.assertEqual(self.run_tests()[0], 0)
        self.assertTrue(self.dead(self.lines("child")[0]))

    def test_half_of_the_processors_and_at_most_eight(self):
        processors = len(os.sched_getaffinity(0))
        self.assertEqual(gpu_tests.default_jobs(), max(1, min(8, processors // 2)))
        status, printed = self.run_tests(OCTET_GPU_TEST_JOBS="none")
        self.assertEqual(status, 2)
        self.assertIn("none", printed)


if __name__ == "__main__":
    unittest.main()
