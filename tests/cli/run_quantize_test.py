"""octet run of quantizers, activations, dequantizers and converters on the host's executor."""

from support import CliTest, main

TOKENS = "quantize.packed g3 c272 in=bf16"
BOTH = "dir=row,col"

# With the elements that are written for each row.
QUANTIZERS = {
    f"{TOKENS} out=e4m3:1x128 {BOTH}": 544,
    f"{TOKENS} out=e5m2:1x128:pow2@k_major": 272,
    f"{TOKENS} out=e5m2:1x128:pow2 dir=col": 272,
    f"{TOKENS} out=e4m3:128x128 {BOTH}": 544,
    f"{TOKENS} out=e4m3:tensor {BOTH} +amax": 544,
    f"{TOKENS} out=e4m3:row {BOTH} +noop": 544,
    f"{TOKENS} out=e4m3:1x32 {BOTH}": 544,
    f"{TOKENS} out=e5m2:1x32@swizzled {BOTH}": 544,
    f"quantize.padded g3 c272 al128 in=fp16 out=e4m3:1x128 {BOTH}": 544,
    f"quantize.masked g3 m160 c272 in=f32 out=e4m3:1x128 {BOTH}": 544,
    f"quantize.masked g3 m160 c272 in=bf16 out=e4m3:1x32@swizzled {BOTH}": 544,
    f"quantize.uniform g2 n192 k272 in=bf16 out=e4m3:128x128 {BOTH}": 544,
    "quantize.uniform g2 n192 k272 in=bf16 out=e4m3:1x32 dir=col": 272,
    "quantize.uniform g2 n192 k288 in=bf16 out=e4m3:32x32": 288,
    f"quantize.packed g3 c256 in=bf16 act=swiglu out=e4m3:1x128 {BOTH} +bias +probs": 512,
    f"quantize.packed g3 c256 in=bf16 act=swiglu out=e5m2:1x128 {BOTH} +probs +grad +dbias": 1024,
    f"quantize.packed g3 c256 in=bf16 act=clamped_swiglu gate=second il=32 out=e4m3:1x32 {BOTH} +grad": 1024,
    "quantize.packed g3 c256 in=bf16 act=gelu out=e4m3:1x128 +grad +dbias": 256,
}
MASKED = next(problem for problem in QUANTIZERS if ".masked" in problem)
WIDE = (
    "activation.packed g3 c256 d=bf16 in=bf16 act=swiglu",
    "activation.masked g3 m160 c256 d=fp16 in=fp16 act=relu",
    "activation.packed g3 c256 d=bf16 in=bf16 act=geglu +probs +grad",
)
DEQUANTIZERS = (
    "dequantize.packed g3 c272 a=e4m3:1x128 d=bf16",
    "dequantize.padded g3 c272 al64 a=e5m2:1x32@swizzled d=f32 dir=col",
    "dequantize.masked g3 m160 c272 a=e4m3:1x128 d=fp16",
    "dequantize.uniform g2 n192 k272 a=e4m3:128x128 d=bf16 dir=col",
    "dequantize.dense g1 c272 a=e4m3:1x128 d=bf16 dir=col",
)
CONVERTERS = (
    "convert.packed g3 c272 a=e4m3:1x32 out=e4m3:1x32@swizzled",
    "convert.packed g3 c272 a=e4m3:1x32@swizzled out=e4m3:1x32 dir=col",
    "convert.packed g3 c272 a=e4m3:1x128 out=e4m3:1x128 dir=col to=deepgemm",
    "convert.packed g3 c272 a=e4m3:1x128 out=e4m3:1x128 dir=col from=deepgemm",
    "convert.packed g3 c272 a=e4m3:1x32 out=e4m3:1x32 dir=col to=te",
    "convert.packed g3 c272 a=e4m3:1x32 out=e4m3:1x32 dir=col from=te",
)


