#include "runtime/plan_places.h"

#include <algorithm>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/layout.h"
#include "runtime/gemm_args.h"
#include "runtime/integers.h"
#include "runtime/plan_memory.h"

namespace octet {
namespace {

[[noreturn]] void refuse(const Plan& plan, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("'{}': {}", plan.facts.to_string(), what));
}

// Masked groups fill their buffer, so only one capacity is theirs.
void require_capacity_of_call(const Plan& plan, std::int64_t capacity) {
  const std::int64_t rows = rows_of_tokens(plan.facts, capacity);
  if (capacity != rows)
    refuse(plan, fmt::format("capacity is {}; masked groups fill their buffer, so pass {}", capacity, rows));
  require_capacity(plan.facts, capacity);
}

void* block_of(const PlanMemory& memory, PlanRole role) {
  switch (role) {
    case PlanRole::quantized_weights:
      return memory.quantized_weights;
    case PlanRole::saved:
      return memory.saved;
    case PlanRole::deferred:
      return memory.deferred;
    default:
      return memory.scratch;
  }
}

PlanPlace place_of_weight(const PlanBuffer& buffer, const PlanWeight& weight) {
  PlanPlace place;
  if (!buffer.producer) {
    place.data = static_cast<char*>(const_cast<void*>(weight.data));
    if (buffer.tensors > 1) place.data_tensors.host = weight.tensors;
    return place;
  }
  const Operand& operand = buffer.columnwise ? weight.col : weight.row;
  place.data = static_cast<char*>(const_cast<void*>(operand.data));
  place.sf = static_cast<char*>(const_cast<void*>(operand.sf));
  place.layout = operand.layout;
  if (buffer.tensors > 1) {
    place.data_tensors = buffer.columnwise ? weight.col_data : weight.row_data;
    place.sf_tensors = buffer.columnwise ? weight.col_sf : weight.row_sf;
  }
  return place;
}

PlanPlace place_of_caller(const PlanBuffer& buffer, const PlanSlot& slot) {
  if (slot.weight != nullptr) return place_of_weight(buffer, *slot.weight);
  PlanPlace place;
  if (slot.gradient == nullptr) {
    place.data = static_cast<char*>(slot.data);
  } else if (buffer.tensors > 1) {
    place.data_tensors.host = slot.gradient->tensors;
  } else {
    place.data = static_cast<char*>(slot.gradient->data);
  }
  return place;
}

PlanPlace place_in_block(const PlanBuffer& buffer, const PlanBytes& bytes, void* block, std::int64_t offset) {
  PlanPlace place;
  place.stride = tensor_stride(bytes);
  place.layout = buffer.layout;
  if (block == nullptr) return place;
  place.data = static_cast<char*>(block) + offset;
  if (buffer.producer) place.sf = place.data + round_up(bytes.data, kPlanAlignment);
  return place;
}

int alignment_of(const PlanBuffer& buffer) {
  const bool numbers = buffer.type == DType::f32 && buffer.columns == 1;  // probs, dprobs and noop
  return numbers || buffer.tensor == PlanTensor::dbias1 || buffer.tensor == PlanTensor::dbias2 ? 4 : 16;
}

void require_pointer(const Plan& plan, const PlanBuffer& buffer, const char* part, const void* pointer,
                     std::int64_t bytes, int alignment) {
  if (bytes == 0) return;
  if (pointer == nullptr) refuse(plan, fmt::format("{}{} is null; pass {} bytes", buffer.name, part, bytes));
  if (reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(alignment) != 0) {
    refuse(plan, fmt::format("{}{} is {}, not a multiple of {} bytes", buffer.name, part, pointer, alignment));
  }
}

void require_tensors(const Plan& plan, const PlanBuffer& buffer, const char* part, const Pointers& pointers,
                     std::int64_t bytes, int alignment) {
  if ((pointers.host == nullptr) == (pointers.device == nullptr)) {
    refuse(plan, fmt::format("{}{} is one tensor per group; pass an array of {} pointers", buffer.name, part,
                             buffer.tensors));
  }
  if (pointers.host == nullptr) return;
  for (std::int64_t i = 0; i < buffer.tensors; ++i) {
    require_pointer(plan, buffer, part, pointers.host[i], bytes, alignment);
  }
}

// Of the caller's tensors.
void require_place(const Plan& plan, const PlanBuffer& buffer, const PlanPlace& place, const PlanBytes& bytes,
                   bool aligned) {
  const int alignment = aligned ? alignment_of(buffer) : 1;
  const int sf_alignment = aligned && buffer.producer ? alignment_of_scales(buffer.layout) : 1;
  if (buffer.tensors > 1) {
    require_tensors(plan, buffer, "", place.data_tensors, bytes.data, alignment);
    if (buffer.producer) require_tensors(plan, buffer, " scales", place.sf_tensors, bytes.sf, sf_alignment);
  } else {
    require_pointer(plan, buffer, "", place.data, bytes.data, alignment);
    require_pointer(plan, buffer, " scales", place.sf, bytes.sf, sf_alignment);
  }
  if (buffer.producer && place.layout != buffer.layout) {
    refuse(plan, fmt::format("{} has layout {}, the plan reads {}; quantize it as '{}' does", buffer.name,
                             to_string(place.layout), to_string(buffer.layout), buffer.producer->to_string()));
  }
}

// Of a block that the pass uses. Another pass may need more of it: the message says what all of them do.
void require_block(const Plan& plan, PlanRole role, const void* block, std::int64_t capacity, bool aligned) {
  if (block == nullptr) {
    refuse(plan, fmt::format("memory.{0} is null; pass {1} bytes, which is bytes(PlanRole::{0}, {2}) of the plan",
                             to_string(role), plan.bytes(role, capacity), capacity));
  }
  if (aligned && reinterpret_cast<std::uintptr_t>(block) % kPlanAlignment != 0) {
    refuse(plan, fmt::format("memory.{} is {}, not a multiple of {} bytes", to_string(role), block, kPlanAlignment));
  }
}

using Used = std::array<bool, 64>;
Used used_buffers(const Plan& plan, PlanPass pass) {
  Used used{};
  for (const PlanStep& step : plan.steps(pass)) {
    for (const int buffer : step.buffers) {
      if (buffer >= 0) used[static_cast<std::size_t>(buffer)] = true;
    }
  }
  return used;
}

const char* form_of(const Splits& splits) {
  if (splits.form == SplitsForm::sizes) return "sizes";
  return splits.form == SplitsForm::ends ? "ends" : "starts";
}

void require_splits(const Plan& plan, const void* splits, bool aligned) {
  const auto size = static_cast<std::uintptr_t>(plan.facts.splits.is_i64 ? 8 : 4);
  if (plan.facts.layout == Layout::dense) return;
  if (splits == nullptr) refuse(plan, fmt::format("splits is null; pass the groups' {}", form_of(plan.facts.splits)));
  if (aligned && reinterpret_cast<std::uintptr_t>(splits) % size != 0) {
    refuse(plan, fmt::format("splits is {}, not a multiple of {} bytes", splits, size));
  }
}

}  // namespace

