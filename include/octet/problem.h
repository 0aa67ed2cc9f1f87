// What a caller asks for: a value with one text spelling, the same in code, on the command line, in logs and in
// bug reports.
//
//   gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16
//   quantize.packed g8 c2048 in=bf16 out=e4m3:1x128
//   quantize.uniform g8 n7168 k2048 in=bf16 out=e4m3:128x128
//
//   problem  = operation "." layout { " " item }      any order when parsed, each item once; printed in this order:
//   sizes      g m n k c al                           followed by the number
//   operands   a= b= d= in= act= gate= il= out=       the data's way through the kernel
//   options    dir= from= to= splits= w=
//   flags      +bias +acc +probs +grad +dbias +noop +amax +given +fastacc +checked
//
// Words: G groups (experts), rows (tokens), N output features, K inner size. A is [rows, K], B is [G, N, K],
// D is [rows, N], all row-major. A tensor of tokens to quantize is [rows, C]; weights are [G, N, K]. With an activation
// C counts the columns of its output; the pre-activation of a gated one has 2C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "octet/export.h"
#include "octet/recipe.h"

namespace octet {

enum class Operation : std::uint8_t { gemm, wgrad, quantize, dequantize, convert, activation };
OCTET_API const char* to_string(Operation op) noexcept;

// How groups lie in a buffer of `capacity` rows.
enum class Layout : std::uint8_t {
  packed,   // end to end, any sizes; rows past the last group are the tail
  padded,   // group g starts at the end of group g-1 rounded up to a multiple of `al`; gaps are tail rows
  masked,   // [G, max_m, ...] with a count per group
  uniform,  // every group has the same rows, no splits: weights
  dense,    // one group that fills the buffer, by the caller's word
};
OCTET_API const char* to_string(Layout layout) noexcept;

enum class Activation : std::uint8_t {
  none,
  relu,
  srelu,
  gelu,
  qgelu,
  silu,
  swiglu,
  geglu,
  qgeglu,
  reglu,
  sreglu,
  glu,
  clamped_swiglu,
  situ_glu
};
OCTET_API const char* to_string(Activation activation) noexcept;

enum class Direction : std::uint8_t { row, col, row_col };

// How the quantized data of an operand is packed, where it is not our way; for converters (docs/numerics.md,
// "Converters").
enum class Packing : std::uint8_t {
  octet,
  deepgemm,  // columnwise data as one block [C][R_g] per group, end to end
  te,        // columnwise scales, but data as [rows][C], not transposed
};

// The device array that says where groups lie. All values are rows.
enum class SplitsForm : std::uint8_t {
  sizes,   // [G] rows of each group
  ends,    // [G] where each group ends (cumulative; torch calls this offs)
  starts,  // [G+1] where each group starts, then where the last one ends (CSR style indptr)
};
struct OCTET_API Splits {
  bool is_i64 = false;
  SplitsForm form = SplitsForm::sizes;
  friend bool operator==(const Splits& x, const Splits& y) noexcept { return x.is_i64 == y.is_i64 && x.form == y.form; }
};

enum class Flag : std::uint32_t {
  bias = 1u << 0,
  acc = 1u << 1,
  probs = 1u << 2,
  grad = 1u << 3,
  dbias = 1u << 4,
  noop = 1u << 5,
  amax = 1u << 6,
  given = 1u << 7,
  fastacc = 1u << 8,
  checked = 1u << 9,
};

// 0 means "not given" for every size: g groups, m max_m of `masked`, n output features, k inner size, c columns,
// al alignment of `padded` in rows; il is the interleaving of gate and up in columns (0: two halves). Trivially
// copyable; comparing and hashing touch no heap.
struct OCTET_API Problem {
  Operation op = Operation::gemm;
  Layout layout = Layout::packed;
  std::int64_t g = 0, n = 0, k = 0, c = 0, m = 0, al = 0;
  std::optional<Recipe> a, b, out;
  std::optional<DType> in, d;
  Activation act = Activation::none;
  bool gate_second = false;
  std::int32_t il = 0;
  Direction dir = Direction::row;
  Packing from = Packing::octet, to = Packing::octet;
  Splits splits;
  bool weights_by_pointer = false;
  std::uint32_t flags = 0;

  bool has(Flag flag) const noexcept { return (flags & static_cast<std::uint32_t>(flag)) != 0; }

  // Throws Error{invalid_problem} with one line that names the item and, for an unknown one, the nearest known item.
  static Problem parse(std::string_view text);
  // Canonical order, defaults left out. parse(to_string()) == *this for every Problem that parse can return.
  std::string to_string() const;
};
OCTET_API bool operator==(const Problem& x, const Problem& y) noexcept;
inline bool operator!=(const Problem& x, const Problem& y) noexcept { return !(x == y); }
OCTET_API std::size_t hash_value(const Problem& problem) noexcept;

// The same value with only the fields that a GEMM has. Forward and dgrad (op gemm): D[g] = A[g] * B[g]^T, A [rows, K]
// of tokens, B [G, N, K] of weights. Wgrad: D[g] = A[g]^T * B[g] over the group's rows, A [rows, N] of gradients, B
// [rows, K] of tokens, both quantized columnwise; D [G, N, K].
struct OCTET_API GemmProblem {
  Operation op = Operation::gemm;  // or wgrad
  Layout layout = Layout::packed;
  std::int64_t groups = 1, n = 0, k = 0;
  std::int64_t max_m = 0;  // masked only: rows of a group's buffer
  Recipe a = e4m3_1x128();
  Recipe b = e4m3_128x128();
  DType d = DType::bf16;
  std::int64_t alignment = 0;  // padded only: rows
  Splits splits = {};
  // dgrad: col, B is the columnwise copy of weights [G, K, N] that were quantized along their rows, as it lies
  Direction dir = Direction::row;
  bool weights_by_pointer = false;  // B (wgrad: D) is one tensor per group, given as G pointers
  Packing from = Packing::octet;    // wgrad: or deepgemm, how A and B are packed
  std::uint32_t flags = 0;          // of Flag: bias, acc, fastacc, checked
  Problem to_problem() const;
};

// Tokens ([rows, columns], packed, padded or masked) or weights ([groups, rows_per_group, columns], uniform).
struct OCTET_API QuantizeProblem {
  Layout layout = Layout::packed;
  std::int64_t groups = 1, columns = 0;
  std::int64_t rows_per_group = 0;  // uniform: N; masked: max_m
  DType in = DType::bf16;
  Recipe out = e4m3_1x128();
  std::int64_t alignment = 0;  // padded only: rows
  Splits splits = {};
  Direction dir = Direction::row;
  Activation act = Activation::none;
  std::uint32_t flags = 0;  // of Flag
  Problem to_problem() const;
};

}  // namespace octet
