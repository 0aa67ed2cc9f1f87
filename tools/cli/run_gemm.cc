// A GEMM on random data. On a GPU it is judged against the reference: the f64 product of the same quantized operands.
// The reference itself is judged against the product of the operands before they were quantized.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "octet/runtime.h"
#include "tools/cli/execute.h"
#include "tools/cli/run_case.h"

namespace octet::cli {
namespace {

constexpr std::uint8_t kNanFp8 = 0x7F;
constexpr std::uint8_t kPoison = 0xFF;  // a NaN in every element type, whichever way it is cut
constexpr double kCheckedMacs = 1e9;    // multiply-adds that a check may spend

struct Operands {
  GemmProblem problem;
  std::vector<std::uint16_t> x, w;  // bf16, before quantization
  std::vector<std::uint8_t> a, b;
  std::vector<float> sfa, sfb;
};

GemmProblem gemm_problem(const Problem& problem) {
  GemmProblem gemm;
  gemm.layout = problem.layout;
  gemm.groups = problem.g;
  gemm.n = problem.n;
  gemm.k = problem.k;
  gemm.a = problem.a.value_or(gemm.a);
  gemm.b = problem.b.value_or(gemm.b);
  gemm.d = problem.d.value_or(gemm.d);
  gemm.alignment = problem.al;
  gemm.splits = problem.splits;
  return gemm;
}

void quantize_tokens(const Case& run, Operands& operands) {
  QuantizeProblem quantize;
  quantize.layout = run.problem.layout;
  quantize.groups = run.problem.g;
  quantize.columns = run.problem.k;
  quantize.out = operands.problem.a;
  quantize.alignment = run.problem.al;
  operands.x = reference::random_tokens(run.capacity, quantize.columns, run.seed);
  operands.a.assign(operands.x.size(), kNanFp8);  // rows outside every group keep it
  operands.sfa.assign(static_cast<std::size_t>(reference::scale_count(quantize, run.capacity)),
                      std::numeric_limits<float>::quiet_NaN());
  reference::quantize_rows(quantize, operands.x.data(), run.groups, run.capacity, operands.a.data(),
                           operands.sfa.data());
}

void quantize_weights(const Case& run, Operands& operands) {
  QuantizeProblem quantize;
  quantize.layout = Layout::uniform;
  quantize.groups = run.problem.g;
  quantize.rows_per_group = run.problem.n;
  quantize.columns = run.problem.k;
  quantize.out = operands.problem.b;
  operands.w = reference::random_weights(quantize.groups, quantize.rows_per_group, quantize.columns, run.seed + 1);
  operands.b.assign(operands.w.size(), 0);
  operands.sfb.assign(static_cast<std::size_t>(reference::scale_count(quantize)), 0);
  reference::quantize_blocks(quantize, operands.w.data(), operands.b.data(), operands.sfb.data());
}

Operands make_operands(const Case& run) {
  Operands operands;
  operands.problem = gemm_problem(run.problem);
  quantize_tokens(run, operands);
  quantize_weights(run, operands);
  return operands;
}

int host_threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

std::int64_t samples_per_group(const Case& run) {
  const auto groups = static_cast<double>(std::max<std::int64_t>(1, run.problem.g));
  const double samples = kCheckedMacs / (static_cast<double>(run.problem.k) * groups);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(samples), 256, 65536);
}

// -- On a GPU --------------------------------------------------------------------------------------------------------

std::vector<std::uint8_t> execute_on_device(const Case& run, const Operands& operands, int ordinal,
                                            const Effort& effort, Execution& execution) {
  const DeviceContext context(ordinal);
  const DeviceStream stream;
  Runtime runtime;
  const Gemm gemm = runtime.prepare_gemm(run.problem, {effort.expected_m, ordinal});
  const DeviceBuffer a(operands.a), b(operands.b), sfa(operands.sfa), sfb(operands.sfb);
  const DeviceBuffer splits =
      upload_splits(run.problem.splits, reference::splits_array(run.groups, run.problem.splits.form));
  const DeviceBuffer workspace(gemm.workspace_bytes(run.capacity));
  DeviceBuffer d(static_cast<std::size_t>(run.capacity * run.problem.n * size_bytes(operands.problem.d)));
  d.fill(kPoison, stream.get());
  GemmArgs args;
  args.a = {a.data(), sfa.data(), gemm.a_layout()};
  args.b = {b.data(), sfb.data(), gemm.b_layout()};
  args.d = d.data();
  args.splits = splits.data();
  args.capacity = run.capacity;
  args.workspace = workspace.data();
  execution.times_us = time_on_device(effort.repeat, stream, [&](CUstream on) { gemm.launch(args, on); });
  execution.device = context.name();
  execution.kernel = gemm.spec().name();
  execution.config = to_string(gemm.spec().config);
  execution.compiled = runtime.statistics().compiled != 0;
  return d.download<std::uint8_t>();
}

bool is_nan(const std::uint8_t* element, DType type) {
  if (type == DType::f32) {
    float value = 0;
    std::memcpy(&value, element, sizeof value);
    return std::isnan(value);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, element, sizeof bits);
  const int infinity = type == DType::fp16 ? 0x7C00 : 0x7F80;
  return (bits & 0x7FFF) > infinity;
}

// Every row, not only sampled ones: rows of groups are written everywhere, all others nowhere.
std::string find_fault(const Case& run, const std::vector<std::uint8_t>& d, DType type) {
  const std::vector<bool> inside = rows_in_groups(run);
  const auto element = static_cast<std::size_t>(size_bytes(type));
  const std::size_t row_bytes = static_cast<std::size_t>(run.problem.n) * element;
  for (std::size_t row = 0; row < inside.size(); ++row) {
    const std::uint8_t* bytes = d.data() + row * row_bytes;
    for (std::size_t i = 0; i < row_bytes; i += element) {
      if (inside[row] && is_nan(bytes + i, type)) return fmt::format("row {} holds NaN at n={}", row, i / element);
    }
    if (!inside[row] && std::any_of(bytes, bytes + row_bytes, [](std::uint8_t byte) { return byte != kPoison; })) {
      return fmt::format("row {} is outside every group, but was written", row);
    }
  }
  return "";
}

Verdict judge_device(const Case& run, const Operands& operands, const std::vector<std::uint8_t>& d) {
  Verdict verdict;
  verdict.measure = "relative Frobenius error against the f64 product of the same operands";
  const DType type = operands.problem.d;
  const double limit = type == DType::bf16 ? 3e-3 : 5e-4;
  const auto errors = reference::compare_gemm(operands.problem, operands.a.data(), operands.sfa.data(),
                                              operands.b.data(), operands.sfb.data(), run.groups, run.capacity,
                                              d.data(), samples_per_group(run), run.seed, host_threads());
  for (std::size_t g = 0; g < errors.size(); ++g) {
    verdict.groups.push_back({errors[g].rows, errors[g].samples, errors[g].frobenius, limit});
    if (verdict.fault.empty() && !reference::within_bounds(errors[g], type) && errors[g].frobenius <= limit) {
      verdict.fault = fmt::format("group {}: the DeepGEMM metric is {:.2e}", g, errors[g].metric);
    }
  }
  if (verdict.fault.empty()) verdict.fault = find_fault(run, d, type);
  return verdict;
}

// -- On the host -----------------------------------------------------------------------------------------------------

// The product that quantization approximates, straight from the bf16 inputs: shares no code with the executor.
double unquantized_element(const Operands& operands, std::int64_t group, std::int64_t row, std::int64_t n) {
  const std::int64_t k = operands.problem.k;
  const std::uint16_t* x = operands.x.data() + row * k;
  const std::uint16_t* w = operands.w.data() + (group * operands.problem.n + n) * k;
  const auto widen = [](std::uint16_t bits) {
    const std::uint32_t word = std::uint32_t{bits} << 16;
    float value = 0;
    std::memcpy(&value, &word, sizeof value);
    return static_cast<double>(value);
  };
  double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) sum += widen(x[i]) * widen(w[i]);
  return sum;
}

