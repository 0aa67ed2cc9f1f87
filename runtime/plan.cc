// The two families, step by step. Which kernels they are made of, and in what order, is said here and nowhere else.
#include "octet/plan.h"

#include <algorithm>

#include "octet/explain.h"
#include "octet/layout.h"
#include "runtime/plan_builder.h"
#include "runtime/plan_rules.h"

namespace octet {
namespace {

using A = PlanArgument;
using P = PlanPass;
using R = PlanRole;
using T = PlanTensor;

// The gradient of an output: its bias's gradient comes from the same read.
Problem gradient_quantizer(const PlanBuilder& plan, std::int64_t columns) {
  Problem problem = plan.token_quantizer(columns, plan.facts().dy_recipe());
  problem.flags = bit(plan.facts().bias, Flag::grad) | bit(plan.facts().bias, Flag::dbias);
  return problem;
}

Problem activation_quantizer(const PlanBuilder& plan, const Recipe& recipe) {
  Problem problem = plan.token_quantizer(plan.facts().intermediate, recipe);
  problem.act = plan.facts().activation;
  problem.gate_second = plan.facts().gate_second;
  problem.il = plan.facts().interleave;
  problem.flags = bit(plan.facts().probs, Flag::probs);
  return problem;
}

int bias_of(PlanBuilder& plan, const char* name, T tensor, std::int64_t columns) {
  return plan.facts().bias ? plan.of_groups(name, R::input, tensor, plan.facts().d, columns) : -1;
}
int dbias_of(PlanBuilder& plan, const char* name, T tensor, std::int64_t columns) {
  return plan.facts().bias ? plan.of_groups(name, R::output, tensor, DType::f32, columns) : -1;
}

Plan linear_plan(const PlanFacts& facts) {
  PlanBuilder plan(facts);
  const std::int64_t n = facts.n, k = facts.k;
  const std::uint32_t bias_flag = bit(facts.bias, Flag::bias);
  const int x = plan.tokens("x", R::input, T::x, k);
  const QuantizedPair w = plan.weights("w", T::w1, n, k);
  const int bias = bias_of(plan, "bias", T::bias1, n), y = plan.tokens("y", R::output, T::y, n);

  const QuantizedPair xq =
      plan.quantize(P::forward, "x", plan.token_quantizer(k, facts.x_recipe()), R::saved, {{A::in, x}});
  plan.gemm(P::forward, "gemm", n, k, Direction::row, bias_flag,
            {{A::a, xq.row}, {A::b, w.row}, {A::bias, bias}, {A::d, y}});
  if (!plan.trains()) return plan.take();

  const int dy = plan.tokens("dy", R::input, T::dy, n), dx = plan.tokens("dx", R::output, T::dx, k);
  const int dbias = dbias_of(plan, "dbias", T::dbias1, n), dw = plan.weight_gradient("dw", T::dw1, n, k);
  const QuantizedPair dyq =
      plan.quantize(P::backward_data, "dy", gradient_quantizer(plan, n), R::deferred, {{A::in, dy}, {A::dbias, dbias}});
  plan.gemm(P::backward_data, "dgrad", k, n, Direction::col, 0, {{A::a, dyq.row}, {A::b, w.col}, {A::d, dx}});
  plan.wgrad("wgrad", n, k, {{A::a, dyq.col}, {A::b, xq.col}, {A::d, dw}});
  return plan.take();
}

// Buffers of an MLP that its forward leaves to its backward.
struct MlpForward {
  QuantizedPair w1, w2, x, a;
  int h = -1, probs = -1;
};

MlpForward mlp_forward(PlanBuilder& plan, std::int64_t features) {
  const PlanFacts& facts = plan.facts();
  const std::int64_t hidden = facts.hidden, inner = facts.intermediate;
  const std::uint32_t bias_flag = bit(facts.bias, Flag::bias);
  MlpForward made;
  const int x = plan.tokens("x", R::input, T::x, hidden);
  made.w1 = plan.weights("w1", T::w1, features, hidden);
  made.w2 = plan.weights("w2", T::w2, hidden, inner);
  const int bias1 = bias_of(plan, "bias1", T::bias1, features), bias2 = bias_of(plan, "bias2", T::bias2, hidden);
  if (facts.probs) made.probs = plan.of_tokens("probs", R::input, T::probs);
  const int y = plan.tokens("y", R::output, T::y, hidden);
  made.h = plan.between("h", plan.trains() ? R::saved : R::scratch, P::forward, features);

  made.x = plan.quantize(P::forward, "x", plan.token_quantizer(hidden, facts.x_recipe()), R::saved, {{A::in, x}});
  plan.gemm(P::forward, "gemm1", features, hidden, Direction::row, bias_flag,
            {{A::a, made.x.row}, {A::b, made.w1.row}, {A::bias, bias1}, {A::d, made.h}});
  made.a = plan.quantize(P::forward, "a", activation_quantizer(plan, facts.x_recipe()), R::saved,
                         {{A::in, made.h}, {A::probs, made.probs}});
  plan.gemm(P::forward, "gemm2", hidden, inner, Direction::row, bias_flag,
            {{A::a, made.a.row}, {A::b, made.w2.row}, {A::bias, bias2}, {A::d, y}});
  return made;
}

void mlp_backward(PlanBuilder& plan, const MlpForward& forward, std::int64_t features) {
  const PlanFacts& facts = plan.facts();
  const std::int64_t hidden = facts.hidden, inner = facts.intermediate;
  const int dy = plan.tokens("dy", R::input, T::dy, hidden), dx = plan.tokens("dx", R::output, T::dx, hidden);
  const int dbias1 = dbias_of(plan, "dbias1", T::dbias1, features);
  const int dbias2 = dbias_of(plan, "dbias2", T::dbias2, hidden);
  const int dprobs = facts.probs ? plan.of_tokens("dprobs", R::output, T::dprobs) : -1;
  const int dw1 = plan.weight_gradient("dw1", T::dw1, features, hidden);
  const int dw2 = plan.weight_gradient("dw2", T::dw2, hidden, inner);
  const int da = plan.between("da", R::scratch, P::backward_data, inner);

  const QuantizedPair dyq = plan.quantize(P::backward_data, "dy", gradient_quantizer(plan, hidden), R::deferred,
                                          {{A::in, dy}, {A::dbias, dbias2}});
  plan.gemm(P::backward_data, "dgrad2", inner, hidden, Direction::col, 0,
            {{A::a, dyq.row}, {A::b, forward.w2.col}, {A::d, da}});
  Problem backward = activation_quantizer(plan, facts.dy_recipe());
  backward.flags |= bit(true, Flag::grad) | bit(facts.bias, Flag::dbias);
  const QuantizedPair dh = plan.quantize(
      P::backward_data, "dh", backward, R::deferred,
      {{A::in, da}, {A::pre, forward.h}, {A::probs, forward.probs}, {A::dprobs, dprobs}, {A::dbias, dbias1}});
  plan.gemm(P::backward_data, "dgrad1", hidden, features, Direction::col, 0,
            {{A::a, dh.row}, {A::b, forward.w1.col}, {A::d, dx}});
  plan.wgrad("wgrad2", hidden, inner, {{A::a, dyq.col}, {A::b, forward.a.col}, {A::d, dw2}});
  plan.wgrad("wgrad1", features, hidden, {{A::a, dh.col}, {A::b, forward.x.col}, {A::d, dw1}});
}

Plan mlp_plan(const PlanFacts& facts) {
  PlanBuilder plan(facts);
  const std::int64_t features = is_gated(facts.activation) ? 2 * facts.intermediate : facts.intermediate;
  const MlpForward forward = mlp_forward(plan, features);
  if (plan.trains()) mlp_backward(plan, forward, features);
  return plan.take();
}

}  // namespace

Plan make_plan(const PlanFacts& facts, const DeviceFacts& device) {
  if (const std::optional<Refusal> refused = refuse(facts)) throw_refusal(*refused, facts);
  Plan plan = facts.kind == PlanKind::mlp ? mlp_plan(facts) : linear_plan(facts);
  if (const std::optional<Refusal> refused = refuse(plan, device)) throw_refusal(*refused, facts);
  return plan;
}

std::vector<Problem> problems_of(const Plan& plan) {
  std::vector<Problem> problems;
  for (const std::vector<PlanStep>& steps : plan.passes) {
    for (const PlanStep& step : steps) {
      if (std::find(problems.begin(), problems.end(), step.problem) == problems.end()) problems.push_back(step.problem);
    }
  }
  return problems;
}

std::vector<Spec> variants(const Plan& plan, std::int64_t max_m, const DeviceFacts& device) {
  std::vector<Spec> specs;
  for (const Problem& problem : problems_of(plan)) {
    const std::vector<Spec> of_problem = variants(problem, max_m, device);
    specs.insert(specs.end(), of_problem.begin(), of_problem.end());
  }
  return specs;
}

}  // namespace octet
