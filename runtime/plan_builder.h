// Puts a plan together, buffer by buffer and step by step.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "octet/plan.h"

namespace octet {

inline std::uint32_t bit(bool wanted, Flag flag) { return wanted ? static_cast<std::uint32_t>(flag) : 0u; }

// Indices of the copies of a tensor along its rows and along its columns; -1 where there is none.
struct QuantizedPair {
  int row = -1, col = -1;
};

class PlanBuilder {
 public:
  explicit PlanBuilder(const PlanFacts& facts);

  const PlanFacts& facts() const { return plan_.facts; }
  bool trains() const { return !plan_.facts.inference; }

  // The caller's, of type d and one row per token, or of another shape.
  int tokens(const char* name, PlanRole role, PlanTensor tensor, std::int64_t columns);
  int of_groups(const char* name, PlanRole role, PlanTensor tensor, DType type, std::int64_t columns);
  // f32, one for each token.
  int of_tokens(const char* name, PlanRole role, PlanTensor tensor);
  // The plan's own, of type d.
  int between(const char* name, PlanRole role, PlanPass pass, std::int64_t columns);
  // Weights as the GEMMs read them, quantized by a step of the plan or by the caller.
  QuantizedPair weights(const std::string& name, PlanTensor tensor, std::int64_t n, std::int64_t k);
  int weight_gradient(const char* name, PlanTensor tensor, std::int64_t n, std::int64_t k);

  // A quantizer of tokens with the facts' layout and splits, along rows, and columns where the plan trains.
  Problem token_quantizer(std::int64_t columns, const Recipe& recipe) const;
  using Arguments = std::initializer_list<std::pair<PlanArgument, int>>;
  // Adds the step and what it writes, "<name>.row" in scratch and "<name>.col" in `columns`.
  QuantizedPair quantize(PlanPass pass, const std::string& name, const Problem& problem, PlanRole columns,
                         Arguments arguments);

  // Forward or dgrad. `flags` of Flag.
  void gemm(PlanPass pass, const char* name, std::int64_t n, std::int64_t k, Direction weights, std::uint32_t flags,
            Arguments arguments);
  void wgrad(const char* name, std::int64_t n, std::int64_t k, Arguments arguments);

  Plan take() { return std::move(plan_); }

 private:
  int add(PlanBuffer buffer);
  int add_quantized(const std::string& name, PlanRole role, PlanPass pass, const Problem& producer, bool columnwise);
  void add_step(PlanPass pass, const std::string& name, const Problem& problem, Arguments arguments);
  Problem multiplication(Operation op, std::int64_t n, std::int64_t k) const;

  Plan plan_;
  int noop_ = -1;
};

}  // namespace octet
