"""octet build: what it compiles, what it reports, and what it does when something breaks."""

import glob
import json
import os
import pty
import subprocess

from support import GEMM, MODELS, OCTET, QUANTIZE, WEIGHTS, CliTest, clean_environment, main, stub

SUMMARY = {"kernels", "compiled", "hits", "failed", "seconds", "bytes"}


def read_until_hangup(terminal):
    """All that was written to a terminal whose other end is closed; Linux then answers EIO."""
    shown = b""
    try:
        while chunk := terminal.read(4096):
            shown += chunk
    except OSError:
        pass
    return shown.decode()


class Build(CliTest):
    def keys(self, document):
        return {result["spec"]: result["key"] for result in document["results"]}

    def test_a_second_build_is_all_hits(self):
        first = self.json("build", QUANTIZE, WEIGHTS, GEMM, "--max-m", 64)
        self.assertLessEqual(SUMMARY, first.keys())
        self.assertGreaterEqual(first["kernels"], 3)
        self.assertEqual((first["compiled"], first["hits"], first["failed"]), (first["kernels"], 0, 0))
        self.assertEqual(first["bytes"], sum(result["bytes"] for result in first["results"]))
        self.assertGreater(first["seconds"], 0)
        for result in first["results"]:
            self.assertEqual(result["status"], "compiled")
            self.assertRegex(result["key"], r"\A[0-9a-f]{32}\Z")
            self.assertGreater(result["resources"]["registers"], 0)

        second = self.json("build", QUANTIZE, WEIGHTS, GEMM, "--max-m", 64)
        self.assertEqual((second["compiled"], second["hits"], second["failed"]), (0, first["kernels"], 0))
        self.assertEqual(self.keys(second), self.keys(first))
        self.assertEqual(second["bytes"], first["bytes"])

    def test_the_table_has_the_keys_of_the_json(self):
        lines = self.octet("build", WEIGHTS).stdout.splitlines()
        self.assertEqual(set(lines[0].split()), SUMMARY)
        values = dict(zip(lines[0].split(), lines[1].split()))
        self.assertEqual((values["compiled"], values["hits"], values["failed"]), (values["kernels"], "0", "0"))

    def test_progress_is_plain_lines_where_there_is_no_terminal(self):
        lines = self.octet("build", QUANTIZE, WEIGHTS).stderr.splitlines()
        for number, line in enumerate(lines, 1):
            self.assertRegex(line, rf"\A\[ *{number}/{len(lines)}\] compiled  \S+ in \d+\.\d\d s\Z")

    def test_progress_is_a_bar_on_a_terminal(self):
        master, slave = pty.openpty()
        environment = {**clean_environment(), "OCTET_CACHE_DIR": self.cache}
        process = subprocess.run([OCTET, "build", WEIGHTS, "--json"], stdout=subprocess.PIPE, stderr=slave,
                                 env=environment, timeout=240, check=True)
        os.close(slave)
        with open(master, "rb", buffering=0) as terminal:
            shown = read_until_hangup(terminal)
        kernels = json.loads(process.stdout)["kernels"]
        self.assertIn(f"[{'#' * 30}] {kernels}/{kernels}", shown)
        self.assertTrue(shown.endswith("\r\x1b[K"), "the bar is taken away at the end")

    def test_problems_come_from_a_file_and_from_standard_input(self):
        text = f"# a trace\n\n  {QUANTIZE}  # tokens\n{QUANTIZE}\n"
        for source, stdin in ((self.path("trace.txt", text), ""), ("-", text)):
            plan = self.json("build", QUANTIZE, "--from", source, "--dry-run", stdin=stdin)
            self.assertEqual(plan["problems"], [QUANTIZE])
        bad = self.path("bad.txt", f"{QUANTIZE}\n\ngemm.paked g1\n")
        self.assertIn("bad.txt:3: ", self.refused("build", "--from", bad))
        self.assertIn("no-such.txt", self.refused("build", "--from", "no-such.txt"))

    def test_one_bad_problem_stops_the_build_before_it_starts(self):
        self.refused("build", QUANTIZE, GEMM.replace("k256", "k7100"))
        self.assertFalse(os.path.exists(self.cache))

    def test_d22_keys_and_entries_do_not_depend_on_what_else_was_built(self):
        other = os.path.join(self.folder, "other")
        together = self.json("build", WEIGHTS, QUANTIZE, "-j", 1)
        alone = self.json("build", QUANTIZE, "-j", 2, "--cache-dir", other)
        self.assertLess(self.keys(alone).items(), self.keys(together).items())
        entries = glob.glob(os.path.join(other, "*", "*.octet"))
        self.assertEqual(len(entries), alone["kernels"])
        for entry in entries:
            with open(entry, "rb") as one, open(os.path.join(self.cache, os.path.relpath(entry, other)), "rb") as two:
                self.assertEqual(one.read(), two.read())

    def test_a_compiler_that_crashes_fails_its_kernels_alone(self):
        built = self.json("build", QUANTIZE, WEIGHTS, "-j", 1, code=1, OCTET_NVRTC_LIBRARY=stub("octet_stub_nvrtc"),
                          STUB_NVRTC_CRASH_ON=QUANTIZE)
        self.assertEqual((built["failed"], built["compiled"]), (built["kernels"], 0))
        for result in built["results"]:
            if result["problem"] == QUANTIZE:
                self.assertRegex(result["error"], "killed by signal 11")
            else:
                self.assertIn("stub.cu(1): error: the stub refuses this source", result["error"])
        self.assertEqual(self.json("cache", "ls")["count"], 0)

    def test_d16_a_failed_compile_says_why_and_publishes_nothing(self):
        stub_compiler = {"OCTET_NVRTC_LIBRARY": stub("octet_stub_nvrtc")}
        result = self.octet("build", WEIGHTS, code=1, **stub_compiler)
        self.assertIn("stub.cu(1): error", result.stderr)
        self.assertRegex(result.stderr, r"octet: (\d+) of \1 kernels failed\n\Z")
        self.assertEqual(self.json("cache", "ls")["count"], 0)
        self.assertEqual(self.json("build", WEIGHTS)["failed"], 0)

    def test_d17_without_nvrtc_a_warm_cache_serves_and_a_cold_one_says_what_was_tried(self):
        hidden = self.without_nvrtc()
        cold = self.json("build", WEIGHTS, code=1, **hidden)
        for result in cold["results"]:
            self.assertIn("libnvrtc-is-not-here.so", result["error"])
            self.assertIn("OCTET_NVRTC_LIBRARY", result["error"])
        self.octet("build", WEIGHTS)
        warm = self.json("build", WEIGHTS, **hidden)
        self.assertEqual((warm["hits"], warm["failed"]), (warm["kernels"], 0))

    def test_d17_the_places_that_were_tried_are_told_once(self):
        result = self.octet("build", QUANTIZE, WEIGHTS, GEMM, "--json", code=1, **self.without_nvrtc())
        self.assertEqual(result.stderr.count("libnvrtc-is-not-here.so"), 1)
        specs = [one["spec"] for one in json.loads(result.stdout)["results"]]
        self.assertGreater(len(specs), 2)
        first = next(spec for spec in specs if f"failed    {spec}\n" in result.stderr)
        for spec in specs:
            if spec != first:
                self.assertIn(f"failed    {spec}, as {first}\n", result.stderr)

    def test_cached_only_names_the_command_that_builds_what_is_missing_and_build_does(self):
        cached_only = {"OCTET_CACHE_MODE": "cached-only"}
        missing = self.octet("show", WEIGHTS, "--resources", code=1, **cached_only)
        self.assertIn(f"octet build '{WEIGHTS}'", missing.stderr)
        self.assertEqual(self.json("build", WEIGHTS, **cached_only)["failed"], 0)
        self.octet("show", WEIGHTS, "--resources", **cached_only)

    def test_a_config_is_built_alone(self):
        legal = [one["config"] for one in self.json("explain", GEMM)["candidates"] if one["refused"] is None]
        for config in (legal[0], legal[-1]):
            plan = self.json("build", GEMM, "--config", config, "--dry-run")
            self.assertEqual([result["config"] for result in plan["results"]], [config])
        self.assertIn(f"'{legal[0]}'", self.refused("build", GEMM, "--config", "bm17"))

    def test_a_refusal_says_which_file_asked(self):
        trace = self.path("trace.txt", f"{QUANTIZE}\n{GEMM.replace('k256', 'k7100')}\n")
        self.assertRegex(self.refused("build", "--from", trace), r"trace\.txt:2: .*K=7100")
        model = os.path.join(MODELS, "deepseek-v3.json")
        for ep, tp in ((32, 1024), (3, 1)):  # the second one divides no 256 experts
            self.assertIn(f"deepseek-v3.json with --ep {ep} --tp {tp}: ",
                          self.refused("build", "--hf-config", model, "--ep", ep, "--tp", tp))

    def test_a_cache_that_cannot_be_written_is_refused_before_compiling(self):
        file = self.path("file", "")
        shared = self.path("shared")
        os.mkdir(shared)
        os.chmod(shared, 0o777)
        for directory, why in ((file, "Not a directory"), (os.path.join(file, "below"), "Not a directory"),
                               (shared, "writable"), ("/proc/nope", "cannot be made in /proc")):
            line = self.refused("build", WEIGHTS, code=1, OCTET_CACHE_DIR=directory)
            self.assertIn(f"the kernel cache {directory} cannot be used: ", line)
            self.assertIn(why, line)
        for directory in (file, os.path.join(file, "below")):
            line = self.refused("build", WEIGHTS, "--cache-dir", directory, code=1)
            self.assertIn(file, line)
            self.assertIn("OCTET_CACHE_DIR", line)


if __name__ == "__main__":
    main()
