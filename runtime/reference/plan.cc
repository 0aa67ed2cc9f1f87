// A plan's steps on the host, one after the other, with the results that a GPU would store between them.
#include <vector>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/layout.h"
#include "octet/plan_run.h"
#include "octet/reference.h"
#include "runtime/gemm_traits.h"
#include "runtime/plan_places.h"
#include "runtime/plan_splits.h"
#include "runtime/reference/elements.h"
#include "runtime/reference/plan_weights.h"

namespace octet::reference {
namespace {

struct StepContext {
  const Plan& plan;
  const PlanPlaces& places;
  const GroupExtents& groups;  // of tokens
  std::int64_t capacity;
  int threads;

  const PlanBuffer& buffer(const PlanStep& step, PlanArgument argument) const {
    return plan.buffers[static_cast<std::size_t>(step.buffer(argument))];
  }
  const void* data(const PlanStep& step, PlanArgument argument) const { return places.at(step, argument).data; }
  float* floats(const PlanStep& step, PlanArgument argument) const {
    return reinterpret_cast<float*>(places.at(step, argument).data);
  }
};

bool is_set(const void* noop) { return noop != nullptr && *static_cast<const std::uint32_t*>(noop) != 0; }

void quantize_tokens(const StepContext& x, const PlanStep& step) {
  QuantizeInputs in;
  in.in = x.data(step, PlanArgument::in);
  in.pre = x.data(step, PlanArgument::pre);
  in.probs = x.floats(step, PlanArgument::probs);
  QuantizeOutputs out;
  const PlanPlace& row = x.places.at(step, PlanArgument::out);
  const PlanPlace& col = x.places.at(step, PlanArgument::out_col);
  out.data = reinterpret_cast<std::uint8_t*>(row.data);
  out.sf = row.sf;
  out.data_col = reinterpret_cast<std::uint8_t*>(col.data);
  out.sf_col = col.sf;
  out.dprobs = x.floats(step, PlanArgument::dprobs);
  out.dbias = x.floats(step, PlanArgument::dbias);
  quantize(step.problem, in, x.groups, x.capacity, out);
}

void quantize_weights(const StepContext& x, const PlanStep& step) {
  const PlanPlace& row = x.places.at(step, PlanArgument::out);
  const PlanPlace& col = x.places.at(step, PlanArgument::out_col);
  const GroupExtents groups = uniform_extents(step.problem.g, step.problem.n);
  for (std::int64_t i = 0; i < x.buffer(step, PlanArgument::in).tensors; ++i) {
    QuantizeInputs in;
    in.in = x.places.at(step, PlanArgument::in).tensor(i);
    in.noop = is_set(x.data(step, PlanArgument::noop));
    QuantizeOutputs out;
    out.data = static_cast<std::uint8_t*>(row.tensor(i));
    out.sf = row.tensor_sf(i);
    if (x.places.has(step, PlanArgument::out_col)) {
      out.data_col = static_cast<std::uint8_t*>(col.tensor(i));
      out.sf_col = col.tensor_sf(i);
    }
    quantize(step.problem, in, groups, 0, out);
  }
}

// Where D's elements lie: one tensor, or one of each group.
class Output {
 public:
  Output(const StepContext& x, const PlanStep& step)
      : place_(x.places.at(step, PlanArgument::d)),
        type_(*step.problem.d),
        per_tensor_(x.buffer(step, PlanArgument::d).tensors > 1 ? step.problem.n * step.problem.k : 0) {}

  double load(std::int64_t index) const { return load_element(tensor(index), type_, within(index)); }
  void store(std::int64_t index, double value) const {
    store_element(tensor(index), type_, within(index), static_cast<float>(value));
  }

 private:
  void* tensor(std::int64_t index) const { return per_tensor_ == 0 ? place_.data : place_.tensor(index / per_tensor_); }
  std::int64_t within(std::int64_t index) const { return per_tensor_ == 0 ? index : index % per_tensor_; }

