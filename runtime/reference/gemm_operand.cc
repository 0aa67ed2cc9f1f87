#include "runtime/reference/gemm_operand.h"

#include "octet/layout.h"
#include "runtime/reference/scales.h"

namespace octet::reference {

GemmOperand::GemmOperand(const Problem& producer, Packing packing, const GroupExtents& groups, std::int64_t capacity,
                         const std::uint8_t* data, const void* sf)
    : columnwise_(producer.dir == Direction::col),
      granularity_(producer.out->granularity),
      values_(fp8_values(producer.out->type)),
      placement_(reference::place(producer, groups, quantize_shape(producer, capacity).out_columns, capacity)),
      data_map_(placement_, columnwise_, quantize_shape(producer, capacity).ld_col, packing),
      scale_map_(placement_, *producer.out, columnwise_, packing),
      data_(data),
      sf_(sf) {}

const std::uint8_t* GemmOperand::at(std::int64_t group, std::int64_t outer, std::int64_t inner) const {
  return data_ + (columnwise_ ? data_map_.index(group, inner, outer) : data_map_.index(group, outer, inner));
}

double GemmOperand::scale(std::int64_t group, std::int64_t outer, std::int64_t inner) const {
  const BlockUnit unit = scale_map_.unit();
  const std::int64_t row = columnwise_ ? inner : outer, column = columnwise_ ? outer : inner;
  return load_scale(granularity_, sf_,
                    scale_map_.index(group, block_of(row, unit.rows), block_of(column, unit.columns)));
}

std::int64_t GemmOperand::inner_unit() const {
  return columnwise_ ? scale_map_.unit().rows : scale_map_.unit().columns;
}

}  // namespace octet::reference