class RunQuantize(CliTest):
    def reference(self, problem, *arguments, **keywords):
        report = self.json("run", problem, "--device", "reference", *arguments, **keywords)
        self.assertTrue(report["passed"], report["failure"])
        return report

    def test_a_quantizer_rounds_to_nearest_in_every_direction(self):
        for problem, written in QUANTIZERS.items():
            with self.subTest(problem):
                report = self.reference(problem, "--seed", 7)
                for group in report["groups"]:
                    self.assertEqual(group["checked"], group["rows"] * written)
                # Among thousands of values some lie near the middle of two neighbours, none further.
                self.assertGreater(report["error"], 0.95)
                self.assertLess(report["error"], 1.0001)

    def test_a_given_scale_is_used_and_what_is_beyond_it_saturates(self):
        report = self.reference(f"{TOKENS} out=e4m3:tensor {BOTH} +given +amax")
        self.assertLess(report["error"], 1.0001)

    def test_what_is_not_quantized_is_the_formula_rounded(self):
        for problem in WIDE + DEQUANTIZERS + CONVERTERS:
            with self.subTest(problem):
                report = self.reference(problem)
                self.assertEqual(report["error"], 0)
                self.assertGreater(sum(group["checked"] for group in report["groups"]), 0)
                self.assertGreater(report["gbps"], 0)

    def test_groups_may_be_empty_or_of_one_row(self):
        for problem in (*QUANTIZERS, *WIDE, *DEQUANTIZERS, *CONVERTERS):
            if ".uniform" in problem:
                continue
            for sizes in ("0", "1", "130") if ".dense" in problem else ("0,0,0", "1,0,130"):
                with self.subTest(problem, sizes=sizes):
                    self.assertEqual(self.reference(problem, "--sizes", sizes)["sizes"],
                                     [int(size) for size in sizes.split(",")])

    def test_masked_sizes_are_counts_in_buffers_of_g_times_m(self):
        report = self.reference(MASKED)
        self.assertEqual(report["capacity"], 3 * 160)
        self.assertLessEqual(max(report["sizes"]), 160)
        message = self.refused("run", MASKED, "--device", "reference", "--sizes", "1,161,0")
        self.assertIn("group 1 has 161 rows, more than the m160", message)

    def test_the_measure_says_how_it_is_judged(self):
        for problem, words in ((MASKED, "half steps"), (WIDE[0], "last place"), (DEQUANTIZERS[0], "value * SF"), (CONVERTERS[0], "operand")):
            with self.subTest(problem):
                self.assertIn(words, self.reference(problem, "--sizes", "3,0,2")["measure"])

    def test_bytes_are_each_input_and_each_output_once(self):
        tokens = "quantize.packed g1 c1024 in=bf16"
        for problem, per_element in ((f"{tokens} out=e4m3:1x128", 3 + 4 / 128),
                                     (f"{tokens} out=e4m3:1x128 {BOTH}", 4 + 8 / 128),
                                     (f"{tokens} act=swiglu out=e4m3:1x128", 5 + 4 / 128),
                                     (f"{tokens} act=swiglu out=e4m3:1x128 {BOTH} +grad", 2 + 4 + 4 + 16 / 128)):
            with self.subTest(problem):
                report = self.reference(problem, "--sizes", 128)
                moved = report["gbps"] * report["us"] * 1e3
                # Scales of columnwise blocks are sized by a bound, of one group twice what it has.
                self.assertAlmostEqual(moved / (128 * 1024), per_element, delta=0.11)

    def test_what_is_missing_or_does_not_go_together_is_refused_by_name(self):
        for problem, named in (
            ("quantize.packed g3 in=bf16 out=e4m3:1x128", "c<number>"),
            ("quantize.masked g3 c256 in=bf16 out=e4m3:1x128", "m<number>"),
            ("quantize.packed g3 c256 out=e4m3:1x128", "in="),
            ("quantize.packed g3 c256 in=bf16", "out="),
            ("quantize.packed g3 c256 in=e4m3 out=e4m3:1x128", "e4m3"),
            ("quantize.packed g3 c256 in=bf16 act=gelu il=8 out=e4m3:1x128", "il"),
            ("quantize.packed g3 c256 in=bf16 act=silu gate=second out=e4m3:1x128", "gate"),
            ("quantize.packed g3 c256 in=bf16 out=e4m3:1x128 +given", "given"),
            ("quantize.packed g3 c256 in=bf16 out=e4m3:1x128 +amax", "amax"),
            ("quantize.packed g3 c256 in=bf16 out=e4m3:1x128 +probs", "+probs without an activation"),
            ("quantize.packed g3 c256 in=bf16 act=swiglu out=e4m3:1x128 +dbias", "+grad"),
            ("quantize.packed g3 c250 in=bf16 out=e4m3:1x128", "C=250"),
            ("quantize.packed g3 c256 in=bf16 out=e4m3:1x128@k_major dir=col", "k_major"),
            ("quantize.packed g3 c256 in=bf16 out=e4m3:32x32", "32x32"),
            ("quantize.packed g3 c256 in=bf16 out=e4m3:1x128@block2d", "block2d"),
            ("activation.packed g3 c256 d=bf16 in=bf16", "act="),
            ("activation.packed g3 c256 in=bf16 act=silu", "d="),
            ("dequantize.packed g3 c256 a=e4m3:1x128", "d="),
            ("dequantize.packed g3 c256 a=e4m3:1x128 d=bf16 dir=row,col", "row,col"),
            ("convert.packed g3 c256 a=e4m3:1x32", "out="),
            ("convert.packed g3 c256 a=e4m3:1x32 out=e5m2:1x32@swizzled", "e5m2"),
            ("convert.packed g3 c256 a=e4m3:1x128 out=e4m3:1x128 to=deepgemm", "dir="),
        ):
            with self.subTest(problem):
                self.assertIn(named, self.refused("run", problem, "--device", "reference"))


if __name__ == "__main__":
    main()