// Small problems in full; of large ones only what the check looks at, since a host would take minutes for all of D.
class HostProduct {
 public:
  HostProduct(const Case& run, const Operands& operands) : run_(run), operands_(operands) {
    const double macs = static_cast<double>(run.rows) * static_cast<double>(run.problem.n * run.problem.k);
    if (macs > kCheckedMacs) return;
    d_.assign(static_cast<std::size_t>(run.capacity * run.problem.n), std::numeric_limits<double>::quiet_NaN());
    reference::gemm(operands.problem, operands.a.data(), operands.sfa.data(), operands.b.data(), operands.sfb.data(),
                    run.groups, run.capacity, d_.data(), host_threads());
  }

  bool is_whole() const { return !d_.empty(); }
  double at(std::int64_t group, std::int64_t row, std::int64_t n) const {
    if (is_whole()) return d_[static_cast<std::size_t>(row * run_.problem.n + n)];
    return reference::gemm_element(operands_.problem, operands_.a.data(), operands_.sfa.data(), operands_.b.data(),
                                   operands_.sfb.data(), run_.capacity, group, row, n);
  }

 private:
  const Case& run_;
  const Operands& operands_;
  std::vector<double> d_;
};

// The metric 1 - 2*sum(xy) / sum(x^2 + y^2) must stay under 1e-3 for e4m3 x e4m3. It is a mean over elements, so few of
// them scatter about it.
GroupResult judge_host_group(const Case& run, const Operands& operands, const HostProduct& product, std::size_t group) {
  GroupResult result;
  result.rows = run.sizes[group];
  const std::int64_t n = run.problem.n, elements = result.rows * n;
  result.checked = std::min(elements, samples_per_group(run));
  if (result.checked == 0) return result;
  std::mt19937_64 random(run.seed + group);
  double cross = 0, squares = 0;
  for (std::int64_t i = 0; i < result.checked; ++i) {
    const bool all = result.checked == elements;
    const std::int64_t at = all ? i : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements));
    const std::int64_t row = run.groups.begin[group] + at / n;
    const double got = product.at(static_cast<std::int64_t>(group), row, at % n);
    const double want = unquantized_element(operands, static_cast<std::int64_t>(group), row, at % n);
    cross += got * want;
    squares += got * got + want * want;
  }
  result.error = squares == 0 ? 0 : 1 - 2 * cross / squares;
  result.limit = 1e-3 * (1 + 8 / std::sqrt(static_cast<double>(result.checked)));
  return result;
}

