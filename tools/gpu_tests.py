#!/usr/bin/env python3
"""Runs the GPU tests spread over processes, as compiling kernels scales over processes and hardly over threads.

gpu_tests.py PROGRAM WORK [--jobs N] [--limit SECONDS]

Every visible test case of PROGRAM (Catch2) runs in a process of its own, N at a time. Each leaves WORK/tests-NNN.xml
and, where it printed anything itself, WORK/tests-NNN.log; gpu_record.py sums the reports up. What a report cannot say,
since its process died or never ran, stands in a report tests-NNN-process.xml. WORK must hold no reports yet.

Exit status: 0 when all tests passed or skipped themselves, 124 when the time was up, 1 otherwise.

Environment:
  OCTET_GPU_TEST_JOBS   N (default: half of the processors, at most 8)
  OCTET_FUZZ_COUNT      a test tagged [fuzz] is split into processes that share this count, unless OCTET_FUZZ_SEED or
                        OCTET_TEST_SEED asks for a certain run
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import xml.etree.ElementTree as ElementTree

import gpu_record

# Tests that start many processes or threads themselves run last, one by one.
ALONE = ("D01", "D22", "E01", "cache:", "concurrency:", "graph")
# Those that compile most start first, so that no process is left with one of them at the end.
LONG = ("fuzz", "gemm: every", "activation", "quantize: every", "dequantize: every", "wgrad-odd", "single-weight",
        "producer-consumer", "B13", "B02")
OUT_OF_TIME = 124  # as timeout(1) has it
LOG_LINES = 30  # of a failed test's own output


@dataclasses.dataclass
class Job:
    name: str
    tags: str = ""
    environment: dict = dataclasses.field(default_factory=dict)
    stem: str = ""  # of the files in WORK


# --- Which tests ------------------------------------------------------------------------------------------------------


def list_names(program, *spec):
    """Catch2 2 ends with the number of tests as its status, of which the system keeps eight bits."""
    done = subprocess.run([program, "--list-test-names-only", *spec], capture_output=True, text=True, check=False)
    if "--list-test-names-only" in done.stderr:  # Catch2 3 does not know it
        done = subprocess.run([program, "--list-tests", "--verbosity", "quiet", *spec], capture_output=True, text=True,
                              check=False)
    names = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    if done.returncode not in (0, len(names) % 256):
        raise RuntimeError(f"{program} cannot list its tests: exit status {done.returncode}\n{done.stderr}".strip())
    # Catch2 2 quotes a name that starts with '#'.
    return list(dict.fromkeys(name[1:-1] if name.startswith('"#') else name for name in names))


def escaped(name):
    """`name` as a test spec that means it alone: no list, tag, quoted name, exclusion or option."""
    return re.sub(r'^[-~"]|[\\,\[\]]', r"\\\g<0>", name)


def parts(job, count):
    """`job`, whose test draws OCTET_FUZZ_COUNT problems, as up to `count` jobs that share them."""
    total = int(os.environ.get("OCTET_FUZZ_COUNT") or 0)
    if total < count or "OCTET_FUZZ_SEED" in os.environ or "OCTET_TEST_SEED" in os.environ:
        return [job]
    shares = [total // count + (i < total % count) for i in range(count)]
    return [dataclasses.replace(job, environment={"OCTET_FUZZ_COUNT": str(share)}) for share in shares]


def plan(program, processes):
    """(the jobs to spread over the processes, those that run alone)"""
    fuzz, named = set(list_names(program, "[fuzz]")), set(list_names(program, "[named]"))
    spread, alone = [], []
    for name in list_names(program):
        job = Job(name, "[named]" if name in named else "")
        (alone if name.startswith(ALONE) else spread).extend(parts(job, processes) if name in fuzz else [job])
    spread.sort(key=lambda job: next((i for i, start in enumerate(LONG) if job.name.startswith(start)), len(LONG)))
    for number, job in enumerate(spread + alone, 1):
        job.stem = f"tests-{number:03}"
    return spread, alone


# --- Running them -----------------------------------------------------------------------------------------------------


def ending(code):
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"the process ended with exit status {code}"


def contradicts(code, outcomes):
    """Does the process's end say otherwise than its report?"""
    if not outcomes or code < 0:
        return True
    if code == 4 and set(outcomes) == {"skipped"}:  # Catch2 3
        return False
    return (code == 0) == ("failed" in outcomes)


