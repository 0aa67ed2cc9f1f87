"""octet show, explain, variants and rules: the microscope."""

import glob
import os
import pty
import re
import shlex
import subprocess

import support
from support import GEMM, QUANTIZE, CliTest, main


class Show(CliTest):
    def test_the_source_is_one_file_that_says_how_it_was_made(self):
        source = self.octet("show", GEMM, "--source").stdout
        self.assertNotIn("#include", source)
        self.assertIn(GEMM, source)
        self.assertEqual(self.octet("show", GEMM).stdout, source)
        self.assertFalse(os.path.exists(self.cache))

    def test_the_source_needs_no_compiler_and_no_driver(self):
        self.octet("show", GEMM, "--source", **self.without_driver(), **self.without_nvrtc())

    def test_the_command_in_the_source_makes_that_source_again(self):
        for problem in (GEMM, QUANTIZE):
            for candidate in self.json("explain", problem)["candidates"]:
                if candidate["refused"] is not None:
                    continue
                with self.subTest(candidate["config"]):
                    source = self.octet("show", problem, "--config", candidate["config"]).stdout
                    self.assertIn(f"//   config    {candidate['config']}\n", source)
                    command = re.search(r"(?m)^//   again     octet (.*)$", source).group(1)
                    self.assertEqual(self.octet(*shlex.split(command)).stdout, source)

    def test_a_config_names_a_kernel_whatever_the_cost_model_would_choose(self):
        told = self.json("explain", GEMM)
        others = [one for one in told["candidates"] if one["refused"] is None and one["spec"] != told["chosen"]]
        shown = self.json("show", GEMM, "--config", others[-1]["config"], "--resources")
        self.assertEqual((shown["spec"], shown["config"]), (others[-1]["spec"], others[-1]["config"]))

    def test_without_a_workspace_only_kernels_that_need_none_are_left(self):
        problem = GEMM.replace("1x128", "1x32").replace("128x128", "1x32")
        with_one, told = self.json("explain", problem), self.json("explain", problem, "--no-workspace")
        self.assertEqual((with_one["no_workspace"], told["no_workspace"]), (False, True))
        passes = [one for one in told["candidates"] if one["config"].startswith("mx") and "direct" not in one["config"]]
        self.assertTrue(passes)
        for one in passes:
            self.assertEqual(one["refused"]["rule"], "config.no-workspace")
            self.assertIn("config.no-workspace",
                          self.refused("show", problem, "--no-workspace", "--config", one["config"]))
        shown = self.json("show", problem, "--no-workspace", "--resources")
        self.assertEqual(shown["spec"], told["chosen"])
        specs = [one["spec"] for one in self.json("variants", problem, "--no-workspace", "--max-m", 4096)]
        self.assertIn(told["chosen"], specs)
        self.assertFalse(set(specs) & {one["spec"] for one in passes})
        built = self.json("build", problem, "--no-workspace", "--max-m", 4096, "--dry-run")
        self.assertEqual([one["spec"] for one in built["results"]], specs)

    def test_a_problem_that_no_kernel_does_without_a_workspace_is_refused_by_name(self):
        current = QUANTIZE.replace("1x128", "tensor")
        self.assertIn("config.no-workspace", self.refused("show", current, "--no-workspace"))
        self.octet("show", current)

    def test_an_unknown_config_is_answered_with_the_legal_ones(self):
        candidates = self.json("explain", GEMM)["candidates"]
        message = self.refused("show", GEMM, "--config", "bm17 bn256")
        self.assertIn("'bm17 bn256'", message)
        for candidate in candidates:
            self.assertEqual(f"'{candidate['config']}'" in message, candidate["refused"] is None)

    def test_a_config_that_a_rule_removed_is_answered_with_the_rule(self):
        narrow = GEMM.replace("n192", "n64")
        removed = [one for one in self.json("explain", narrow)["candidates"] if one["refused"] is not None]
        message = self.refused("show", narrow, "--config", removed[0]["config"])
        self.assertIn(removed[0]["config"], message)
        self.assertIn(removed[0]["refused"]["rule"], message)

    def test_a_refused_problem_is_told_whatever_the_config(self):
        message = self.refused("show", GEMM.replace("k256", "k7100"), "--config", "bm17")
        self.assertIn("gemm.k-multiple-of-16", message)

    def test_ptx_is_for_the_arch(self):
        self.assertIn(".target sm_90a", self.octet("show", QUANTIZE, "--ptx").stdout)

    def test_resources(self):
        shown = self.json("show", GEMM, "--resources")
        self.assertEqual(shown["problem"], GEMM)
        self.assertGreater(shown["registers"], 0)
        self.assertGreater(shown["dynamic_shared_bytes"], 0)
        self.assertFalse(shown["wgmma_serialized"])
        text = self.octet("show", GEMM, "--resources").stdout
        self.assertRegex(text, rf"(?m)^registers +{shown['registers']}$")

    def test_d17_missing_nvrtc_is_told_with_the_setting_and_what_was_tried(self):
        result = self.octet("show", QUANTIZE, "--ptx", code=1, **self.without_nvrtc())
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"\Aoctet: libnvrtc [^\n]*OCTET_NVRTC_LIBRARY")
        self.assertIn("libnvrtc-is-not-here.so", result.stderr)

    def tool(self, name, script):
        """PATH with a program of that name before all others."""
        tools = os.path.join(self.folder, "it's a folder")
        os.makedirs(tools, exist_ok=True)
        self.path(os.path.join(tools, name), "#!/bin/sh\n" + script)
        os.chmod(os.path.join(tools, name), 0o700)
        return {"PATH": tools + ":" + os.environ["PATH"]}

    def without_disassembler(self):
        for place in ("/usr/local/cuda/bin", "/usr/local/lib*/python3*/*-packages/triton/backends/nvidia/bin"):
            if glob.glob(place + "/nvdisasm") or glob.glob(place + "/cuobjdump"):
                self.skipTest(f"a disassembler is in {place}, which is always looked in")
        return {"PATH": "/nowhere", "CUDA_HOME": "", "VIRTUAL_ENV": "", "CONDA_PREFIX": "", "HOME": self.folder}

    def test_sass_hands_the_cubin_to_nvdisasm(self):
        settings = self.tool("nvdisasm", 'head -c 4 "$1" | tail -c 3\n')
        self.assertEqual(self.octet("show", QUANTIZE, "--sass", **settings).stdout, "ELF\n")

    def test_sass_takes_cubobjdump_where_there_is_no_nvdisasm(self):
        settings = self.tool("cuobjdump", 'echo "$1"\n')
        settings = {**self.without_disassembler(), "PATH": settings["PATH"].split(":")[0]}
        self.assertEqual(self.octet("show", QUANTIZE, "--sass", **settings).stdout, "-sass\n")

    def test_sass_without_a_disassembler_says_where_to_get_one(self):
        message = self.refused("show", QUANTIZE, "--sass", code=1, **self.without_disassembler())
        self.assertIn("pip install triton", message)

    SASS = """\t.headerflags\t@"EF_CUDA"
        /*0000*/ \t.byte\t0x80, 0x60
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_1) ;
        /*0020*/                   QGMMA.64x128x32.F32.E4M3.E4M3 R24, gdesc[UR16], RZ, !UPT ;   /* 0x01e0 */
                                                                                                /* 0x0000 */
        /*0030*/              @UP1 UTMALDG.2D [UR8], [UR4] ;
        /*0040*/                   QGMMA.64x128x32.F32.E4M3.E4M3 R24, gdesc[UR24], R24 ;
        /*0050*/                   NOP ;
"""

    def test_resources_count_the_instructions(self):
        settings = self.tool("nvdisasm", f"cat <<'END'\n{self.SASS}END\n")
        shown = self.json("show", QUANTIZE, "--resources", **settings)
        self.assertEqual(shown["instructions"], {"BRA": 1, "LDC": 1, "QGMMA": 2, "UTMALDG": 1})
        text = self.octet("show", QUANTIZE, "--resources", **settings).stdout
        self.assertRegex(text, r"(?m)^instructions +5: QGMMA 2 BRA 1 LDC 1 UTMALDG 1$")

    def test_resources_need_no_disassembler(self):
        shown = self.json("show", QUANTIZE, "--resources", **self.without_disassembler())
        self.assertIsNone(shown["instructions"])
        self.assertGreater(shown["registers"], 0)

    def test_diff_says_what_two_kernels_differ_in(self):
        legal = [one["config"] for one in self.json("explain", GEMM)["candidates"] if one["refused"] is None]
        told = self.json("show", GEMM, "--config", legal[0], "--diff", "--with-config", legal[-1])
        self.assertEqual((told["a"]["config"], told["b"]["config"]), (legal[0], legal[-1]))
        self.assertEqual(told["problem"], [[], []])
        only_a, only_b = told["config"]
        self.assertEqual((set(legal[0].split()) - set(legal[-1].split()), set(legal[-1].split()) - set(legal[0].split())),
                         (set(only_a), set(only_b)))
        for name, values in told["resources"].items():
            for config, value in zip((legal[0], legal[-1]), values):
                self.assertEqual(self.json("show", GEMM, "--config", config, "--resources")[name], value)
        removed = {line[1:] for line in told["source"].splitlines() if line.startswith("-") and line[:3] != "---"}
        source = self.octet("show", GEMM, "--config", legal[0]).stdout.splitlines()
        self.assertTrue(removed and removed <= set(source))

    def test_diff_of_two_problems(self):
        wider = GEMM.replace("n192", "n256")
        told = self.json("show", GEMM, "--diff", "--with", wider)
        self.assertEqual(told["problem"], [["n192"], ["n256"]])
        text = self.octet("show", GEMM, "--diff", "--with", wider).stdout
        self.assertRegex(text, r"(?m)^problem +n192 +n256$")
        self.assertIn("+constexpr int kN = 256;", text)

    def test_diff_of_a_kernel_with_itself(self):
        told = self.json("show", GEMM, "--diff")
        self.assertEqual((told["config"], told["resources"], told["source"]), ([[], []], {}, ""))
        self.assertIn("They are the same kernel.", self.octet("show", GEMM, "--diff").stdout)

    def test_json_is_of_resources_and_differences_only(self):
        self.assertIn("--resources or --diff", self.refused("show", GEMM, "--json"))

    def on_a_terminal(self, *arguments, **settings):
        main_end, terminal = pty.openpty()
        process = subprocess.Popen([support.OCTET, *arguments], stdout=terminal, cwd=self.folder,
                                   env={**support.clean_environment(), "TERM": "xterm", **settings})
        os.close(terminal)
        output = b""
        while True:
            try:
                chunk = os.read(main_end, 65536)
            except OSError:  # how a terminal ends
                break
            if not chunk:
                break
            output += chunk
        os.close(main_end)
        self.assertEqual(process.wait(), 0)
        return output.decode().replace("\r\n", "\n")

    def test_a_terminal_gets_colours_and_nothing_else_does(self):
        plain = self.octet("show", GEMM).stdout
        self.assertNotIn("\x1b", plain)
        coloured = self.on_a_terminal("show", GEMM)
        self.assertEqual(re.sub(r"\x1b\[\d+m", "", coloured), plain)
        self.assertIn("\x1b[34mconstexpr\x1b[0m", coloured)
        self.assertEqual(self.on_a_terminal("show", GEMM, NO_COLOR="1"), plain)
        self.assertEqual(self.on_a_terminal("show", GEMM, TERM="dumb"), plain)

    def test_explain_chooses_one_of_its_candidates(self):
        told = self.json("explain", GEMM, "--expected-m", 256)
        legal = {one["spec"]: one["cost_us"] for one in told["candidates"] if one["refused"] is None}
        self.assertIsNone(told["refused"])
        self.assertEqual(legal[told["chosen"]], min(legal.values()))
        self.assertEqual(told["expected_m"], 256)
        self.assertIn(told["chosen"], self.octet("explain", GEMM, "--expected-m", 256).stdout)

    def test_explain_answers_for_a_refused_problem(self):
        told = self.json("explain", GEMM.replace("k256", "k7100"))
        self.assertEqual(told["refused"]["rule"], "gemm.k-multiple-of-16")
        self.assertIsNone(told["chosen"])
        self.assertIn("gemm.k-multiple-of-16", self.octet("explain", GEMM.replace("k256", "k7100")).stdout)

    def test_variants_are_closed_over_the_choices_below_their_bound(self):
        names = {one["spec"] for one in self.json("variants", GEMM, "--max-m", 300)}
        for expected_m in (0, 1, 17, 64, 128, 300):
            self.assertIn(self.json("explain", GEMM, "--expected-m", expected_m)["chosen"], names)
        lines = self.octet("variants", GEMM, "--max-m", 300).stdout.splitlines()
        self.assertEqual({line.split()[0] for line in lines}, names)

    def test_the_number_of_multiprocessors_steers_the_choice_over_m(self):
        big, small = (self.json("explain", GEMM, "--sms", sms) for sms in (132, 2))
        self.assertEqual((big["sm_count"], small["sm_count"]), (132, 2))
        self.assertNotEqual([one["cost_us"] for one in big["candidates"]],
                            [one["cost_us"] for one in small["candidates"]])

    def test_rules_say_the_same_in_every_form(self):
        rules = self.json("rules")
        ids = [rule["id"] for rule in rules]
        self.assertIn("gemm.k-multiple-of-16", ids)
        self.assertEqual(len(set(ids)), len(ids))
        self.assertTrue(all(rule["why"] and rule["scope"] in ("problem", "config", "plan") for rule in rules))
        rows = self.octet("rules", "--markdown").stdout.splitlines()[2:]
        self.assertEqual([row.split("`")[1] for row in rows], ids)
        self.assertEqual([line.split()[0] for line in self.octet("rules").stdout.splitlines()], ids)

    def test_d19_version_help_and_cache_work_without_a_driver(self):
        hidden = self.without_driver()
        self.assertRegex(self.octet("--version", **hidden).stdout, r"\Aoctet \d+\.\d+\.\d+\nnvrtc ")
        self.octet("--help", **hidden)
        self.octet("cache", "ls", **hidden)
        self.octet("explain", GEMM, **hidden)

    def test_version_without_nvrtc_says_so(self):
        line = self.octet("--version", **self.without_nvrtc()).stdout.splitlines()[1]
        self.assertRegex(line, r"\Anvrtc not found.*libnvrtc-is-not-here.so: .*No such file")


if __name__ == "__main__":
    main()
