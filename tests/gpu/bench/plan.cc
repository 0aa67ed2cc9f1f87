#include "tests/gpu/bench/plan.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "octet/reference.h"
#include "tests/support/plan_binding.h"

namespace octet::bench {
namespace {

// Experts of one device, and their sizes.
constexpr const char* kLayers[] = {
    "g8 h7168 i2048",   // DeepSeek-V3
    "g32 h7168 i2048",  // the same on fewer devices
    "g16 h4096 i1536",  // Qwen3-235B-A22B
    "g8 h4096 i14336",  // Mixtral 8x7B
};
constexpr std::int64_t kDecode = 64, kPrefill = 8192;

std::int64_t expected_rows(const PlanFacts& facts, std::int64_t rows) {
  return std::max<std::int64_t>(1, rows / facts.groups);
}

class PlanRun {
 public:
  PlanRun(const PlanBenchmark& benchmark, Runtime& runtime, const Operands& operands)
      : mlp_(runtime, benchmark.facts()), capacity_(benchmark.rows) {
    const Plan& plan = mlp_.plan();
    std::vector<char*> addresses;
    for (const PlanBuffer& buffer : plan.buffers) {
      const bool given = buffer.tensor != PlanTensor::none;
      const std::int64_t bytes = given ? test::plan_tensor_bytes(plan.bytes(buffer, capacity_)) : 0;
      buffers_.push_back(operands.values(static_cast<std::size_t>(bytes / 2)));
      addresses.push_back(static_cast<char*>(buffers_.back().at()));
      if (buffer.tensor == PlanTensor::y) y_ = buffers_.size() - 1;
    }
    upload_splits(plan.facts.groups);
    const PlanMemory memory{block(PlanRole::quantized_weights), block(PlanRole::saved), block(PlanRole::deferred),
                            block(PlanRole::scratch)};
    const PlanRows rows{splits_.at(), capacity_, expected_rows(plan.facts, capacity_)};
    binding_ = std::make_unique<test::PlanBinding>(plan, std::move(addresses), rows, memory);
  }

  void quantize_weights(CUstream stream) const { mlp_.quantize_weights(binding_->mlp, stream); }
  void launch(CUstream stream) const {
    mlp_.forward(binding_->mlp, stream);
    if (!mlp_.plan().facts.inference) mlp_.backward(binding_->mlp, stream);
  }
  // Results are judged by the tests of plans; here, that something was computed.
  std::string fault() const {
    constexpr std::size_t kSamples = 4096;
    std::vector<std::uint16_t> y(kSamples);
    buffers_[y_].download(y.data(), y.size() * sizeof(std::uint16_t));
    double sum = 0;
    for (const std::uint16_t bits : y) sum += std::abs(static_cast<double>(reference::from_bf16(bits)));
    return std::isfinite(sum) && sum > 0 ? "" : fmt::format("magnitudes of y add up to {}", sum);
  }

 private:
  void* block(PlanRole role) {
    blocks_.emplace_back(static_cast<std::size_t>(mlp_.plan().bytes(role, capacity_)));
    return blocks_.back().at();
  }
  void upload_splits(std::int64_t groups) {
    std::vector<std::int32_t> sizes(static_cast<std::size_t>(groups), static_cast<std::int32_t>(capacity_ / groups));
    splits_ = test::Buffer(sizes);
  }

  GroupedMlpPlan mlp_;
  std::int64_t capacity_;
  std::vector<test::Buffer> buffers_, blocks_;
  std::size_t y_ = 0;
  test::Buffer splits_;
  std::unique_ptr<test::PlanBinding> binding_;
};

// Of the GEMMs: two of a forward, and twice as many of a backward.
double operations(const PlanFacts& facts, std::int64_t rows) {
  const std::int64_t features = is_gated(facts.activation) ? 2 * facts.intermediate : facts.intermediate;
  const double forward =
      2.0 * static_cast<double>(rows * facts.hidden) * static_cast<double>(features + facts.intermediate);
  return facts.inference ? forward : 3 * forward;
}

}  // namespace

std::vector<PlanBenchmark> plan_benchmarks() {
  std::vector<PlanBenchmark> all;
  for (const char* layer : kLayers) {
    const std::string line = fmt::format("mlp.packed {} act=swiglu +probs", layer);
    all.push_back({line + " +inference", kDecode});
    all.push_back({line + " +inference", kPrefill});
    all.push_back({fmt::format("mlp.packed {} act=swiglu +probs +acc", layer), kPrefill});
  }
  return all;
}

void prepare(const PlanBenchmark& benchmark, Runtime& runtime) {
  const PlanFacts facts = benchmark.facts();
  for (const Problem& problem : problems_of(make_plan(facts))) {
    const Hints hints{expected_rows(facts, benchmark.rows), 0};
    if (problem.op == Operation::quantize) {
      runtime.prepare_quantize(problem, hints);
    } else {
      runtime.prepare_gemm(problem, hints);
    }
  }
}

Row measure(const PlanBenchmark& benchmark, Runtime& runtime, const Operands& operands, const Timer& timer) {
  const PlanRun run(benchmark, runtime, operands);
  const PlanFacts facts = benchmark.facts();
  Row row;
  row.table = "mlp";
  row.name = benchmark.line;
  row.config = "unfused";
  row.g = facts.groups;
  row.m = benchmark.rows / facts.groups;
  row.n = facts.intermediate;
  row.k = facts.hidden;
  row.rows = benchmark.rows;
  run.quantize_weights(timer.stream());
  run.launch(timer.stream());
  check(Driver::get().cuStreamSynchronize(timer.stream()), "cuStreamSynchronize");
  row.fault = run.fault();
  row.us = timer.median_us([&] { run.launch(timer.stream()); });
  row.tflops = operations(facts, benchmark.rows) / row.us / 1e6;
  return row;
}

}  // namespace octet::bench
