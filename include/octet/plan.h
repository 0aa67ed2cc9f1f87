// A plan: the kernels of a layer of experts, forward and backward, chosen together, so that what one writes is what the
// next one reads. A value: buffers, and for each pass the steps that use them. It prints itself, says which kernels any
// number of rows can need and how much memory it takes; octet/plan_run.h executes it, on the GPU or on the host.
//
//   const octet::Plan plan = octet::make_plan(octet::PlanFacts::parse("mlp.packed g8 h7168 i2048 act=swiglu"));
//   std::string text = octet::to_string(plan), picture = octet::to_mermaid(plan);
//   std::vector<octet::Spec> specs = octet::variants(plan, 16384);
//
// All functions are pure and thread-safe; none needs a GPU or a driver.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "octet/device.h"
#include "octet/export.h"
#include "octet/plan_facts.h"
#include "octet/problem.h"
#include "octet/runtime.h"
#include "octet/spec.h"

namespace octet {

// Who gives a buffer, and how long it is needed.
enum class PlanRole : std::uint8_t {
  input,              // the caller's, read
  weight,             // the caller's, read
  output,             // the caller's, written
  quantized_weights,  // from quantize_weights until the weights change
  saved,              // from a forward until the backward_weights of the same tokens
  deferred,           // from a backward_data until its backward_weights
  scratch,            // within one pass
};
OCTET_API const char* to_string(PlanRole role) noexcept;

enum class PlanPass : std::uint8_t {
  quantize_weights,  // no steps where weights are given quantized
  forward,
  backward_data,     // gradients of tokens, biases and probabilities; no steps with +inference
  backward_weights,  // gradients of weights, right after backward_data or later; no steps with +inference
};
inline constexpr std::array kPlanPasses = {PlanPass::quantize_weights, PlanPass::forward, PlanPass::backward_data,
                                           PlanPass::backward_weights};
OCTET_API const char* to_string(PlanPass pass) noexcept;

// What a buffer of the caller is called. A linear plan has the first of each kind: w1, bias1, dw1, dbias1.
enum class PlanTensor : std::uint8_t {
  none,  // not the caller's
  x,
  w1,
  w2,
  bias1,
  bias2,
  probs,
  noop,
  y,
  dy,
  dx,
  dw1,
  dw2,
  dbias1,
  dbias2,
  dprobs,
};
inline constexpr std::size_t kPlanTensors = 16;

// Bytes of the two parts of a buffer; scale factors of what is quantized.
struct OCTET_API PlanBytes {
  std::int64_t data = 0, sf = 0;
};

struct OCTET_API PlanBuffer {
  std::string name;  // "x"; of what is quantized "x.row" and "x.col"
  PlanRole role = PlanRole::scratch;
  PlanTensor tensor = PlanTensor::none;
  PlanPass pass = PlanPass::forward;  // of scratch: the pass that it belongs to
  DType type = DType::bf16;           // of the elements
  // Row-major [rows, columns] of `type`; rows is 0 for those of the buffers of tokens. Of what is quantized, `producer`
  // and `columnwise` say all of it.
  std::int64_t rows = 0, columns = 0;
  std::optional<Problem> producer;
  bool columnwise = false;
  OperandLayout layout;      // of what is quantized
  std::int64_t tensors = 1;  // w=pointers: as many as groups, and the above is said of one of them
};

// What a buffer is to a step's launch: the names of GemmArgs and QuantizeArgs.
enum class PlanArgument : std::uint8_t { a, b, in, pre, bias, probs, noop, out, out_col, d, dprobs, dbias };
inline constexpr std::size_t kPlanArguments = 12;
OCTET_API const char* to_string(PlanArgument argument) noexcept;
// Whether the step writes it.
OCTET_API bool is_written(PlanArgument argument) noexcept;

// One kernel. With w=pointers a step of quantize_weights is launched once for each group.
struct OCTET_API PlanStep {
  std::string name;  // "gemm1"
  Problem problem;
  std::array<int, kPlanArguments> buffers;  // index into Plan::buffers, -1 for an argument that is not used

  int buffer(PlanArgument argument) const noexcept { return buffers[static_cast<std::size_t>(argument)]; }
};

struct OCTET_API Plan {
  PlanFacts facts;
  std::vector<PlanBuffer> buffers;
  std::array<std::vector<PlanStep>, kPlanPasses.size()> passes;

  const std::vector<PlanStep>& steps(PlanPass pass) const noexcept { return passes[static_cast<std::size_t>(pass)]; }
  // Of one tensor of the buffer. Both throw Error{invalid_argument} for a capacity (rows) that no launch takes.
  PlanBytes bytes(const PlanBuffer& buffer, std::int64_t capacity) const;
  // Of the block of memory that a launch takes for a role: quantized_weights, saved, deferred or scratch. It depends on
  // the capacity alone, never on the splits; of quantized_weights on nothing. Scratch includes the kernels' workspaces.
  std::int64_t bytes(PlanRole role, std::int64_t capacity) const;
};

// Throws Error{invalid_problem|no_kernel} with the rule that refused: one of plans, or one of a step's problem, with
// the step's name before it.
OCTET_API Plan make_plan(const PlanFacts& facts, const DeviceFacts& device = {});

// The problems of all steps, each once, in the order of the steps.
OCTET_API std::vector<Problem> problems_of(const Plan& plan);
// Every spec that any step can select for any rows per group up to max_m, or unknown: a closed set, each member once.
OCTET_API std::vector<Spec> variants(const Plan& plan, std::int64_t max_m, const DeviceFacts& device = {});

// The facts, the buffers and the steps of each pass, a line each; with a capacity, also bytes.
OCTET_API std::string to_string(const Plan& plan, std::optional<std::int64_t> capacity = std::nullopt);
// The same as a picture: steps are nodes, buffers the edges between them.
OCTET_API std::string to_mermaid(const Plan& plan);
OCTET_API std::string to_dot(const Plan& plan);

}  // namespace octet
