"""What a model's config asks to build. The expected shapes are written out by hand from the published models."""

import json
import os

from support import MODELS, CliTest, main


def gemm(groups, n, k):
    return f"gemm.packed g{groups} n{n} k{k} a=e4m3:1x128 b=e4m3:128x128 d=bf16"


def tokens(groups, columns):
    return f"quantize.packed g{groups} c{columns} in=bf16 out=e4m3:1x128"


def weights(groups, n, k):
    return f"quantize.uniform g{groups} n{n} k{k} in=bf16 out=e4m3:128x128"


class Models(CliTest):
    def plan(self, config, *arguments):
        return self.json("build", "--hf-config", config, "--dry-run", *arguments)

    def problems(self, model, *arguments):
        return self.plan(os.path.join(MODELS, model), *arguments)["problems"]

    def test_deepseek_v3(self):
        self.assertEqual(self.problems("deepseek-v3.json", "--ep", 32),
                         [gemm(8, 4096, 7168), gemm(8, 7168, 2048), tokens(8, 7168), tokens(8, 2048),
                          weights(8, 4096, 7168), weights(8, 7168, 2048)])

    def test_qwen3_235b_a22b(self):
        self.assertEqual(self.problems("qwen3-235b-a22b.json", "--ep", 8),
                         [gemm(16, 3072, 4096), gemm(16, 4096, 1536), tokens(16, 4096), tokens(16, 1536),
                          weights(16, 3072, 4096), weights(16, 4096, 1536)])

    def test_mixtral_8x7b_with_tensor_parallelism(self):
        self.assertEqual(self.problems("mixtral-8x7b.json", "--tp", 4),
                         [gemm(8, 7168, 4096), gemm(8, 4096, 3584), tokens(8, 4096), tokens(8, 3584),
                          weights(8, 7168, 4096), weights(8, 4096, 3584)])

    def test_gpt_oss_120b_shares_one_token_quantizer(self):
        self.assertEqual(self.problems("gpt-oss-120b.json", "--ep", 4),
                         [gemm(32, 5760, 2880), gemm(32, 2880, 2880), tokens(32, 2880),
                          weights(32, 5760, 2880), weights(32, 2880, 2880)])

    def test_a_nested_text_config_is_read(self):
        config = {"text_config": {"hidden_size": 5120, "intermediate_size": 8192, "num_local_experts": 128}}
        problems = self.plan(self.path("llama4.json", json.dumps(config)), "--ep", 128)["problems"]
        self.assertEqual(problems[:2], [gemm(1, 16384, 5120), gemm(1, 5120, 8192)])

    def test_every_kernel_is_planned_once_and_nothing_is_done(self):
        plan = self.plan(os.path.join(MODELS, "deepseek-v3.json"), "--ep", 32)
        specs = [result["spec"] for result in plan["results"]]
        self.assertEqual(len(set(specs)), plan["kernels"])
        self.assertGreaterEqual(plan["kernels"], len(plan["problems"]))
        self.assertEqual({result["problem"] for result in plan["results"]}, set(plan["problems"]))
        self.assertFalse(os.path.exists(self.cache))

    def test_parallelism_that_does_not_divide_is_refused(self):
        config = os.path.join(MODELS, "deepseek-v3.json")
        self.assertIn("ep=7: does not divide the 256 experts", self.refused("build", "--hf-config", config, "--ep", 7))
        self.assertIn("tp=3: does not divide the 2048", self.refused("build", "--hf-config", config, "--tp", 3))

    def test_a_bad_config_is_refused_with_its_name_and_the_key(self):
        good = {"hidden_size": 256, "moe_intermediate_size": 128, "num_experts": 2}
        for text, named in (
            ("{", "not valid JSON"),
            ("[1]", "not a JSON object"),
            (json.dumps({**good, "hidden_size": None}), "hidden_size"),
            (json.dumps({**good, "num_experts": "two"}), "num_experts"),
            (json.dumps({"hidden_size": 256, "num_experts": 2}), "moe_intermediate_size"),
            (json.dumps({"hidden_size": 256, "intermediate_size": 128}), "mixture-of-experts"),
        ):
            with self.subTest(text=text):
                line = self.refused("build", "--hf-config", self.path("bad.json", text))
                self.assertIn(named, line)
                self.assertIn("bad.json", line)
        self.assertIn("no-such.json", self.refused("build", "--hf-config", "no-such.json"))


if __name__ == "__main__":
    main()
