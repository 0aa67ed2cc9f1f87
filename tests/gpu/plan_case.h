// A plan on the GPU: the data of tests/support/plan_data.h in device memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "octet/plan_run.h"
#include "tests/gpu/harness.h"
#include "tests/support/plan_binding.h"
#include "tests/support/plan_data.h"

namespace octet::test {

class DevicePlan {
 public:
  // Uploads everything. The plan's own blocks hold 0xFF: NaN in every type.
  explicit DevicePlan(const PlanData& data);

  // On a stream that the caller synchronizes.
  void launch(PlanPass pass, CUstream stream) const;
  void launch_all(CUstream stream) const;
  // All passes, waited for.
  void run() const;
  // Inputs, outputs and splits as `data` has them, blocks of memory as they are.
  void upload(const PlanData& data);
  void poison_scratch();
  // A buffer of the caller's, as its bytes are now.
  std::vector<std::uint8_t> read(const std::string& name) const;
  // All outputs, in the order of the plan's buffers.
  std::vector<std::vector<std::uint8_t>> outputs() const;
  // What stands in a block of the plan's own.
  std::vector<std::uint8_t> read_block(PlanRole role) const;
  Buffer& buffer(const std::string& name);
  bool guards_intact() const;
  MlpTensors mlp() const { return binding_->mlp; }
  LinearTensors linear() const { return binding_->linear; }

 private:
  const Buffer& block(PlanRole role) const;

  const Plan& plan_;
  std::unique_ptr<GroupedMlpPlan> mlp_;
  std::unique_ptr<GroupedLinearPlan> linear_;
  std::vector<Buffer> buffers_;
  Buffer splits_, quantized_weights_, saved_, deferred_, scratch_;
  std::unique_ptr<PlanBinding> binding_;
};

// The outputs of the reference executor on the same data.
PlanData expected(PlanData data);
// "" where every output of every group is near what the reference says: relative Frobenius error up to `bound`.
// Roundings to bf16 that go the other way become other FP8 elements, so bits differ.
std::string plan_fault(const PlanData& want, const DevicePlan& got, double bound);
// Runs everything and compares.
std::string plan_fault(const std::string& line, const std::vector<std::int64_t>& sizes, std::int64_t capacity);

}  // namespace octet::test
