#include "runtime/reference/plan_weights.h"

#include <cstring>

#include "octet/layout.h"

namespace octet::reference {
namespace {

// Rowwise scales of 1x128 have one row of the matrix for all groups; every other layout has group after group.
void gather_mn_major(const Problem& producer, const PlanPlace& place, std::int64_t tensors, GatheredWeights& to) {
  Problem all = producer;
  all.g = tensors;
  const QuantizeShape one = quantize_shape(producer), shape = quantize_shape(all);
  const std::int64_t lines = shape.row.sf / 4 / shape.ld_sf;
  to.sf.resize(static_cast<std::size_t>(shape.row.sf));
  for (std::int64_t g = 0; g < tensors; ++g) {
    for (std::int64_t line = 0; line < lines; ++line) {
      std::memcpy(to.sf.data() + (line * shape.ld_sf + g * producer.n) * 4,
                  static_cast<const char*>(place.tensor_sf(g)) + line * one.ld_sf * 4,
                  static_cast<std::size_t>(producer.n * 4));
    }
  }
}

}  // namespace

GatheredWeights gather(const Problem& producer, bool columnwise, const PlanPlace& place, std::int64_t tensors,
                       const PlanBytes& bytes) {
  GatheredWeights all;
  const auto append = [](std::vector<std::uint8_t>& to, const void* from, std::int64_t count) {
    const auto* first = static_cast<const std::uint8_t*>(from);
    to.insert(to.end(), first, first + count);
  };
  const bool one_line = !columnwise && producer.out->scale_layout == ScaleLayout::mn_major;
  for (std::int64_t g = 0; g < tensors; ++g) {
    append(all.data, place.tensor(g), bytes.data);
    if (!one_line) append(all.sf, place.tensor_sf(g), bytes.sf);
  }
  if (one_line) gather_mn_major(producer, place, tensors, all);
  return all;
}

}  // namespace octet::reference
