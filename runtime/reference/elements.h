// Elements of a problem's wide types in a buffer, as f32.
#pragma once

#include <cstdint>

#include "octet/recipe.h"

namespace octet::reference {

// The largest finite value of bf16, fp16 or f32. Throws Error{invalid_argument} that calls the type `name`.
float largest_finite(const char* name, DType type);

float load_element(const void* elements, DType type, std::int64_t index);
void store_element(void* elements, DType type, std::int64_t index, float value);
// What is left of a value that was stored as this type.
float round_to(DType type, float value);

}  // namespace octet::reference
