"""octet plan and octet build --plan."""

from support import CliTest, main

PLAN = "linear.packed g2 n64 k128"


class Plan(CliTest):
    def test_text_has_every_step_and_no_bytes_unless_asked(self):
        text = self.octet("plan", PLAN).stdout
        for word in ("quantize_w", "quantize_x", "dgrad", "wgrad", "backward_weights"):
            self.assertIn(word, text)
        self.assertNotIn("bytes", text)
        self.assertIn("bytes with room for 100 rows", self.octet("plan", PLAN, "--capacity", 100).stdout)

    def test_json_has_the_same(self):
        plan = self.json("plan", PLAN, "--capacity", 100)
        self.assertEqual(plan["plan"], PLAN)
        forward = plan["passes"]["forward"]
        self.assertEqual([step["name"] for step in forward], ["quantize_x", "gemm"])
        self.assertEqual(forward[1]["arguments"], {"a": "x.row", "b": "w.row", "d": "y"})
        x = next(one for one in plan["buffers"] if one["name"] == "x")
        self.assertEqual((x["data_bytes"], x["rows"], x["columns"]), (100 * 128 * 2, None, 128))
        self.assertEqual(set(plan["bytes"]), {"quantized_weights", "saved", "deferred", "scratch"})

    def test_pictures(self):
        self.assertTrue(self.octet("plan", PLAN, "--mermaid").stdout.startswith(f"%% {PLAN}\nflowchart TD\n"))
        self.assertTrue(self.octet("plan", PLAN, "--dot").stdout.startswith(f"// {PLAN}\ndigraph plan {{\n"))

    def test_refusals_name_the_rule(self):
        self.assertIn("plan.missing-item", self.refused("plan", "linear.packed g2"))
        self.assertIn("did you mean", self.refused("plan", "linear.paked g2"))
        self.assertIn("octet explain", self.refused("plan", "gemm.packed g2 n64 k128"))
        self.assertIn("octet plan", self.refused("explain", PLAN))
        self.assertIn("step gemm", self.refused("plan", PLAN + " +fastacc"))

    def test_build_takes_plans_as_it_takes_problems(self):
        dry = self.json("build", "--plan", PLAN, "--dry-run")
        self.assertEqual(dry["problems"], self.json("build", PLAN, "--dry-run")["problems"])
        listed = self.path("list.txt", f"# plans and problems\n{PLAN}\n")
        self.assertEqual(dry["results"], self.json("build", "--from", listed, "--dry-run")["results"])
        steps = [step["problem"] for steps in self.json("plan", PLAN)["passes"].values() for step in steps]
        self.assertEqual(dry["problems"], list(dict.fromkeys(steps)))
        problem = "quantize.packed g2 c4096 in=bf16 out=e4m3:1x128"
        both = self.json("build", "--plan", PLAN, problem, "--dry-run")["problems"]
        self.assertEqual(sorted(both), sorted([*dry["problems"], problem]))
        self.assertIn("list.txt:1: ", self.refused("build", "--from", self.path("list.txt", "linear.packed g2\n")))

    def test_a_plan_is_built_whole(self):
        built = self.json("build", "--plan", "linear.packed g2 n64 k128 +inference", "--max-m", 16)
        self.assertEqual(built["failed"], 0)
        self.assertGreaterEqual(built["kernels"], 3)


if __name__ == "__main__":
    main()
