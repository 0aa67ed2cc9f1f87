#include "octet/spec.h"

#include <string_view>

#include <fmt/format.h>

namespace octet {
namespace {

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string text_of(const GemmConfig& config) {
  const std::string blocks = config.blocks_per_sm == 1 ? "" : fmt::format(" b{}", config.blocks_per_sm);
  const std::string split = config.split_k == 1 ? "" : fmt::format(" sk{}", config.split_k);
  return fmt::format("bm{} bn{} wg{}x{} st{} cl{}x{}{}{}{}{}", config.block_m, config.block_n, config.warpgroups_m,
                     config.warpgroups_n, config.stages, config.cluster_m, config.cluster_n,
                     config.whole_tile_store ? " tile" : "", config.swapped ? " swap" : "", blocks, split);
}

std::string text_of(const QuantizeConfig& config) {
  return fmt::format("t{} r{} b{}", config.threads, config.rows_per_thread, config.blocks_per_sm);
}

std::string text_of(const PortableConfig& config) {
  return fmt::format("portable bm{} bn{} w{}x{} st{}", config.block_m, config.block_n, config.warps_m, config.warps_n,
                     config.stages);
}

std::string text_of(const MxConfig& config) {
  const std::string direct = config.direct == 0 ? "" : fmt::format(" direct{}", config.direct);
  return fmt::format("mx bm{} bn{} st{} cl1x{}{}", config.block_m, config.block_n, config.stages, config.cluster_n,
                     direct);
}

// Every run of other characters becomes one '_'. The canonical text stays readable back: its keys are distinct words in
// a fixed order, and the value of one key is never the next key.
std::string identifier(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (is_alphanumeric(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  return name;
}

std::string without_separators(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (is_alphanumeric(c)) name += c;
  }
  return name;
}

}  // namespace

bool operator==(const GemmConfig& x, const GemmConfig& y) noexcept {
  return x.block_m == y.block_m && x.block_n == y.block_n && x.warpgroups_m == y.warpgroups_m &&
         x.warpgroups_n == y.warpgroups_n && x.stages == y.stages && x.cluster_n == y.cluster_n &&
         x.cluster_m == y.cluster_m && x.whole_tile_store == y.whole_tile_store && x.swapped == y.swapped &&
         x.blocks_per_sm == y.blocks_per_sm && x.split_k == y.split_k;
}

bool operator==(const QuantizeConfig& x, const QuantizeConfig& y) noexcept {
  return x.threads == y.threads && x.rows_per_thread == y.rows_per_thread && x.blocks_per_sm == y.blocks_per_sm;
}

bool operator==(const PortableConfig& x, const PortableConfig& y) noexcept {
  return x.block_m == y.block_m && x.block_n == y.block_n && x.warps_m == y.warps_m && x.warps_n == y.warps_n &&
         x.stages == y.stages;
}

bool operator==(const MxConfig& x, const MxConfig& y) noexcept {
  return x.block_m == y.block_m && x.block_n == y.block_n && x.stages == y.stages && x.cluster_n == y.cluster_n &&
         x.direct == y.direct;
}

std::string to_string(const Config& config) {
  return std::visit([](const auto& value) { return text_of(value); }, config);
}

std::string Spec::name() const {
  return fmt::format("{}__{}__{}", identifier(problem.to_string()), identifier(to_string(config)),
                     without_separators(arch));
}

bool operator==(const Spec& x, const Spec& y) noexcept {
  return x.problem == y.problem && x.config == y.config && x.arch == y.arch;
}

}  // namespace octet
