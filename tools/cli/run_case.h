// One run of a problem: its groups, what came out, and how that is judged.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "octet/problem.h"
#include "octet/reference.h"
#include "octet/spec.h"

namespace octet::cli {

// Where groups lie, with room for a tail behind the last one that no kernel may use or write.
struct Case {
  Problem problem;
  std::vector<std::int64_t> sizes;  // rows of each group
  reference::GroupExtents groups;
  std::int64_t rows = 0, capacity = 0;
  std::uint64_t seed = 0;
};

// `sizes` empty: about 256 rows a group (of masked: up to max_m), ragged, with an empty group and a group of one row
// where there are enough of them; of wgrad from=deepgemm multiples of 128. Throws Error{invalid_argument} when the
// sizes do not fit the problem.
Case make_case(const Problem& problem, const std::vector<std::int64_t>& sizes, std::uint64_t seed);

// Of each row of the buffer whether it belongs to a group.
std::vector<bool> rows_in_groups(const Case& run);
// Whose part of the buffer a row lies in: of masked its group, else 0, since rows are then numbered through.
std::int64_t group_of_row(const Case& run, std::int64_t row);

// nullopt: the host's executor. Else an ordinal of the CUDA driver.
using Device = std::optional<int>;

struct Effort {
  int repeat = 1;               // timed executions
  std::int64_t expected_m = 0;  // the hint to the cost model
  bool no_workspace = false;    // only kernels that need none
  std::optional<Spec> spec;     // instead of the cost model's choice; a GPU only
};

struct Execution {
  std::string device;  // "NVIDIA H200", "reference"
  std::string kernel;  // its name; "" on the host
  std::string config;
  bool compiled = false;         // the kernel was not in the cache
  std::vector<double> times_us;  // of each execution
};

struct GroupResult {
  std::int64_t rows = 0;
  std::int64_t checked = 0;  // elements compared
  double error = 0;          // as `measure` says
  double limit = 0;
};

struct Verdict {
  Execution execution;
  std::string measure;  // what the errors mean
  std::vector<GroupResult> groups;
  std::string fault;            // what is wrong besides an error over its limit; "" when nothing is
  double flops = 0, bytes = 0;  // of one execution

  // The group whose error is largest against its limit; -1 when nothing was compared.
  int worst_group() const;
  bool passed() const;
  double median_us() const;
};

Verdict run_gemm(const Case& run, Device device, const Effort& effort);
Verdict run_quantize(const Case& run, Device device, const Effort& effort);  // and activation
Verdict run_convert(const Case& run, Device device, const Effort& effort);   // and dequantize

}  // namespace octet::cli
