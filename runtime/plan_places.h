// Where the buffers of a call lie: the caller's tensors, and the plan's own in the blocks of memory. No heap: warm
// calls make one each.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/plan_call.h"

namespace octet {

// A buffer. Of several tensors either the first one lies at `data` and `sf` and the next `stride` bytes further on, or
// there are pointers to each.
struct PlanPlace {
  char* data = nullptr;
  char* sf = nullptr;
  std::int64_t stride = 0;
  OperandLayout layout;
  Pointers data_tensors, sf_tensors;

  bool has_pointers() const { return data_tensors.host != nullptr || data_tensors.device != nullptr; }
  // Of tensors whose addresses this code can read: in the reference executor all of them.
  void* tensor(std::int64_t index) const;
  void* tensor_sf(std::int64_t index) const;
  MutableOperand operand() const { return {data, sf, layout}; }
};

class PlanPlaces {
 public:
  // Throws Error{invalid_argument} naming the buffer, for one that the pass uses and that has bytes but is null, is not
  // aligned as kernels need it (`aligned`), or has another layout than the plan's; for a capacity out of range.
  PlanPlaces(const Plan& plan, PlanPass pass, const PlanCall& call, bool aligned);

  bool has(const PlanStep& step, PlanArgument argument) const { return step.buffer(argument) >= 0; }
  // An empty place for an argument that the step does not use.
  const PlanPlace& at(const PlanStep& step, PlanArgument argument) const;
  // 256-byte aligned, in scratch.
  void* workspace() const { return workspace_; }

 private:
  static constexpr std::size_t kMostBuffers = 40;
  std::array<PlanPlace, kMostBuffers> places_;
  PlanPlace none_;
  void* workspace_ = nullptr;
};

}  // namespace octet
