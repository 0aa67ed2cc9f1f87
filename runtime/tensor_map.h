// Tensor maps: descriptions of matrices in device memory for the copy engine. Plain values; encoding needs a driver but
// no context, allocates nothing and touches no device memory.
#pragma once

#include <cstdint>

#include "templates/abi.h"

namespace octet {

enum class MapElement : std::uint8_t { byte, bf16, fp16, f32 };

// A row-major matrix, or several of the same shape one after the other, and the box of it that one copy moves. A copy
// may start anywhere: what lies outside the matrix is read as zero and not written. Rows are 16-byte multiples; `data`
// is 16-byte aligned.
struct MatrixView {
  const void* data = nullptr;
  MapElement element = MapElement::byte;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0;  // elements
  int box_rows = 0, box_columns = 0;
  bool swizzled = false;      // by the length of a box row, 64 or 128 bytes
  std::int64_t matrices = 0;  // 0: one, addressed by column and row alone; else by column, row and matrix
};

// Throws Error{driver} when the driver refuses the description.
abi::TensorMap encode_tensor_map(const MatrixView& view);
// The same matrix at another address, 16-byte aligned. Much cheaper than to encode it again.
abi::TensorMap with_address(const abi::TensorMap& map, const void* data);

}  // namespace octet