void* PlanPlace::tensor(std::int64_t index) const {
  const void* const* tensors = data_tensors.host != nullptr ? data_tensors.host : data_tensors.device;
  if (tensors != nullptr) return const_cast<void*>(tensors[index]);
  return data + index * stride;
}

void* PlanPlace::tensor_sf(std::int64_t index) const {
  const void* const* tensors = sf_tensors.host != nullptr ? sf_tensors.host : sf_tensors.device;
  if (tensors != nullptr) return const_cast<void*>(tensors[index]);
  return sf + index * stride;
}

PlanPlaces::PlanPlaces(const Plan& plan, PlanPass pass, const PlanCall& call, bool aligned) {
  const std::int64_t capacity = pass == PlanPass::quantize_weights ? 0 : call.rows.capacity;
  if (pass != PlanPass::quantize_weights) {
    require_capacity_of_call(plan, capacity);
    require_splits(plan, call.rows.splits, aligned);
  }
  const Used used = used_buffers(plan, pass);
  std::array<std::int64_t, 8> offsets{};  // next free byte of each role's block
  std::array<bool, 8> needed{};
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan.buffers[i];
    if (buffer.role == PlanRole::scratch && buffer.pass != pass) continue;
    if (is_of_caller(buffer)) {
      if (!used[i]) continue;
      places_.at(i) = place_of_caller(buffer, call.slot(buffer.tensor));
      require_place(plan, buffer, places_[i], plan.bytes(buffer, capacity), aligned);
      continue;
    }
    const auto role = static_cast<std::size_t>(buffer.role);
    const PlanBytes bytes = plan.bytes(buffer, capacity);
    places_.at(i) = place_in_block(buffer, bytes, block_of(call.memory, buffer.role), offsets[role]);
    offsets[role] += buffer.tensors * tensor_stride(bytes);
    needed[role] = needed[role] || used[i];
  }
  const auto scratch = static_cast<std::size_t>(PlanRole::scratch);
  const std::int64_t workspace = most_workspace_bytes(plan, pass, capacity);
  if (workspace > 0 && call.memory.scratch != nullptr) {
    workspace_ = static_cast<char*>(call.memory.scratch) + offsets[scratch];
  }
  offsets[scratch] += workspace;
  needed[scratch] = needed[scratch] || workspace > 0;
  for (const PlanRole role : {PlanRole::quantized_weights, PlanRole::saved, PlanRole::deferred, PlanRole::scratch}) {
    const auto index = static_cast<std::size_t>(role);
    if (needed[index] && offsets[index] > 0) require_block(plan, role, block_of(call.memory, role), capacity, aligned);
  }
}

const PlanPlace& PlanPlaces::at(const PlanStep& step, PlanArgument argument) const {
  const int buffer = step.buffer(argument);
  return buffer < 0 ? none_ : places_[static_cast<std::size_t>(buffer)];
}

}  // namespace octet
