// The two plans' public face.
#include "octet/plan_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/cost.h"
#include "runtime/driver.h"
#include "runtime/gemm_traits.h"
#include "runtime/plan_call.h"
#include "runtime/plan_launch.h"
#include "runtime/plan_splits.h"

namespace octet {
namespace {

const PlanFacts& of_kind(PlanKind kind, const PlanFacts& facts) {
  if (facts.kind == kind) return facts;
  throw Error(ErrorCode::invalid_problem, fmt::format("'{}': these are facts of a {} plan, not of a {} plan",
                                                      facts.to_string(), to_string(facts.kind), to_string(kind)));
}

void prepare(Runtime& runtime, const Problem& problem, const Hints& hints) {
  if (is_gemm(problem)) {
    runtime.prepare_gemm(problem, hints);
  } else {
    runtime.prepare_quantize(problem, hints);
  }
}

void run(const Plan& plan, PlanPass pass, const PlanCall& call, Runtime& runtime, Stream stream) {
  PreparedPass(plan, pass, call, runtime).launch(stream);
}

// Nothing is launched unless both passes can be.
void run_backward(const Plan& plan, const PlanCall& call, Runtime& runtime, Stream stream) {
  const PreparedPass data(plan, PlanPass::backward_data, call, runtime);
  const PreparedPass weights(plan, PlanPass::backward_weights, call, runtime);
  data.launch(stream);
  weights.launch(stream);
}

// The context that a stream's work goes to, current for a scope; of the default streams the current one.
class StreamContext {
 public:
  explicit StreamContext(Stream stream) : scope_(context_of(stream)) {}

 private:
  static CUcontext context_of(Stream stream) {
    CUcontext context = nullptr;
    const bool is_default = stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
    if (is_default) {
      check(Driver::get().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
    } else {
      check(Driver::get().cuStreamGetCtx(stream, &context), "cuStreamGetCtx");
    }
    return context;
  }
  ScopedContext scope_;
};

void require_no_capture(const PlanFacts& facts, Stream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(Driver::get().cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing");
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("'{}': upload_splits while the stream is being captured: a replay would copy what the host's "
                          "memory holds by then; upload before the capture, and again before each replay",
                          facts.to_string()));
}

}  // namespace

GroupedPlan::GroupedPlan(Runtime& runtime, const PlanFacts& facts, const DeviceFacts& device)
    : runtime_(&runtime), plan_(make_plan(facts, device)) {}

void GroupedPlan::prepare_all(const PrepareAll& all) const {
  if (all.max_m < 1) {
    throw Error(ErrorCode::invalid_argument, fmt::format("max_m={}: give at least 1 row per group", all.max_m));
  }
  for (const Problem& problem : problems_of(plan_)) {
    prepare(*runtime_, problem, {0, all.device});
    // A call looks its kernel up by the bucket that its expected_m is in.
    for (int index = 1; index <= bucket(all.max_m); ++index) {
      prepare(*runtime_, problem, {first_rows(index), all.device});
    }
  }
}

std::vector<Built> GroupedPlan::build_all(std::int64_t max_m, const DeviceFacts& device) const {
  std::vector<Built> built;
  for (const Spec& spec : variants(plan_, max_m, device)) built.push_back(runtime_->build(spec));
  return built;
}

void GroupedPlan::upload_splits(const void* host, std::int64_t capacity, void* splits, Stream stream) const {
  const PlanFacts& facts = plan_.facts;
  if (host == nullptr || splits == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}': {} is null", facts.to_string(), host == nullptr ? "host" : "splits"));
  }
  read_splits(facts, host, capacity);
  require_no_capture(facts, stream);
  const StreamContext context(stream);
  const auto bytes = static_cast<std::size_t>(splits_count(facts) * (facts.splits.is_i64 ? 8 : 4));
  check(Driver::get().cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(splits), host, bytes, stream),
        "cuMemcpyHtoDAsync");
}

GroupedMlpPlan::GroupedMlpPlan(Runtime& runtime, const PlanFacts& facts, const DeviceFacts& device)
    : GroupedPlan(runtime, of_kind(PlanKind::mlp, facts), device) {}
GroupedLinearPlan::GroupedLinearPlan(Runtime& runtime, const PlanFacts& facts, const DeviceFacts& device)
    : GroupedPlan(runtime, of_kind(PlanKind::linear, facts), device) {}

void GroupedMlpPlan::quantize_weights(const MlpTensors& tensors, Stream stream) const {
  run(plan_, PlanPass::quantize_weights, PlanCall(tensors), *runtime_, stream);
}
void GroupedMlpPlan::forward(const MlpTensors& tensors, Stream stream) const {
  run(plan_, PlanPass::forward, PlanCall(tensors), *runtime_, stream);
}
void GroupedMlpPlan::backward(const MlpTensors& tensors, Stream stream) const {
  run_backward(plan_, PlanCall(tensors), *runtime_, stream);
}
void GroupedMlpPlan::backward_data(const MlpTensors& tensors, Stream stream) const {
  run(plan_, PlanPass::backward_data, PlanCall(tensors), *runtime_, stream);
}
void GroupedMlpPlan::backward_weights(const MlpTensors& tensors, Stream stream) const {
  run(plan_, PlanPass::backward_weights, PlanCall(tensors), *runtime_, stream);
}

void GroupedLinearPlan::quantize_weights(const LinearTensors& tensors, Stream stream) const {
  run(plan_, PlanPass::quantize_weights, PlanCall(tensors), *runtime_, stream);
}
void GroupedLinearPlan::forward(const LinearTensors& tensors, Stream stream) const {
  run(plan_, PlanPass::forward, PlanCall(tensors), *runtime_, stream);
}
void GroupedLinearPlan::backward(const LinearTensors& tensors, Stream stream) const {
  run_backward(plan_, PlanCall(tensors), *runtime_, stream);
}
void GroupedLinearPlan::backward_data(const LinearTensors& tensors, Stream stream) const {
  run(plan_, PlanPass::backward_data, PlanCall(tensors), *runtime_, stream);
}
void GroupedLinearPlan::backward_weights(const LinearTensors& tensors, Stream stream) const {
  run(plan_, PlanPass::backward_weights, PlanCall(tensors), *runtime_, stream);
}

}  // namespace octet
