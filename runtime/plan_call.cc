#include "runtime/plan_call.h"

namespace octet {

PlanCall::PlanCall(const MlpTensors& tensors) : rows(tensors.rows), memory(tensors.memory) {
  set(PlanTensor::x, tensors.x);
  set(PlanTensor::w1, tensors.w1);
  set(PlanTensor::w2, tensors.w2);
  set(PlanTensor::bias1, tensors.bias1);
  set(PlanTensor::bias2, tensors.bias2);
  set(PlanTensor::probs, tensors.probs);
  set(PlanTensor::noop, tensors.noop);
  set(PlanTensor::y, tensors.y);
  set(PlanTensor::dy, tensors.dy);
  set(PlanTensor::dx, tensors.dx);
  set(PlanTensor::dw1, tensors.dw1);
  set(PlanTensor::dw2, tensors.dw2);
  set(PlanTensor::dbias1, tensors.dbias1);
  set(PlanTensor::dbias2, tensors.dbias2);
  set(PlanTensor::dprobs, tensors.dprobs);
}

PlanCall::PlanCall(const LinearTensors& tensors) : rows(tensors.rows), memory(tensors.memory) {
  set(PlanTensor::x, tensors.x);
  set(PlanTensor::w1, tensors.w);
  set(PlanTensor::bias1, tensors.bias);
  set(PlanTensor::noop, tensors.noop);
  set(PlanTensor::y, tensors.y);
  set(PlanTensor::dy, tensors.dy);
  set(PlanTensor::dx, tensors.dx);
  set(PlanTensor::dw1, tensors.dw);
  set(PlanTensor::dbias1, tensors.dbias);
}

}  // namespace octet