  const PlanPlace& place_;
  DType type_;
  std::int64_t per_tensor_;
};

// Elements of D that the step writes, as ranges of indices.
template <typename Visit>
void for_each_element(const StepContext& x, const Problem& problem, const Visit& visit) {
  if (is_wgrad(problem)) {
    for (std::int64_t i = 0; i < problem.g * problem.n * problem.k; ++i) visit(i);
    return;
  }
  for (std::size_t g = 0; g < x.groups.begin.size(); ++g) {
    for (std::int64_t i = x.groups.begin[g] * problem.n; i < x.groups.end[g] * problem.n; ++i) visit(i);
  }
}

std::int64_t elements_of_d(const StepContext& x, const Problem& problem) {
  if (is_wgrad(problem)) return problem.g * problem.n * problem.k;
  return buffer_rows(problem, x.capacity) * problem.n;
}

void multiply(const StepContext& x, const PlanStep& step) {
  const Problem& problem = step.problem;
  const PlanPlace& a = x.places.at(step, PlanArgument::a);
  const PlanPlace& b = x.places.at(step, PlanArgument::b);
  const PlanBuffer& weights = x.buffer(step, PlanArgument::b);
  GemmInputs in;
  in.a = reinterpret_cast<const std::uint8_t*>(a.data);
  in.a_sf = a.sf;
  in.b = reinterpret_cast<const std::uint8_t*>(b.data);
  in.b_sf = b.sf;
  in.bias = x.data(step, PlanArgument::bias);
  GatheredWeights gathered;
  if (weights.tensors > 1) {
    gathered = gather(*weights.producer, weights.columnwise, b, weights.tensors, x.plan.bytes(weights, x.capacity));
    in.b = gathered.data.data();
    in.b_sf = gathered.sf.data();
  }
  const Output output(x, step);
  std::vector<double> d(static_cast<std::size_t>(elements_of_d(x, problem)));
  if (problem.has(Flag::acc)) {
    for_each_element(x, problem, [&](std::int64_t i) { d[static_cast<std::size_t>(i)] = output.load(i); });
  }
  gemm(problem, in, x.groups, x.capacity, d.data(), x.threads);
  for_each_element(x, problem, [&](std::int64_t i) { output.store(i, d[static_cast<std::size_t>(i)]); });
}

GroupExtents groups_of(const PlanFacts& facts, const PlanRows& rows) {
  if (facts.layout == Layout::dense) return {{0}, {rows.capacity}};
  return read_splits(facts, rows.splits, rows.capacity);
}

void require_kind(const Plan& plan, PlanKind kind, const char* tensors) {
  if (plan.facts.kind == kind) return;
  throw Error(ErrorCode::invalid_problem,
              fmt::format("'{}': {} are those of a {} plan", plan.facts.to_string(), tensors, to_string(kind)));
}

void run_call(const Plan& plan, PlanPass pass, const PlanCall& call, int threads) {
  const PlanPlaces places(plan, pass, call, false);
  GroupExtents groups;
  if (pass != PlanPass::quantize_weights) groups = groups_of(plan.facts, call.rows);
  const StepContext context{plan, places, groups, call.rows.capacity, threads};
  for (const PlanStep& step : plan.steps(pass)) {
    if (is_gemm(step.problem)) {
      multiply(context, step);
    } else if (step.problem.layout == Layout::uniform) {
      quantize_weights(context, step);
    } else {
      quantize_tokens(context, step);
    }
  }
}

}  // namespace

void run(const Plan& plan, PlanPass pass, const MlpTensors& tensors, int threads) {
  require_kind(plan, PlanKind::mlp, "MlpTensors");
  run_call(plan, pass, PlanCall(tensors), threads);
}
void run(const Plan& plan, PlanPass pass, const LinearTensors& tensors, int threads) {
  require_kind(plan, PlanKind::linear, "LinearTensors");
  run_call(plan, pass, PlanCall(tensors), threads);
}

}  // namespace octet::reference
