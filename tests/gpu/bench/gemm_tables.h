// The GEMMs that are measured: those of the peer tables, and recipes that no peer has.
#pragma once

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "octet/octet.h"

namespace octet::bench {

// What bounds a peer's time, and so which yardstick says how fast it would be on this machine.
enum class Bound : std::uint8_t { tensor, copy };

struct GemmBenchmark {
  std::string table;  // "packed", "masked", "wgrad", "dense", "recipes"
  Problem problem;
  std::vector<std::int64_t> sizes;  // rows of each group
  std::int64_t expected_m = 0;      // rows per group, the hint
  bool no_workspace = false;        // the other hint
  std::optional<double> peer_us;    // DeepGEMM 2.6.1 on an H200; packed: every group padded to 128 rows
  std::optional<double> limit;      // how many times the peer's time is allowed
  Bound bound = Bound::tensor;
  std::optional<double> tflops_bar;

  std::int64_t rows() const { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}); }
  std::string name() const { return problem.to_string(); }
  // Rows with the same problem differ in this.
  std::string label() const {
    return name() + " ~" + std::to_string(expected_m) + " rows each" + (no_workspace ? " without workspace" : "");
  }
};
std::vector<GemmBenchmark> gemm_benchmarks();

}  // namespace octet::bench
