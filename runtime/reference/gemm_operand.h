// An operand of a GEMM as its sum sees it: an outer index, which D keeps, and an inner one, which is summed over.
#pragma once

#include <cstdint>

#include "runtime/reference/casts.h"
#include "runtime/reference/data_map.h"
#include "runtime/reference/placement.h"
#include "runtime/reference/scale_map.h"

namespace octet::reference {

// Reads what `producer`, the quantizer of the operand, writes, or that as another library packs it. Rowwise data is
// summed over its columns, columnwise data over its rows.
class GemmOperand {
 public:
  // Throws Error{invalid_argument} as the maps do, and for elements that are not FP8.
  GemmOperand(const Problem& producer, Packing packing, const GroupExtents& groups, std::int64_t capacity,
              const std::uint8_t* data, const void* sf);
  GemmOperand(const GemmOperand&) = delete;  // the maps refer to the placement
  GemmOperand& operator=(const GemmOperand&) = delete;

  // The byte of an element. Those that follow along the inner index lie next to it in every layout: Hopper's FP8 matrix
  // instruction takes nothing else.
  const std::uint8_t* at(std::int64_t group, std::int64_t outer, std::int64_t inner) const;
  double scale(std::int64_t group, std::int64_t outer, std::int64_t inner) const;
  // Elements along the inner index that share a scale, or BlockUnit::kAll.
  std::int64_t inner_unit() const;
  const Fp8Values& values() const { return values_; }
  const GroupPlace& place(std::int64_t group) const { return placement_.groups[static_cast<std::size_t>(group)]; }
  std::int64_t rows_that_exist() const { return placement_.rows_that_exist; }

 private:
  bool columnwise_;
  Granularity granularity_;
  const Fp8Values& values_;
  Placement placement_;
  DataMap data_map_;
  ScaleMap scale_map_;
  const std::uint8_t* data_;
  const void* sf_;
};

}  // namespace octet::reference
