// The tensors of a plan's call, from the address of every buffer of the caller's: on the host or on a device.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/plan_run.h"

namespace octet::test {

inline std::int64_t up_to_256(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }
// Of one tensor: its data, then its scales.
inline std::int64_t plan_tensor_bytes(const PlanBytes& bytes) { return up_to_256(bytes.data) + up_to_256(bytes.sf); }

// addresses[i] is where plan.buffers[i] lies, its tensors end to end, or null for a buffer of the plan's own. Owns the
// arrays of pointers, so it must outlive the calls.
class PlanBinding {
 public:
  PlanBinding(const Plan& plan, std::vector<char*> addresses, const PlanRows& rows, const PlanMemory& memory)
      : plan_(plan), addresses_(std::move(addresses)) {
    mlp.rows = linear.rows = rows;
    mlp.memory = linear.memory = memory;
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      if (plan.buffers[i].tensor != PlanTensor::none) bind(i);
    }
  }
  PlanBinding(const PlanBinding&) = delete;
  PlanBinding& operator=(const PlanBinding&) = delete;

  MlpTensors mlp;
  LinearTensors linear;

 private:
  std::int64_t stride(std::size_t index) const {
    return plan_tensor_bytes(plan_.bytes(plan_.buffers[index], mlp.rows.capacity));
  }
  const void* const* pointers(std::size_t index, std::int64_t offset) {
    std::vector<const void*>& all = pointers_.emplace_back();
    for (std::int64_t t = 0; t < plan_.buffers[index].tensors; ++t) {
      all.push_back(addresses_[index] + t * stride(index) + offset);
    }
    return all.data();
  }

  void bind_weight(std::size_t index, PlanWeight& weight) {
    const PlanBuffer& buffer = plan_.buffers[index];
    if (!buffer.producer) {
      weight.data = addresses_[index];
      weight.tensors = pointers(index, 0);
      return;
    }
    const std::int64_t to_sf = up_to_256(plan_.bytes(buffer, 0).data);
    (buffer.columnwise ? weight.col : weight.row) = {addresses_[index], addresses_[index] + to_sf, buffer.layout};
    (buffer.columnwise ? weight.col_data : weight.row_data).host = pointers(index, 0);
    (buffer.columnwise ? weight.col_sf : weight.row_sf).host = pointers(index, to_sf);
  }
  void bind_gradient(std::size_t index, PlanGradient& gradient) {
    gradient.data = addresses_[index];
    gradient.tensors = const_cast<void* const*>(reinterpret_cast<const void* const*>(pointers(index, 0)));
  }

  void bind(std::size_t index) {
    char* at = addresses_[index];
    const auto floats = reinterpret_cast<float*>(at);
    switch (plan_.buffers[index].tensor) {
      case PlanTensor::x:
        mlp.x = linear.x = at;
        break;
      case PlanTensor::w1:
        bind_weight(index, mlp.w1);
        bind_weight(index, linear.w);
        break;
      case PlanTensor::w2:
        bind_weight(index, mlp.w2);
        break;
      case PlanTensor::bias1:
        mlp.bias1 = linear.bias = at;
        break;
      case PlanTensor::bias2:
        mlp.bias2 = at;
        break;
      case PlanTensor::probs:
        mlp.probs = floats;
        break;
      case PlanTensor::noop:
        mlp.noop = linear.noop = at;
        break;
      case PlanTensor::y:
        mlp.y = linear.y = at;
        break;
      case PlanTensor::dy:
        mlp.dy = linear.dy = at;
        break;
      case PlanTensor::dx:
        mlp.dx = linear.dx = at;
        break;
      case PlanTensor::dw1:
        bind_gradient(index, mlp.dw1);
        bind_gradient(index, linear.dw);
        break;
      case PlanTensor::dw2:
        bind_gradient(index, mlp.dw2);
        break;
      case PlanTensor::dbias1:
        mlp.dbias1 = linear.dbias = floats;
        break;
      case PlanTensor::dbias2:
        mlp.dbias2 = floats;
        break;
      case PlanTensor::dprobs:
        mlp.dprobs = floats;
        break;
      case PlanTensor::none:
        break;
    }
  }

  const Plan& plan_;
  std::vector<char*> addresses_;
  std::vector<std::vector<const void*>> pointers_;
};

}  // namespace octet::test
