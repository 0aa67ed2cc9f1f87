"""octet run on the host's executor; what a GPU computes is checked by the GPU tests."""

from support import GEMM, QUANTIZE, WEIGHTS, CliTest, main

KEYS = {"problem", "device", "kernel", "config", "compiled", "seed", "sizes", "rows", "capacity", "measure", "groups",
        "worst_group", "error", "us", "tflops", "gbps", "passed", "failure"}

# Of the GEMM family, one of each pass, layout and epilogue.
FAMILY = (
    "gemm.packed g3 n192 k256 a=e5m2:1x128 b=e4m3:128x128 d=bf16 dir=col",
    "gemm.padded g3 n192 k256 al128 a=e4m3:row b=e4m3:row d=bf16 +bias",
    "gemm.masked g3 m140 n192 k256 a=e4m3:1x128 b=e4m3:128x128 d=fp16 +acc",
    "gemm.dense g1 n192 k256 a=e4m3:tensor b=e5m2:tensor d=f32",
    "gemm.packed g3 n192 k256 a=e4m3:1x32@swizzled b=e4m3:1x32@swizzled d=bf16 w=pointers",
    "wgrad.packed g3 n192 k256 a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc",
    "wgrad.masked g3 m140 n192 k256 a=e5m2:1x128 b=e5m2:128x128 d=bf16",
    "wgrad.padded g3 n192 k256 al128 a=e4m3:1x32 b=e4m3:1x32 d=f32",
    "gemm.packed g3 n200 k256 a=e4m3:1x128 b=e4m3:1x128 d=bf16 w=pointers",
    "wgrad.packed g3 n192 k256 a=e4m3:1x128 b=e4m3:1x128 d=f32 w=pointers +acc",
)
BLOCKS = "wgrad.packed g3 n192 k256 a=e4m3:1x128 b=e5m2:1x128 d=f32 from=deepgemm"


class Run(CliTest):
    def reference(self, problem, *arguments, **keywords):
        return self.json("run", problem, "--device", "reference", *arguments, **keywords)

    def test_a_gemm_is_near_the_product_before_quantization(self):
        report = self.reference(GEMM, "--sizes", "100,0,28", "--seed", 7)
        self.assertEqual(report.keys(), KEYS)
        self.assertEqual((report["sizes"], report["rows"], report["seed"]), ([100, 0, 28], 128, 7))
        self.assertGreater(report["capacity"], 128, "there is a tail")
        self.assertTrue(report["passed"])
        self.assertIsNone(report["failure"])
        for group in report["groups"]:
            self.assertEqual(group["checked"], group["rows"] * 192)
            if group["rows"]:
                # e4m3 keeps three bits: an error far below 3e-4 would mean that nothing was quantized.
                self.assertGreater(group["error"], 3e-4)
                self.assertLess(group["error"], 1.1e-3)

    def test_a_padded_gemm_has_gaps_between_its_groups(self):
        report = self.reference(GEMM.replace("packed", "padded").replace(" a=", " al128 a="), "--sizes", "1,130,0")
        self.assertEqual(report["rows"], 131)
        self.assertGreaterEqual(report["capacity"], 384)
        self.assertTrue(report["passed"])

    def test_every_gemm_that_the_rules_accept_is_near_the_product_before_quantization(self):
        for problem in FAMILY:
            if self.json("explain", problem)["refused"]:
                continue  # the reference's own tests cover it all the same
            with self.subTest(problem):
                report = self.reference(problem, "--sizes", "130" if " g1 " in problem else "130,0,9")
                self.assertTrue(report["passed"], report["failure"])
                self.assertGreater(report["error"], 3e-4)

    def test_a_wgrad_of_deepgemm_s_blocks_has_groups_of_multiples_of_128_rows(self):
        report = self.reference(BLOCKS, "--sizes", "256,0,128")
        self.assertTrue(report["passed"], report["failure"])
        self.assertGreater(report["error"], 3e-4)
        self.assertEqual(report["capacity"], 512)
        # From the same seed the same operands, packed in our way.
        own = self.reference(BLOCKS.replace(" from=deepgemm", ""), "--sizes", "256,0,128", "--seed", report["seed"])
        self.assertEqual(report["groups"], own["groups"])
        for size in self.reference(BLOCKS)["sizes"]:
            self.assertEqual(size % 128, 0)
        message = self.refused("run", BLOCKS, "--sizes", "256,130,0", "--device", "reference")
        self.assertIn("--sizes: group 1 has 130 rows", message)
        self.assertIn("a multiple of 128", message)

    def test_a_quantizer_is_off_by_at_most_half_a_step(self):
        for problem in (QUANTIZE, WEIGHTS, QUANTIZE.replace("c256", "c272")):
            with self.subTest(problem):
                report = self.reference(problem)
                self.assertTrue(report["passed"])
                # Among thousands of values some lie near the middle of two neighbours.
                self.assertGreater(report["error"], 0.95)
                self.assertLess(report["error"], 1.0001)

    def test_all_groups_may_be_empty(self):
        for problem in (GEMM, QUANTIZE):
            report = self.reference(problem, "--sizes", "0,0,0")
            self.assertTrue(report["passed"])
            self.assertIsNone(report["worst_group"])

    def test_a_seed_repeats_a_run_and_a_fresh_one_does_not(self):
        first = self.reference(QUANTIZE)
        again = self.reference(QUANTIZE, "--seed", first["seed"])
        for key in ("sizes", "groups"):
            self.assertEqual(again[key], first[key])
        self.assertGreater(len({self.reference(QUANTIZE)["seed"] for _ in range(4)}), 1)

    def test_the_text_says_what_was_run_and_how_it_ended(self):
        text = self.octet("run", GEMM, "--device", "reference", "--sizes", "5,0,9", "--seed", 3).stdout
        self.assertIn(GEMM, text)
        self.assertRegex(text, r"(?m)^seed +3$")
        self.assertRegex(text, r"(?m)^worst +group [02]: ")
        self.assertRegex(text, r"(?m)^time +[\d.]+ us \(median of 1\)")
        self.assertTrue(text.endswith("passed\n"))

    def test_a_config_is_checked_before_a_gpu_is_looked_for(self):
        candidates = self.json("explain", GEMM)["candidates"]
        legal = [one["config"] for one in candidates if one["refused"] is None]
        message = self.refused("run", GEMM, "--config", "bm17", **self.without_driver())
        self.assertIn(f"'{legal[0]}'", message)
        result = self.octet("run", GEMM, "--config", legal[0], code=1, **self.without_driver())
        self.assertRegex(result.stderr, r"\Aoctet: run: no CUDA driver")

    def test_the_host_has_no_configs(self):
        config = self.json("explain", GEMM)["candidates"][0]["config"]
        message = self.refused("run", GEMM, "--config", config, "--device", "reference")
        self.assertIn("--config", message)

    def test_d19_without_a_driver_the_host_is_suggested(self):
        for arguments in ((), ("--device", "gpu"), ("--device", "0")):
            result = self.octet("run", GEMM, *arguments, code=1, **self.without_driver())
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, r"\Aoctet: run: no CUDA driver")
            self.assertRegex(result.stderr, r"--device reference\n\Z")
        self.octet("run", GEMM, "--device", "reference", **self.without_driver())


if __name__ == "__main__":
    main()
