// What a call of a plan is given, whichever family it is of: the caller's tensors by name.
#pragma once

#include <array>

#include "octet/plan_run.h"

namespace octet {

// At most one of the three is not null.
struct PlanSlot {
  void* data = nullptr;
  const PlanWeight* weight = nullptr;
  const PlanGradient* gradient = nullptr;
};

// Refers to the tensors that it is made of.
struct PlanCall {
  PlanRows rows;
  PlanMemory memory;
  std::array<PlanSlot, kPlanTensors> slots;

  explicit PlanCall(const MlpTensors& tensors);
  explicit PlanCall(const LinearTensors& tensors);
  const PlanSlot& slot(PlanTensor tensor) const { return slots[static_cast<std::size_t>(tensor)]; }

 private:
  // Nothing is written through what was given to be read.
  void set(PlanTensor tensor, const void* data) {
    slots[static_cast<std::size_t>(tensor)].data = const_cast<void*>(data);
  }
  void set(PlanTensor tensor, const PlanWeight& weight) { slots[static_cast<std::size_t>(tensor)].weight = &weight; }
  void set(PlanTensor tensor, const PlanGradient& gradient) {
    slots[static_cast<std::size_t>(tensor)].gradient = &gradient;
  }
};

}  // namespace octet
