// One pass of a plan on the GPU.
#pragma once

#include <array>

#include "octet/plan_run.h"
#include "runtime/plan_call.h"
#include "runtime/plan_places.h"

namespace octet {

// A pass whose kernels are loaded and whose arguments are checked. Refers to the plan and the call. No heap where the
// kernels were prepared before.
class PreparedPass {
 public:
  // Throws as the plans' calls in octet/plan_run.h.
  PreparedPass(const Plan& plan, PlanPass pass, const PlanCall& call, Runtime& runtime);
  // All steps in order.
  void launch(Stream stream) const;

 private:
  // One of the two.
  struct StepKernel {
    Gemm gemm;
    Quantize quantize;
  };
  static constexpr std::size_t kMostSteps = 8;

  void launch_gemm(const PlanStep& step, const Gemm& kernel, Stream stream) const;
  void launch_quantizer(const PlanStep& step, const Quantize& kernel, Stream stream) const;

  const Plan& plan_;
  PlanPass pass_;
  const PlanCall& call_;
  PlanPlaces places_;
  std::array<StepKernel, kMostSteps> kernels_;
};

}  // namespace octet
