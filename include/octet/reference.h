// The same operations on the host, in plain loops: the oracle of the tests and the executor of `--device reference`.
// Nothing here is fast. All functions are pure and thread-safe, and throw Error{invalid_argument} for bad sizes, for
// recipes that they do not implement, and for null pointers where there is something to read or write; for a size that
// the problem does not have, Error{invalid_problem}.
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
// What a device array of this form holds for these extents: G values, or G+1 for starts. `starts` says where a group
// ends only through the next one's start, so it is refused for extents with gaps.
OCTET_API std::vector<std::int64_t> splits_array(const GroupExtents& extents, SplitsForm form);

// Element casts, exact (docs/numerics.md, "Element casts"): nearest even, saturating, NaN -> 0x7F.
OCTET_API std::uint8_t to_fp8(float value, DType type);
OCTET_API float from_fp8(std::uint8_t byte, DType type);
OCTET_API std::uint16_t to_bf16(float value);  // nearest even, overflow to infinity; NaN -> 0x7FFF
OCTET_API float from_bf16(std::uint16_t bits);

// The quantization scale q and SF = 1/q of a block with this amax (steps 1 to 3 of the recipe).
struct OCTET_API Scale {
  float q, sf;
};
OCTET_API Scale block_scale(float amax, DType out, DType in, bool power_of_two = false);

// The biased exponent of an E8M0 scale for a block with this amax, and the multiplier 2^(127 - e) of the cast
// (docs/numerics.md, "E8M0 scales"). Rounded up, so that the block's maximum never saturates.
OCTET_API std::uint8_t e8m0_scale(float amax, DType out);
OCTET_API float e8m0_multiplier(std::uint8_t byte);
OCTET_API float from_e8m0(std::uint8_t byte);  // 0 -> 2^-127, 255 -> NaN

// Host pointers of what QuantizeArgs names, in the shapes and layouts of octet/layout.h. Elements of type problem.in
// are given as their bytes (bf16 and fp16: 16-bit patterns).
struct OCTET_API QuantizeInputs {
  const void* in = nullptr;
  const void* pre = nullptr;
  const void* bias = nullptr;
  const float* probs = nullptr;
  const float* given = nullptr;
  bool noop = false;
  float amax_floor = 0;
};
struct OCTET_API QuantizeOutputs {
  std::uint8_t* data = nullptr;  // dir=row
  void* sf = nullptr;            // f32, or bytes of E8M0
  std::uint8_t* data_col = nullptr;
  void* sf_col = nullptr;
  void* d = nullptr;  // activation
  float* amax = nullptr;
  float* dprobs = nullptr;
  float* dbias = nullptr;
};
// Extents of a masked buffer: group g's rows begin at g*max_m. `counts` over max_m are refused.
OCTET_API GroupExtents masked_extents(const std::vector<std::int64_t>& counts, std::int64_t max_m);
// Extents of uniform groups.
OCTET_API GroupExtents uniform_extents(std::int64_t groups, std::int64_t rows);

// Every quantizer and activation that docs/numerics.md describes (problem.op quantize or activation). What belongs to
// no group is left as it was; what the layouts pad is written. The activation's math is f64 rounded to f32 once, then
// to the input's type where the recipe quantizes afterwards: kernels compute in f32 and may differ in the last bit of
// that type.
OCTET_API void quantize(const Problem& problem, const QuantizeInputs& inputs, const GroupExtents& groups,
                        std::int64_t capacity, const QuantizeOutputs& outputs);
// problem.op dequantize: d[row][c] = value * SF in f32, rounded to problem.d, from either direction.
OCTET_API void dequantize(const Problem& problem, const std::uint8_t* data, const void* sf, const GroupExtents& groups,
                          std::int64_t capacity, void* d);
// problem.op convert: problem.a with packing problem.from to problem.out with packing problem.to. Data and scales may
// each be null on both sides.
OCTET_API void convert(const Problem& problem, const std::uint8_t* data, const void* sf, const GroupExtents& groups,
                       std::int64_t capacity, std::uint8_t* out_data, void* out_sf);

