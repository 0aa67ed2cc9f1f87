#include "runtime/reference/elements.h"

#include <fmt/format.h>

#include <limits>

#include "octet/reference.h"
#include "runtime/reference/casts.h"
#include "runtime/reference/checks.h"

namespace octet::reference {

float largest_finite(const char* name, DType type) {
  switch (type) {
    case DType::bf16:
      return from_bf16(0x7F7F);
    case DType::fp16:
      return 65504.0f;
    case DType::f32:
      return std::numeric_limits<float>::max();
    default:
      throw bad_argument(fmt::format("reference: {}={}: elements that are not quantized are bf16, fp16 or f32", name,
                                     to_string(type)));
  }
}

float load_element(const void* elements, DType type, std::int64_t index) {
  if (type == DType::f32) return static_cast<const float*>(elements)[index];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(elements)[index];
  return type == DType::bf16 ? from_bf16(bits) : from_fp16(bits);
}

void store_element(void* elements, DType type, std::int64_t index, float value) {
  if (type == DType::f32) {
    static_cast<float*>(elements)[index] = value;
  } else {
    static_cast<std::uint16_t*>(elements)[index] = type == DType::bf16 ? to_bf16(value) : to_fp16(value);
  }
}

float round_to(DType type, float value) {
  if (type == DType::f32) return value;
  return type == DType::bf16 ? from_bf16(to_bf16(value)) : from_fp16(to_fp16(value));
}

}  // namespace octet::reference
