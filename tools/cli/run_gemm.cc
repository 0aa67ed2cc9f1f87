// A GEMM on random data, on a GPU or on the host.
#include <algorithm>

#include "tools/cli/gemm_operands.h"
#include "tools/cli/run_case.h"

namespace octet::cli {

Verdict run_gemm(const Case& run, Device device, const Effort& effort) {
  const GemmOperands operands = make_operands(run);
  Verdict verdict =
      device ? run_gemm_on_device(run, operands, *device, effort) : run_gemm_on_host(run, operands, effort.repeat);
  const auto rows = static_cast<double>(run.rows), n = static_cast<double>(run.problem.n),
             k = static_cast<double>(run.problem.k);
  verdict.flops = 2 * rows * n * k;
  const auto busy_groups = static_cast<double>(
      std::count_if(run.sizes.begin(), run.sizes.end(), [](std::int64_t size) { return size != 0; }));
  verdict.bytes = rows * k + busy_groups * n * k + rows * n * size_bytes(operands.problem.d);
  return verdict;
}

}  // namespace octet::cli
