// A GEMM on random data, on a GPU or on the host.
#include <algorithm>

#include "tools/cli/gemm_operands.h"
#include "tools/cli/run_case.h"

namespace octet::cli {
namespace {

// The data of the operands that any row needs, and D; with +acc D is read too.
double bytes_of(const Case& run) {
  const auto rows = static_cast<double>(run.rows), n = static_cast<double>(run.problem.n),
             k = static_cast<double>(run.problem.k);
  const double d_passes = size_bytes(type_of_d(run)) * (run.problem.has(Flag::acc) ? 2 : 1);
  if (run.problem.op == Operation::wgrad) {
    return rows * (n + k) + static_cast<double>(run.problem.g) * n * k * d_passes;
  }
  const auto busy_groups = static_cast<double>(
      std::count_if(run.sizes.begin(), run.sizes.end(), [](std::int64_t size) { return size != 0; }));
  return rows * k + busy_groups * n * k + rows * n * d_passes;
}

}  // namespace

Verdict run_gemm(const Case& run, Device device, const Effort& effort) {
  const GemmOperands operands = make_operands(run);
  Verdict verdict =
      device ? run_gemm_on_device(run, operands, *device, effort) : run_gemm_on_host(run, operands, effort.repeat);
  verdict.flops =
      2 * static_cast<double>(run.rows) * static_cast<double>(run.problem.n) * static_cast<double>(run.problem.k);
  verdict.bytes = bytes_of(run);
  return verdict;
}

}  // namespace octet::cli
