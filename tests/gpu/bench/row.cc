#include "tests/gpu/bench/row.h"

#include <fmt/format.h>

namespace octet::bench {
namespace {

// cuBLASLt's FP8 8192^3 in the run in which the peers were measured.
constexpr double kPeerYardstickTflops = 1475;
// The copy, in the same run.
constexpr double kPeerYardstickGbps = 4297;

std::string verdict(const Row& row, const Yardsticks& yardsticks) {
  if (!row.fault.empty()) return "WRONG: " + row.fault;
  return passes(row, yardsticks) ? "ok" : "slow";
}

}  // namespace

std::string label(const Row& row) { return row.m ? fmt::format("{} ~{} rows each", row.name, *row.m) : row.name; }

double scaled_peer_us(const Row& row, const Yardsticks& yardsticks) {
  if (row.peer_is_copy_bound) return row.peer_us.value_or(0) * kPeerYardstickGbps / yardsticks.copy_gbps;
  const double tflops = yardsticks.cublaslt_fp8_8192_tflops.value_or(kPeerYardstickTflops);
  return row.peer_us.value_or(0) * kPeerYardstickTflops / tflops;
}

double allowed_us(const Row& row, const Yardsticks& yardsticks) {
  return row.fixed_us.value_or(0) + row.gbps * row.us / yardsticks.copy_gbps;
}

bool passes(const Row& row, const Yardsticks& yardsticks) {
  if (!row.fault.empty()) return false;
  if (row.bar && row.gbps < *row.bar * yardsticks.copy_gbps) return false;
  if (row.fixed_us && row.us > allowed_us(row, yardsticks)) return false;
  if (row.tflops_bar && row.tflops < *row.tflops_bar) return false;
  return !row.limit || row.us <= *row.limit * scaled_peer_us(row, yardsticks);
}

std::string table_text(const std::vector<Row>& rows, const Yardsticks& yardsticks) {
  std::string text = fmt::format("{:<86} {:>30} {:>8} {:>7} {:>6} {:>6} {:>5}\n", "problem", "config", "us", "TFLOPS",
                                 "GB/s", "ratio", "bar");
  for (const Row& row : rows) {
    // Time over the peer's or over what is allowed, share of the TFLOPS to reach or of the copy: at most, or at least,
    // the bar.
    const double ratio = row.peer_us      ? row.us / scaled_peer_us(row, yardsticks)
                         : row.fixed_us   ? row.us / allowed_us(row, yardsticks)
                         : row.tflops_bar ? row.tflops / *row.tflops_bar
                                          : row.gbps / yardsticks.copy_gbps;
    const double bar = row.fixed_us || row.tflops_bar ? 1 : row.limit ? *row.limit : row.bar.value_or(0);
    text += fmt::format("{:<86} {:>30} {:>8.1f} {:>7.0f} {:>6.0f} {:>6.3f} {:>5.2f} {}\n", label(row), row.config,
                        row.us, row.tflops, row.gbps, ratio, bar, verdict(row, yardsticks));
  }
  const auto& tflops = yardsticks.cublaslt_fp8_8192_tflops;
  text += fmt::format("yardsticks: copy {:.0f} GB/s, cuBLASLt FP8 8192^3 {}\n", yardsticks.copy_gbps,
                      tflops ? fmt::format("{:.0f} TFLOPS", *tflops) : "not found: peer times are not scaled");
  return text;
}

}  // namespace octet::bench
