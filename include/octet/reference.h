// The same operations on the host, in plain loops: the oracle of the tests and the executor of `--device reference`.
// Nothing here is fast. All functions are pure and thread-safe, and throw Error{invalid_argument} for bad sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/export.h"
#include "octet/problem.h"

namespace octet::reference {

// Where group g's rows lie in a buffer: [begin[g], end[g]).
struct OCTET_API GroupExtents {
  std::vector<std::int64_t> begin, end;
};
// Extents of groups of the given sizes: packed (alignment 0 or 1) or padded to `alignment` rows.
OCTET_API GroupExtents extents(const std::vector<std::int64_t>& sizes, std::int64_t alignment = 0);
// What a device array of this form holds for these extents: G values, or G+1 for starts.
OCTET_API std::vector<std::int64_t> splits_array(const GroupExtents& extents, SplitsForm form);

// Element casts, exact (docs/numerics.md, "Element casts"): nearest even, saturating, NaN -> 0x7F.
OCTET_API std::uint8_t to_fp8(float value, DType type);
OCTET_API float from_fp8(std::uint8_t byte, DType type);
OCTET_API std::uint16_t to_bf16(float value);  // nearest even; NaN -> 0x7FFF
OCTET_API float from_bf16(std::uint16_t bits);

// The quantization scale q and SF = 1/q of a block with this amax (steps 1 to 3 of the recipe).
struct OCTET_API Scale {
  float q, sf;
};
OCTET_API Scale block_scale(float amax, DType out, DType in, bool power_of_two = false);

// 1x128 along columns. in: bf16 [capacity][columns]. data: [capacity][columns] bytes, sf: mn_major
// [ceil(columns/128)][up(capacity, 4)]. Rows outside every group are left as they were.
OCTET_API void quantize_rows(const QuantizeProblem& problem, const std::uint16_t* in, const GroupExtents& groups,
                             std::int64_t capacity, std::uint8_t* data, float* sf);
// 128x128. in: bf16 [G][rows_per_group][columns]; sf: block2d.
OCTET_API void quantize_blocks(const QuantizeProblem& problem, const std::uint16_t* in, std::uint8_t* data, float* sf);

// D = A * B^T per group over dequantized operands in f64: one element.
OCTET_API double gemm_element(const GemmProblem& problem, const std::uint8_t* a, const float* sfa,
                              const std::uint8_t* b, const float* sfb, std::int64_t capacity, std::int64_t group,
                              std::int64_t row, std::int64_t n);
// All of D as f64 [capacity][N]; rows outside every group are left as they were. Uses `threads` host threads.
OCTET_API void gemm(const GemmProblem& problem, const std::uint8_t* a, const float* sfa, const std::uint8_t* b,
                    const float* sfb, const GroupExtents& groups, std::int64_t capacity, double* d, int threads = 1);

}  // namespace octet::reference
