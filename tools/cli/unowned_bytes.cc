// What no element of a group owns in a quantized output: padding, which has one right value, and tail.
#include <cstring>

#include <fmt/format.h>

#include "tools/cli/elements.h"
#include "tools/cli/quantize_check.h"

namespace octet::cli {
namespace {

struct Owned {
  std::vector<bool> data, scales;
};

Owned owned_by_elements(const Case& run, const QuantizedView& view) {
  Owned owned{std::vector<bool>(view.data.size()),
              std::vector<bool>(view.sf.size() / at(scale_bytes(view.places.recipe())))};
  for (std::size_t group = 0; group < run.sizes.size(); ++group) {
    const auto g = static_cast<std::int64_t>(group);
    if (view.places.recipe().granularity == Granularity::tensor) owned.scales[group] = true;  // also of an empty group
    for (std::int64_t r = 0; r < run.sizes[group]; ++r) {
      for (std::int64_t c = 0; c < view.places.columns(); ++c) {
        owned.data[at(view.places.data(g, r, c))] = true;
        owned.scales[at(view.places.scale(g, r, c))] = true;
      }
    }
  }
  return owned;
}

bool is_poison_or_zero(std::uint8_t byte, bool zero) { return byte == kPoison || (zero && byte == 0); }

bool is_poison_or_padding(const std::uint8_t* scale, int size) {
  constexpr float kOne = 1;
  if (size == 1) return is_poison_or_zero(*scale, true);
  return std::memcmp(scale, &kPoisonWord, sizeof kPoisonWord) == 0 || std::memcmp(scale, &kOne, sizeof kOne) == 0;
}

std::string name_of(const QuantizedView& view) { return view.places.columnwise() ? "columnwise" : "rowwise"; }

}  // namespace

std::string find_wrong_unowned(const Case& run, const QuantizedView& view) {
  const Owned owned = owned_by_elements(run, view);
  const int size = scale_bytes(view.places.recipe());
  for (std::size_t i = 0; i < owned.data.size(); ++i) {
    if (owned.data[i] || is_poison_or_zero(view.data[i], view.places.transposed())) continue;
    return fmt::format("{} data: byte {} is no element's, but was written as 0x{:02X}", name_of(view), i, view.data[i]);
  }
  for (std::size_t i = 0; i < owned.scales.size(); ++i) {
    if (owned.scales[i] || is_poison_or_padding(&view.sf[i * at(size)], size)) continue;
    return fmt::format("{} scale {} is no element's, but is {}", name_of(view), i,
                       scale_value(view.sf, view.places.recipe(), static_cast<std::int64_t>(i)));
  }
  return "";
}

std::string find_different_unowned(const Case& run, const QuantizedView& got, const QuantizedView& want) {
  const Owned owned = owned_by_elements(run, want);
  const auto size = at(scale_bytes(want.places.recipe()));
  for (std::size_t i = 0; i < want.data.size(); ++i) {
    if (owned.data[i] || got.data[i] == want.data[i]) continue;
    return fmt::format("{} data: byte {}, which is no element's, is 0x{:02X}, in the reference 0x{:02X}", name_of(want),
                       i, got.data[i], want.data[i]);
  }
  for (std::size_t i = 0; i < want.sf.size(); ++i) {
    if (owned.scales[i / size] || got.sf[i] == want.sf[i]) continue;
    return fmt::format("{} scales: byte {}, which is no element's, is 0x{:02X}, in the reference 0x{:02X}",
                       name_of(want), i, got.sf[i], want.sf[i]);
  }
  return "";
}

}  // namespace octet::cli
