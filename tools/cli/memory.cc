#include "tools/cli/memory.h"

#include <unistd.h>

#include <fmt/format.h>

#include "octet/error.h"

namespace octet::cli {
namespace {

// The operands alone, as bf16 and as FP8, and a GEMM's output: what every executor keeps on the host. In floating
// point, since rows times columns may exceed every integer.
double least_host_bytes(const Case& run) {
  constexpr double kBf16AndFp8 = 3, kOutput = 2;
  const auto rows = static_cast<double>(run.capacity), groups = static_cast<double>(run.problem.g);
  const auto n = static_cast<double>(run.problem.n), k = static_cast<double>(run.problem.k);
  if (run.problem.op == Operation::gemm) return kBf16AndFp8 * (rows + groups * n) * k + kOutput * rows * n;
  const double columns = run.problem.layout == Layout::uniform ? k : static_cast<double>(run.problem.c);
  return kBf16AndFp8 * rows * columns;
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