// f(a) * b of one element, without probabilities, and its derivatives; b is 1 and unused where the activation has no
// gate. In f64, by the formulas of docs/numerics.md, "Activations".
struct OCTET_API ActivationValue {
  double y, da, db;
};
OCTET_API ActivationValue activate(Activation activation, double a, double b);

// Host pointers of what GemmArgs names. Operands lie as the quantizers a_producer(problem) and b_producer(problem) of
// octet/layout.h write them, with from=deepgemm as `convert` packs that; scales are f32, or bytes of E8M0. With
// w=pointers B is one tensor all the same (wgrad: D). What the problem does not ask for is not looked at.
struct OCTET_API GemmInputs {
  const std::uint8_t* a = nullptr;
  const void* a_sf = nullptr;
  const std::uint8_t* b = nullptr;
  const void* b_sf = nullptr;
  const void* bias = nullptr;  // +bias of a gemm: [G][N] of type problem.d
  float alpha = 1;
  float beta = 1;  // of +acc
};

// One element of alpha * A * B + bias, without beta * D, over dequantized operands in f64. Every pair of recipes, in
// the layouts packed, padded, masked and dense. gemm (forward and dgrad): i is the row of the buffer, one of the
// group's, and j is n. wgrad: i is n, j is k.
//
// The sum runs in order over the blocks that share scales, of at most 128 elements: FP8 products are summed first, then
// multiplied by SFA * SFB. Rows outside every group are not read.
OCTET_API double gemm_element(const Problem& problem, const GemmInputs& inputs, const GroupExtents& groups,
                              std::int64_t capacity, std::int64_t group, std::int64_t i, std::int64_t j);
// All of D as f64. gemm: [capacity][N] (masked: [G*m][N]); rows outside every group are left as they were. wgrad:
// [G][N][K], also of empty groups. With +acc d holds the old D on entry and beta * D is added; an empty sum leaves
// beta * D, without +acc 0. Uses `threads` host threads; the result does not depend on how many, and without +acc each
// element equals gemm_element's bit for bit.
OCTET_API void gemm(const Problem& problem, const GemmInputs& inputs, const GroupExtents& groups, std::int64_t capacity,
                    double* d, int threads = 1);

// How one group of a result compares with the reference. Judged per group: a wrong group hides in a large sum.
struct OCTET_API GroupError {
  std::int64_t rows = 0;     // of the group
  std::int64_t samples = 0;  // elements compared; 0 where the group has none in D, whose errors are 0
  double frobenius = 0;      // |D - reference| / |reference|; infinite where only one of the two is a finite number
  double metric = 0;         // 1 - 2*sum(xy) / sum(x^2 + y^2), as DeepGEMM judges; infinite likewise
};
// Compares d, shaped as gemm's and of type problem.d (bf16, fp16 or f32), with the reference: per group all elements
// where there are at most `samples_per_group`, else that many, spread evenly over the group and fixed by `seed`; the
// first and the last element are always among them. `old_d` is what D was before, for +acc; else it may be null.
OCTET_API std::vector<GroupError> compare_gemm(const Problem& problem, const GemmInputs& inputs,
                                               const GroupExtents& groups, std::int64_t capacity, const void* d,
                                               const void* old_d = nullptr, std::int64_t samples_per_group = 4096,
                                               std::uint64_t seed = 1, int threads = 1);
// Whether an error is within what docs/numerics.md, "GEMM", promises for outputs of type d.
OCTET_API bool within_bounds(const GroupError& error, DType d);

// Test data as bf16, about normal, the same on every machine: an element depends on the seed and its place alone
// (docs/numerics.md, "Test data"). The blocks that share a scale differ by powers of two in magnitude, so that a scale
// read from the wrong place shows in the result.
OCTET_API std::vector<std::uint16_t> random_tokens(std::int64_t rows, std::int64_t columns, std::uint64_t seed);
OCTET_API std::vector<std::uint16_t> random_weights(std::int64_t groups, std::int64_t rows, std::int64_t columns,
                                                    std::uint64_t seed);

}  // namespace octet::reference
