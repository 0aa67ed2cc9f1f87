// One measured line of the benchmark, and how it is judged and shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/gpu/bench/yardsticks.h"

namespace octet::bench {

struct Row {
  std::string table;  // "packed", "masked", "wgrad", "dense", "recipes", "quantize", "mlp"
  std::string name;   // the problem line, or the plan's
  std::string config;
  std::int64_t g = 0;
  std::optional<std::int64_t> m, n;  // m: expected rows per group; not of wgrad
  std::int64_t k = 0;                // columns, of a quantizer
  std::int64_t rows = 0;             // valid ones
  double us = 0, tflops = 0, gbps = 0;
  std::optional<double> bar;         // share of the copy yardstick to reach
  std::optional<double> peer_us;     // DeepGEMM's time on the machine of the peer table
  bool peer_is_copy_bound = false;   // which yardstick scales it: the copy, or cuBLASLt's FP8
  std::optional<double> limit;       // how many times the peer's scaled time is allowed
  std::optional<double> fixed_us;    // time allowed besides that of its bytes at the copy's speed
  std::optional<double> tflops_bar;  // to reach, as it is
  std::string fault;                 // what the spot check found; "" when right
};

// The problem and the rows to expect, which tell rows apart.
std::string label(const Row& row);
// DeepGEMM's time as it would be on this machine at this hour; its plain time without libcublasLt, where that scales.
double scaled_peer_us(const Row& row, const Yardsticks& yardsticks);
// What a row with fixed_us may take.
double allowed_us(const Row& row, const Yardsticks& yardsticks);
// Right, and within its bar or limit.
bool passes(const Row& row, const Yardsticks& yardsticks);

std::string table_text(const std::vector<Row>& rows, const Yardsticks& yardsticks);

}  // namespace octet::bench
