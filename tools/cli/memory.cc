#include "tools/cli/memory.h"

#include <unistd.h>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/layout.h"

namespace octet::cli {
namespace {

// In floating point, since rows times columns may exceed every integer.
double gemm_bytes(const Case& run) {
  constexpr double kBf16AndFp8 = 3;
  const auto rows = static_cast<double>(run.capacity), groups = static_cast<double>(run.problem.g);
  const auto n = static_cast<double>(run.problem.n), k = static_cast<double>(run.problem.k);
  const double output = run.problem.d ? size_bytes(*run.problem.d) : 0;
  if (run.problem.op == Operation::wgrad) return kBf16AndFp8 * rows * (n + k) + output * groups * n * k;
  const double apart = run.problem.weights_by_pointer ? groups * n * k : 0;  // each group's weights once more
  return kBf16AndFp8 * (rows + groups * n) * k + apart + output * rows * n;
}

// FP8 for each direction, what is read, what is written unquantized, and the values that the check expects.
double quantizer_bytes(const Case& run) {
  const Problem& problem = run.problem;
  const auto size = [](const std::optional<DType>& type) { return type ? static_cast<double>(size_bytes(*type)) : 0; };
  const auto columns = static_cast<double>(problem.layout == Layout::uniform ? problem.k : problem.c);
  const double features = is_gated(problem.act) ? 2 * columns : columns;
  const double written = problem.has(Flag::grad) ? features : columns;
  const double fp8 = (problem.out ? 1 : 0) + (problem.a ? 1 : 0) + (problem.dir == Direction::row_col ? 1 : 0);
  const double read = features + (problem.has(Flag::grad) && problem.act != Activation::none ? columns : 0);
  const double expected = problem.in ? sizeof(float) * written : 0;
  return static_cast<double>(run.capacity) * (size(problem.in) * read + (fp8 + size(problem.d)) * written + expected);
}

// The operands and the outputs: what every executor keeps on the host.
double least_host_bytes(const Case& run) {
  const bool is_gemm = run.problem.op == Operation::gemm || run.problem.op == Operation::wgrad;
  return is_gemm ? gemm_bytes(run) : quantizer_bytes(run);
}

double machine_bytes() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void require_memory(const Case& run) {
  const double needed = least_host_bytes(run), present = machine_bytes();
  if (present <= 0 || needed <= present) return;
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("run: {} rows in {} groups of '{}' need at least {:.0f} GiB on the host, which has {:.0f} GiB; "
                  "give smaller --sizes or a smaller problem",
                  run.rows, run.sizes.size(), run.problem.to_string(), needed / kGiB, present / kGiB));
}

}  // namespace octet::cli
