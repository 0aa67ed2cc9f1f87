// What a caller says of a layer of experts, from which everything of its plan follows: a value with one text spelling.
//
//   mlp.packed g8 h7168 i2048 act=swiglu +bias +probs +acc
//   mlp.masked g32 m128 h4096 i1536 act=swiglu recipe=mxfp8 +inference
//   linear.packed g8 n4096 k7168 dy=e5m2:1x128 w=pointers
//
//   plan     = ("mlp" | "linear") "." layout { " " item }   any order when parsed, each once; printed in this order:
//   sizes      g m h i n k al                                 followed by the number
//   options    act= gate= il= recipe= x= weights= dy= d= dw= splits= w=
//   flags      +bias +probs +acc +noop +primary +inference +fastacc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "octet/export.h"
#include "octet/problem.h"
#include "octet/recipe.h"

namespace octet {

enum class PlanKind : std::uint8_t {
  mlp,     // y[g] = act(x[g] * w1[g]^T) * w2[g]^T; w1 [G, F, H], w2 [G, H, I], F is I, or 2I of a gated activation
  linear,  // y[g] = x[g] * w[g]^T; w [G, N, K]
};
OCTET_API const char* to_string(PlanKind kind) noexcept;

// Recipes of the three kinds of tensors that are quantized. Each pass multiplies two of them: forward x and weights,
// dgrad dy and weights, wgrad dy and x; a tensor that two passes read has one recipe, along both of its axes.
enum class Preset : std::uint8_t {
  block_fp8,  // 1x128, and 128x128 of weights
  tensor,     // one scale per group, of the data at hand
  row,
  mxfp8,  // 1x32
};
OCTET_API const char* to_string(Preset preset) noexcept;

// 0 means "not given" for every size.
struct OCTET_API PlanFacts {
  PlanKind kind = PlanKind::mlp;
  Layout layout = Layout::packed;             // of tokens: packed, padded, masked or dense
  std::int64_t groups = 0;                    // G
  std::int64_t max_m = 0;                     // masked: rows of a group's buffer
  std::int64_t hidden = 0, intermediate = 0;  // mlp: H, columns of x and y, and I, of the activation's output
  std::int64_t n = 0, k = 0;                  // linear: columns of y and of x
  std::int64_t alignment = 0;                 // padded: rows
  Activation activation = Activation::none;   // mlp
  bool gate_second = false;                   // gated: the second half is the gate
  std::int32_t interleave = 0;                // gated: columns in which gate and up take turns; 0: two halves
  Preset recipe = Preset::block_fp8;
  std::optional<Recipe> x, weights, dy;  // instead of the preset's: of x and the activation's output, of gradients
  DType d = DType::bf16;                 // of x, y, their gradients, biases, and all that is not quantized between
  DType dw = DType::f32;                 // of weight gradients
  Splits splits;
  bool weights_by_pointer = false;  // one tensor per group for each weight, its quantized copies and its gradient
  bool bias = false;                // mlp: of both GEMMs
  bool probs = false;               // mlp: each row of the activation's output times its probability; not bias2
  bool accumulate = false;          // weight gradients are added to what dw holds
  bool noop = false;                // a device flag: while it is set, quantize_weights writes nothing
  bool primary_weights = false;     // weights are given quantized: no plan quantizes them
  bool inference = false;           // no backward
  bool fast_accumulate = false;     // tensor and row: sum all of K in the tensor core

  // Throws Error{invalid_problem} with one line that names the item and, for an unknown one, the nearest known item.
  static PlanFacts parse(std::string_view text);
  // Canonical order, defaults left out. parse(to_string()) == *this for all that parse can return.
  std::string to_string() const;

  // The recipes, with the preset filled in.
  Recipe x_recipe() const noexcept;
  Recipe weight_recipe() const noexcept;
  Recipe dy_recipe() const noexcept;
};
OCTET_API bool operator==(const PlanFacts& x, const PlanFacts& y) noexcept;
inline bool operator!=(const PlanFacts& x, const PlanFacts& y) noexcept { return !(x == y); }

// Whether a text spells a plan rather than a problem: its first word starts with "mlp" or "linear".
OCTET_API bool is_plan_text(std::string_view text) noexcept;

}  // namespace octet