def write_process_report(work, job, text):
    """A report in Catch2's words of what the test's own cannot say."""
    root = ElementTree.Element("Catch")
    case = ElementTree.SubElement(root, "TestCase", name=job.name, tags=job.tags)
    ElementTree.SubElement(case, "Failure").text = text
    ElementTree.SubElement(case, "OverallResult", success="false")
    ElementTree.ElementTree(root).write(work / f"{job.stem}-process.xml", encoding="utf-8", xml_declaration=True)


class Run:
    def __init__(self, program, work, total):
        self.program, self.work, self.total = program, work, total
        self.interrupted = False  # by a signal, which may come at any time: no lock
        self.lock = threading.RLock()  # guards what follows, and the terminal
        self.stopped = False
        self.running = set()
        self.results = collections.Counter()

    def start(self, job):
        """The test's process, the leader of a group of its own so that its children can be killed; None: too late."""
        report, log = (self.work / f"{job.stem}{end}" for end in (".xml", ".log"))
        command = [self.program, escaped(job.name), "--reporter", "xml", "--out", report]
        with self.lock:
            if self.stopped:
                return None
            with log.open("wb") as output:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                           env={**os.environ, **job.environment}, start_new_session=True)
            self.running.add(process)
            return process

    def finish(self, process):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self.lock:  # as long as it is not reaped, the group's number cannot be another's
            self.kill_group(process)
            self.running.discard(process)
            return process.wait()

    @staticmethod
    def kill_group(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # nothing in it but the dead leader
            pass

    def stop(self):
        with self.lock:
            self.stopped = True
            for process in self.running:
                self.kill_group(process)

    def run(self, job):
        """Runs the test and counts it; False when it was too late to start it."""
        begin = time.monotonic()
        process = self.start(job)
        if process is None:
            return False
        code = self.finish(process)
        log = self.work / f"{job.stem}.log"
        cases = [case for case in gpu_record.read_report(self.work / f"{job.stem}.xml") if case[0] == job.name]
        if contradicts(code, [outcome for _, _, outcome, _ in cases]):
            reason = "time was up" if self.stopped else ending(code)
            write_process_report(self.work, job, reason)
            cases.append((job.name, job.tags, "failed", [reason]))
        outcome = gpu_record.worst(outcome for _, _, outcome, _ in cases)
        failures = [failure for case in cases for failure in case[3]]
        if outcome == "failed":
            failures += gpu_record.read(log).splitlines()[-LOG_LINES:]
        self.say(job, outcome, time.monotonic() - begin, failures)
        if log.stat().st_size == 0:
            log.unlink()
        return True

    def say(self, job, outcome, seconds, failures):
        with self.lock:
            self.results[outcome] += 1
            print(f"   {self.results.total():3}/{self.total} {seconds:6.1f} s  {outcome:7}  {job.name}", flush=True)
            for failure in failures:
                print(textwrap.indent(failure, " " * 10), flush=True)

    def give_up(self, job):
        write_process_report(self.work, job, "not run, time was up")
        self.say(job, "failed", 0, ["not run, time was up"])


def work_off(run, queue):
    while queue:
        try:
            job = queue.popleft()
        except IndexError:  # another thread was faster
            return
        try:
            started = run.run(job)
        except Exception as error:  # pylint: disable=broad-except  # a program that cannot be started, a full disk
            write_process_report(run.work, job, repr(error))
            run.say(job, "failed", 0, [repr(error)])
            continue
        if not started:
            queue.appendleft(job)
            return


def run_all(run, jobs, processes, end):
    queue = collections.deque(jobs)
    threads = [threading.Thread(target=work_off, args=(run, queue)) for _ in range(min(processes, len(queue)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.1)
            if run.interrupted or time.monotonic() > end:
                run.stop()
    for job in queue:
        run.give_up(job)


def default_jobs():
    return max(1, min(8, len(os.sched_getaffinity(0)) // 2))


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--jobs", type=positive, default=os.environ.get("OCTET_GPU_TEST_JOBS") or str(default_jobs()))
    parser.add_argument("--limit", type=positive, default=3600)
    arguments = parser.parse_args()
    program, begin = arguments.program.resolve(), time.monotonic()
    try:
        spread, alone = plan(program, arguments.jobs)
    except (RuntimeError, OSError, ValueError) as error:
        print(f"   {error}")
        return 1
    run = Run(program, arguments.work, len(spread) + len(alone))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: setattr(run, "interrupted", True))
    end = begin + arguments.limit
    run_all(run, spread, arguments.jobs, end)
    run_all(run, alone, 1, end)
    print(f"   {run.total} processes, {arguments.jobs} at a time, in {time.monotonic() - begin:.0f} s")
    if run.stopped:
        return OUT_OF_TIME
    return 0 if run.total and not run.results["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
