#include "runtime/tensor_map.h"

#include <cstring>

#include "runtime/driver.h"

namespace octet {
namespace {

struct ElementType {
  CUtensorMapDataType type;
  int bytes;
};

ElementType element_type(MapElement element) {
  switch (element) {
    case MapElement::bf16:
      return {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2};
    case MapElement::fp16:
      return {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2};
    case MapElement::f32:
      return {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4};
    case MapElement::byte:
      break;
  }
  return {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1};
}

CUtensorMapSwizzle swizzle_of(const MatrixView& view, int element_bytes) {
  if (!view.swizzled) return CU_TENSOR_MAP_SWIZZLE_NONE;
  return view.box_columns * element_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B : CU_TENSOR_MAP_SWIZZLE_128B;
}

}  // namespace

abi::TensorMap encode_tensor_map(const MatrixView& view) {
  static_assert(sizeof(CUtensorMap) == sizeof(abi::TensorMap));
  const ElementType element = element_type(view.element);
  const auto bytes = [&](std::int64_t elements) { return static_cast<cuuint64_t>(elements) * element.bytes; };
  const cuuint64_t sizes[3] = {static_cast<cuuint64_t>(view.columns), static_cast<cuuint64_t>(view.rows),
                               static_cast<cuuint64_t>(view.matrices)};
  const cuuint64_t strides[2] = {bytes(view.row_stride), bytes(view.row_stride * view.rows)};
  const cuuint32_t box[3] = {static_cast<cuuint32_t>(view.box_columns), static_cast<cuuint32_t>(view.box_rows), 1};
  const cuuint32_t steps[3] = {1, 1, 1};
  const cuuint32_t dimensions = view.matrices > 0 ? 3 : 2;
  CUtensorMap map;
  check(
      Driver::get().cuTensorMapEncodeTiled(&map, element.type, dimensions, const_cast<void*>(view.data), sizes, strides,
                                           box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(view, element.bytes),
                                           CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "cuTensorMapEncodeTiled");
  abi::TensorMap result;
  std::memcpy(&result, &map, sizeof(result));
  return result;
}

abi::TensorMap with_address(const abi::TensorMap& map, const void* data) {
  CUtensorMap moved;
  std::memcpy(&moved, &map, sizeof(moved));
  check(Driver::get().cuTensorMapReplaceAddress(&moved, const_cast<void*>(data)), "cuTensorMapReplaceAddress");
  abi::TensorMap result;
  std::memcpy(&result, &moved, sizeof(result));
  return result;
}

}  // namespace octet
