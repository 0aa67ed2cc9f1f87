#include "tests/gpu/gemm_case.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "tests/gpu/splits.h"

namespace octet::test {
namespace {

constexpr std::uint16_t kPoison = 0xFFFF;

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

bool is_nan(std::uint16_t bits) { return (bits & 0x7FFF) > 0x7F80; }

std::string coverage_fault(const GemmData& data, const Bf16& d) {
  const std::vector<bool> valid = valid_rows(data.groups, data.capacity);
  for (std::int64_t row = 0; row < data.capacity; ++row) {
    const auto begin = d.begin() + row * data.problem.n, end = begin + data.problem.n;
    if (valid[size(row)]) {
      const auto found = std::find_if(begin, end, is_nan);
      if (found != end) return fmt::format("row {} column {}: NaN or not written", row, found - begin);
    } else {
      const auto found = std::find_if(begin, end, [](std::uint16_t bits) { return bits != kPoison; });
      if (found != end) return fmt::format("tail row {} column {} was written", row, found - begin);
    }
  }
  return "";
}

}  // namespace

std::vector<bool> valid_rows(const reference::GroupExtents& groups, std::int64_t capacity) {
  std::vector<bool> valid(size(capacity));
  for (std::size_t g = 0; g < groups.begin.size(); ++g) {
    std::fill(valid.begin() + groups.begin[g], valid.begin() + groups.end[g], true);
  }
  return valid;
}

GemmData random_gemm(const GemmProblem& problem, const std::vector<std::int64_t>& sizes, std::int64_t spare_rows,
                     Random& random) {
  GemmData data;
  data.problem = problem;
  data.groups = reference::extents(sizes, problem.alignment);
  data.capacity = data.groups.end.back() + spare_rows;
  const std::int64_t n_blocks = (problem.n + 127) / 128;
  data.a = random.codes(size(data.capacity * problem.k));
  data.sfa = random.scales(size(data.k_blocks() * data.sfa_ld()));
  data.b = random.codes(size(problem.groups * problem.n * problem.k));
  data.sfb = random.scales(size(problem.groups * n_blocks * data.k_blocks()));
  set_tail(data, 0x7F, std::numeric_limits<float>::quiet_NaN());
  return data;
}

void set_tail(GemmData& data, std::uint8_t byte, float scale) {
  std::vector<bool> valid = valid_rows(data.groups, data.capacity);
  valid.resize(size(data.sfa_ld()));
  for (std::int64_t row = 0; row < data.sfa_ld(); ++row) {
    if (valid[size(row)]) continue;
    if (row < data.capacity) std::fill_n(data.a.begin() + row * data.problem.k, data.problem.k, byte);
    for (std::int64_t kb = 0; kb < data.k_blocks(); ++kb) data.sfa[size(kb * data.sfa_ld() + row)] = scale;
  }
}

GemmBuffers::GemmBuffers(const GemmData& data)
    : a(data.a),
      sfa(data.sfa),
      b(data.b),
      sfb(data.sfb),
      d(size(data.capacity * data.problem.n * 2)),
      form_(data.problem.splits),
      capacity_(data.capacity) {
  set_splits(data.groups);
}

void GemmBuffers::set_splits(const reference::GroupExtents& groups) {
  set_splits(reference::splits_array(groups, form_.form));
}

void GemmBuffers::set_splits(const std::vector<std::int64_t>& values) {
  const std::vector<std::uint8_t> bytes = splits_bytes(values, form_.is_i64);
  // Written in place where it fits: a captured graph holds the address.
  if (splits.bytes() != bytes.size()) splits = Buffer(bytes.size());
  splits.upload(bytes.data(), bytes.size());
}

GemmArgs GemmBuffers::args(const Gemm& gemm) const {
  GemmArgs args;
  args.a = {a.at(), sfa.at(), gemm.a_layout()};
  args.b = {b.at(), sfb.at(), gemm.b_layout()};
  args.d = d.at();
  args.splits = splits.at();
  args.capacity = capacity_;
  return args;
}

Bf16 GemmBuffers::run(const Gemm& gemm) {
  const Buffer workspace(gemm.workspace_bytes(capacity_));
  GemmArgs arguments = args(gemm);
  arguments.workspace = workspace.at();
  d.poison();
  gemm.launch(arguments, stream_);
  stream_.synchronize();
  if (!workspace.guards_intact()) throw std::runtime_error("the launch wrote outside its workspace");
  return read_d();
}

Bf16 GemmBuffers::read_d() const {
  for (const Buffer* buffer : {&a, &sfa, &b, &sfb, &d, &splits}) {
    if (!buffer->guards_intact()) throw std::runtime_error("the launch wrote outside its buffers");
  }
  return d.values<std::uint16_t>();
}

std::string fault(const GemmData& data, const Bf16& d, Random& random, std::int64_t samples_per_group) {
  std::string coverage = coverage_fault(data, d);
  if (!coverage.empty()) return coverage;
  const auto threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const std::vector<reference::GroupError> errors = reference::compare_gemm(
      data.problem.to_problem(), {data.a.data(), data.sfa.data(), data.b.data(), data.sfb.data()}, data.groups,
      data.capacity, d.data(), nullptr, samples_per_group, static_cast<std::uint64_t>(random.integer(1, 1 << 30)),
      threads);
  for (std::size_t g = 0; g < errors.size(); ++g) {
    if (data.rows(g) > 0 && errors[g].samples == 0) return fmt::format("group {}: nothing was compared", g);
    if (reference::within_bounds(errors[g], data.problem.d)) continue;
    return fmt::format("group {} of {} rows: relative error {:.3g}, metric {:.3g} over {} elements", g, data.rows(g),
                       errors[g].frobenius, errors[g].metric, errors[g].samples);
  }
  return "";
}

std::string fault(const Gemm& gemm, const GemmData& data, Random& random) {
  return fault(data, GemmBuffers(data).run(gemm), random);
}

std::string fault(const GemmData& data, Random& random) { return fault(runtime().prepare(data.problem), data, random); }

Bf16 group_of(const GemmData& data, const Bf16& d, std::size_t group) {
  const auto n = data.problem.n;
  return {d.begin() + data.groups.begin[group] * n, d.begin() + data.groups.end[group] * n};
}

}  // namespace octet::test
