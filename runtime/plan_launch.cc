#include "runtime/plan_launch.h"

#include <fmt/format.h>

#include "octet/error.h"
#include "runtime/gemm_traits.h"

namespace octet {
namespace {

constexpr std::size_t kMostGroups = 1024;

// Addresses of a buffer's tensors, one per group.
struct TensorTable {
  std::array<const void*, kMostGroups> data, sf;
  TensorTable(const PlanPlace& place, std::int64_t tensors) {
    for (std::int64_t g = 0; g < tensors; ++g) {
      data[static_cast<std::size_t>(g)] = place.tensor(g);
      sf[static_cast<std::size_t>(g)] = place.tensor_sf(g);
    }
  }
};

GemmArgs gemm_args(const PlanStep& step, const PlanPlaces& places, const PlanCall& call) {
  GemmArgs args;
  args.a = places.at(step, PlanArgument::a).operand();
  args.b = places.at(step, PlanArgument::b).operand();
  args.d = places.at(step, PlanArgument::d).data;
  args.d_data = places.at(step, PlanArgument::d).data_tensors;
  args.bias = places.at(step, PlanArgument::bias).data;
  args.splits = call.rows.splits;
  args.capacity = call.rows.capacity;
  args.workspace = places.workspace();
  return args;
}

QuantizeArgs quantize_args(const PlanStep& step, const PlanPlaces& places, const PlanCall& call) {
  const auto floats = [&](PlanArgument argument) { return reinterpret_cast<float*>(places.at(step, argument).data); };
  QuantizeArgs args;
  args.in = places.at(step, PlanArgument::in).data;
  args.pre = places.at(step, PlanArgument::pre).data;
  args.out = places.at(step, PlanArgument::out).operand();
  args.out_col = places.at(step, PlanArgument::out_col).operand();
  args.probs = floats(PlanArgument::probs);
  args.dprobs = floats(PlanArgument::dprobs);
  args.dbias = floats(PlanArgument::dbias);
  args.noop = places.at(step, PlanArgument::noop).data;
  args.workspace = places.workspace();
  if (step.problem.layout == Layout::uniform) return args;
  args.splits = call.rows.splits;
  args.capacity = call.rows.capacity;
  return args;
}

const Plan& require_pass(const Plan& plan, PlanPass pass) {
  const bool is_backward = pass == PlanPass::backward_data || pass == PlanPass::backward_weights;
  if (!is_backward || !plan.facts.inference) return plan;
  throw Error(ErrorCode::invalid_problem, fmt::format("'{}': no {} with +inference; leave +inference out",
                                                      plan.facts.to_string(), to_string(pass)));
}

}  // namespace

PreparedPass::PreparedPass(const Plan& plan, PlanPass pass, const PlanCall& call, Runtime& runtime)
    : plan_(require_pass(plan, pass)), pass_(pass), call_(call), places_(plan, pass, call, true) {
  const Hints hints{call.rows.expected_m, -1};
  const std::vector<PlanStep>& steps = plan.steps(pass);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (is_gemm(steps[i].problem)) {
      kernels_.at(i).gemm = runtime.prepare_gemm(steps[i].problem, hints);
    } else {
      kernels_.at(i).quantize = runtime.prepare_quantize(steps[i].problem, hints);
    }
  }
}

void PreparedPass::launch(Stream stream) const {
  const std::vector<PlanStep>& steps = plan_.steps(pass_);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (is_gemm(steps[i].problem)) {
      launch_gemm(steps[i], kernels_[i].gemm, stream);
    } else {
      launch_quantizer(steps[i], kernels_[i].quantize, stream);
    }
  }
}

void PreparedPass::launch_gemm(const PlanStep& step, const Gemm& kernel, Stream stream) const {
  GemmArgs args = gemm_args(step, places_, call_);
  const PlanPlace& b = places_.at(step, PlanArgument::b);
  if (!step.problem.weights_by_pointer || is_wgrad(step.problem)) return kernel.launch(args, stream);
  if (b.has_pointers()) {
    args.b_data = b.data_tensors;
    args.b_sf = b.sf_tensors;
    return kernel.launch(args, stream);
  }
  const TensorTable table(b, step.problem.g);
  args.b_data.host = table.data.data();
  args.b_sf.host = table.sf.data();
  kernel.launch(args, stream);
}

void PreparedPass::launch_quantizer(const PlanStep& step, const Quantize& kernel, Stream stream) const {
  QuantizeArgs args = quantize_args(step, places_, call_);
  if (step.problem.layout != Layout::uniform || !plan_.facts.weights_by_pointer) return kernel.launch(args, stream);
  for (std::int64_t g = 0; g < plan_.facts.groups; ++g) {
    args.in = places_.at(step, PlanArgument::in).tensor(g);
    args.out.data = places_.at(step, PlanArgument::out).tensor(g);
    args.out.sf = places_.at(step, PlanArgument::out).tensor_sf(g);
    if (places_.has(step, PlanArgument::out_col)) {
      args.out_col.data = places_.at(step, PlanArgument::out_col).tensor(g);
      args.out_col.sf = places_.at(step, PlanArgument::out_col).tensor_sf(g);
    }
    kernel.launch(args, stream);
  }
}

}  // namespace octet
