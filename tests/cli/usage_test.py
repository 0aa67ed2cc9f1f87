"""Every way to ask for something impossible: exit code 2, and one line that says what to do."""

from support import GEMM, QUANTIZE, CliTest, main

COMMANDS = ("build", "run", "show", "explain", "variants")


class Usage(CliTest):
    def test_a_wrong_command_line_is_refused_by_name(self):
        for arguments, named in (
            ((), "subcommand"),
            (("compile",), "known are build, run, show"),
            (("biuld",), "unknown subcommand 'biuld' of octet; did you mean 'build'?"),
            (("--bogus",), "unknown option '--bogus' of octet;"),
            (("--versoin",), "did you mean '--version'?"),
            (("cache", "purne"), "unknown subcommand 'purne' of octet cache; did you mean 'prune'?"),
            (("cache", "prune", "--max-size", "0"), "unknown option '--max-size' of octet cache prune; "),
            (("build", QUANTIZE, "--cache-dri=x"), "'--cache-dri' of octet build; did you mean '--cache-dir'?"),
            (("show", QUANTIZE, "--sorce"), "did you mean '--source'?"),
            (("build", QUANTIZE, "--config", "bm64", "--max-m", "64"), "--max-m"),
            (("build", QUANTIZE, "--ep", "2"), "hf-config"),
            (("explain", QUANTIZE, "two", "three"), "not expected: 'two', 'three'"),
            (("build",), "nothing to build"),
            (("show",), "problem"),
            (("show", GEMM, "--source", "--ptx"), "--source,--ptx"),
            (("show", GEMM, "--source", "--json"), "resources"),
            (("rules", "--json", "--markdown"), "json"),
            (("cache",), "subcommand"),
            (("cache", "prune", "--max-bytes", "2X"), "'2X'"),
            (("cache", "prune", "--max-bytes", "-1"), "'-1'"),
            (("run", GEMM, "--device", "tpu"), "'tpu'"),
            (("run", GEMM, "--device", "-1"), "-1"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(named, self.refused(*arguments))

    def test_a_number_is_whole_and_within_its_bounds(self):
        build, run = ("build", QUANTIZE), ("run", QUANTIZE)
        for least, command, option in (
            (1, build, "--max-m"), (1, build, "--jobs"), (1, build, "--sms"), (1, ("variants", QUANTIZE), "--max-m"),
            (1, ("build", "--hf-config", "x"), "--ep"), (1, ("build", "--hf-config", "x"), "--tp"),
            (1, run, "--repeat"), (1, run, "--expected-m"), (0, ("show", QUANTIZE), "--expected-m"),
            (0, ("explain", QUANTIZE), "--expected-m"),
        ):
            for text in (str(least - 1), "many", "1.5", "0x10", "2147483648"):
                with self.subTest(command=command, option=option, text=text):
                    self.assertEqual(
                        self.refused(*command, f"{option}={text}"),
                        f"octet: {option}: must be a whole number from {least} to 2147483647, not '{text}' "
                        "(see octet --help)\n")

    def test_a_number_is_decimal_even_with_a_zero_before_it(self):
        self.assertEqual(self.json("build", QUANTIZE, "--max-m", "010", "--dry-run")["max_m"], 10)

    def test_explain_says_that_a_refusal_is_no_failure(self):
        self.assertIn("exit code is 0", self.octet("explain", "--help").stdout)

    def test_an_unknown_item_of_a_problem_is_shown_with_the_nearest_known_one(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assertRegex(self.refused(command, "gemm.paked g8 n64 k128"), "paked.*packed")
                self.assertRegex(self.refused(command, GEMM.replace("a=e4m3", "a=e4m4")), "e4m4.*e4m3")
                self.assertRegex(self.refused(command, GEMM + " +ac"), r"ac.*\+acc")

    def test_a_problem_that_a_rule_refuses_names_the_value_and_the_rule(self):
        problem = GEMM.replace("k256", "k7100")
        for command in COMMANDS:
            if command == "explain":
                continue  # there, the refusal is the answer
            with self.subTest(command=command):
                self.assertRegex(self.refused(command, problem), r"K=7100.*gemm\.k-multiple-of-16")

    def test_d15_an_arch_is_known_or_refused_before_anything_is_compiled(self):
        for command in ("build", "show", "explain", "variants"):
            for arch in ("9.0", "90", "90a", "sm90"):
                with self.subTest(command=command, arch=arch):
                    self.assertIn("sm_90a", self.refused(command, QUANTIZE, "--arch", arch))
            for arch in ("sm_75", "100", "100a", "hopper"):
                with self.subTest(command=command, arch=arch):
                    self.assertIn(f"'{arch}'", self.refused(command, QUANTIZE, f"--arch={arch}"))
            self.assertIn("--arch", self.refused(command, QUANTIZE, "--arch="))

    def test_sizes_must_fit_the_problem(self):
        for sizes, named in (("1,2", "g3"), ("1,2,-3", "not '-3'"), ("1,2,x", "item 3 of '1,2,x'"),
                             ("1,,2", "item 2 of '1,,2'"), ("1,2,", "item 3"),
                             ("1,2,9999999999999999999999", "not '9999999999999999999999'")):
            with self.subTest(sizes=sizes):
                self.assertIn(named, self.refused("run", GEMM, "--device", "reference", f"--sizes={sizes}"))
        huge = ",".join(["2000000000"] * 3)
        for problem in (GEMM, QUANTIZE):
            line = self.refused("run", problem, "--device", "reference", "--sizes", huge)
            self.assertRegex(line, r"6000000000 rows in 3 groups .* need at least \d+ GiB")
        uniform = "quantize.uniform g2 n128 k256 in=bf16 out=e4m3:128x128"
        self.assertIn("uniform", self.refused("run", uniform, "--device", "reference", "--sizes", "1,2"))

    def test_help_is_no_error(self):
        self.assertIn("Exit codes", self.octet("--help").stdout)
        for command in (*COMMANDS, "rules", "cache"):
            with self.subTest(command=command):
                self.assertIn("--help", self.octet(command, "--help").stdout)


if __name__ == "__main__":
    main()