Verdict run_on_host(const Case& run, const Operands& operands, int repeat) {
  Verdict verdict;
  verdict.measure = "1 - 2*sum(xy)/sum(x*x + y*y) against the product before quantization";
  std::optional<HostProduct> product;
  verdict.execution.times_us = time_on_host(repeat, [&] { product.emplace(run, operands); });
  if (!product->is_whole()) verdict.execution.times_us.clear();  // nothing but samples was computed
  verdict.execution.device = "reference";
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    verdict.groups.push_back(judge_host_group(run, operands, *product, g));
  }
  return verdict;
}

}  // namespace

Verdict run_gemm(const Case& run, Device device, const Effort& effort) {
  const Operands operands = make_operands(run);
  Verdict verdict;
  if (device) {
    Execution execution;
    const std::vector<std::uint8_t> d = execute_on_device(run, operands, *device, effort, execution);
    verdict = judge_device(run, operands, d);
    verdict.execution = execution;
  } else {
    verdict = run_on_host(run, operands, effort.repeat);
  }
  const auto rows = static_cast<double>(run.rows), n = static_cast<double>(run.problem.n),
             k = static_cast<double>(run.problem.k);
  verdict.flops = 2 * rows * n * k;
  const auto busy_groups = static_cast<double>(
      std::count_if(run.sizes.begin(), run.sizes.end(), [](std::int64_t size) { return size != 0; }));
  verdict.bytes = rows * k + busy_groups * n * k + rows * n * size_bytes(operands.problem.d);
  return verdict;
}

}  // namespace octet::cli
