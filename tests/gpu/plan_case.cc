#include "tests/gpu/plan_case.h"

#include <cmath>

#include <fmt/format.h>

#include "octet/layout.h"

namespace octet::test {
namespace {

// Of a group's relative error against the reference, whose intermediate results may be one bf16 apart, which then and
// again moves an FP8 element by a whole step: a sixteenth of e4m3, an eighth of e5m2.
constexpr double kBound = 2e-2, kBoundE5m2 = 4e-2;

// A group's part of an output, as elements [begin, end) of one tensor.
struct Part {
  std::int64_t tensor_bytes, begin, end;
};
Part part_of(const PlanData& data, const PlanBuffer& buffer, std::size_t group) {
  const std::int64_t bytes = data.plan.bytes(buffer, data.capacity).data;
  if (buffer.rows == 0) {
    const auto [first, last] = data.group(group);
    return {0, first * buffer.columns, last * buffer.columns};
  }
  const auto index = static_cast<std::int64_t>(group);
  const std::int64_t elements = bytes / size_bytes(buffer.type);
  if (buffer.tensors > 1) return {index * up_to_256(bytes), 0, elements};
  const std::int64_t each = elements / data.plan.facts.groups;
  return {0, index * each, (index + 1) * each};
}

// |got - want| / |want| over a group's part; infinite where only one of the two is a finite number.
double error_of(const PlanData& data, const PlanBuffer& buffer, std::size_t group, const std::vector<std::uint8_t>& got,
                const std::vector<std::uint8_t>& want) {
  const Part part = part_of(data, buffer, group);
  const std::int64_t skipped = part.tensor_bytes / size_bytes(buffer.type);
  double difference = 0, total = 0;
  for (std::int64_t i = skipped + part.begin; i < skipped + part.end; ++i) {
    const double x = plan_element(got, buffer.type, i), y = plan_element(want, buffer.type, i);
    if (std::isfinite(x) != std::isfinite(y)) return INFINITY;
    if (!std::isfinite(x)) continue;
    difference += (x - y) * (x - y);
    total += y * y;
  }
  if (difference == 0) return 0;
  return total == 0 ? INFINITY : std::sqrt(difference / total);
}

// Rows of an output of tokens that belong to no group hold what they held.
std::string tail_fault(const PlanData& data, const PlanBuffer& buffer, const std::vector<std::uint8_t>& got) {
  if (buffer.rows != 0) return "";
  const std::vector<bool> in_group = data.rows_in_groups();
  const std::size_t row_bytes = got.size() / std::max<std::size_t>(1, in_group.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!in_group[i / row_bytes] && got[i] != 0xA5) return fmt::format("{}: tail row {}", buffer.name, i / row_bytes);
  }
  return "";
}

}  // namespace

DevicePlan::DevicePlan(const PlanData& data) : plan_(data.plan) {
  if (plan_.facts.kind == PlanKind::mlp) {
    mlp_ = std::make_unique<GroupedMlpPlan>(runtime(), plan_.facts);
  } else {
    linear_ = std::make_unique<GroupedLinearPlan>(runtime(), plan_.facts);
  }
  std::vector<char*> addresses;
  for (const std::vector<std::uint8_t>& bytes : data.buffers) {
    buffers_.emplace_back(bytes.size());
    addresses.push_back(static_cast<char*>(buffers_.back().at()));
  }
  splits_ = Buffer(data.splits.size());
  const auto made = [&](PlanRole role) { return Buffer(static_cast<std::size_t>(plan_.bytes(role, data.capacity))); };
  quantized_weights_ = made(PlanRole::quantized_weights);
  saved_ = made(PlanRole::saved);
  deferred_ = made(PlanRole::deferred);
  scratch_ = made(PlanRole::scratch);
  binding_ =
      std::make_unique<PlanBinding>(plan_, std::move(addresses), PlanRows{splits_.at(), data.capacity, 0},
                                    PlanMemory{quantized_weights_.at(), saved_.at(), deferred_.at(), scratch_.at()});
  upload(data);
}

void DevicePlan::upload(const PlanData& data) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!data.buffers[i].empty()) buffers_[i].upload(data.buffers[i].data(), data.buffers[i].size());
  }
  splits_.upload(data.splits.data(), data.splits.size());
}

void DevicePlan::poison_scratch() { scratch_.poison(); }

void DevicePlan::launch(PlanPass pass, CUstream stream) const {
  const auto call = [&](const auto& plan, const auto& tensors) {
    switch (pass) {
      case PlanPass::quantize_weights:
        return plan.quantize_weights(tensors, stream);
      case PlanPass::forward:
        return plan.forward(tensors, stream);
      case PlanPass::backward_data:
        return plan.backward_data(tensors, stream);
      case PlanPass::backward_weights:
        return plan.backward_weights(tensors, stream);
    }
  };
  if (mlp_ != nullptr) {
    call(*mlp_, binding_->mlp);
  } else {
    call(*linear_, binding_->linear);
  }
}

void DevicePlan::launch_all(CUstream stream) const {
  for (const PlanPass pass : kPlanPasses) {
    if (!plan_.steps(pass).empty()) launch(pass, stream);
  }
}

void DevicePlan::run() const {
  const OwnedStream stream;
  launch_all(stream);
  stream.synchronize();
}

Buffer& DevicePlan::buffer(const std::string& name) {
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    if (plan_.buffers[i].name == name) return buffers_[i];
  }
  throw std::runtime_error("no buffer " + name);
}

std::vector<std::uint8_t> DevicePlan::read(const std::string& name) const {
  return const_cast<DevicePlan*>(this)->buffer(name).values<std::uint8_t>();
}

std::vector<std::vector<std::uint8_t>> DevicePlan::outputs() const {
  std::vector<std::vector<std::uint8_t>> all;
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    if (plan_.buffers[i].role == PlanRole::output) all.push_back(buffers_[i].values<std::uint8_t>());
  }
  return all;
}

const Buffer& DevicePlan::block(PlanRole role) const {
  switch (role) {
    case PlanRole::quantized_weights:
      return quantized_weights_;
    case PlanRole::saved:
      return saved_;
    case PlanRole::deferred:
      return deferred_;
    default:
      return scratch_;
  }
}

std::vector<std::uint8_t> DevicePlan::read_block(PlanRole role) const { return block(role).values<std::uint8_t>(); }

bool DevicePlan::guards_intact() const {
  for (const Buffer& buffer : buffers_) {
    if (!buffer.guards_intact()) return false;
  }
  return splits_.guards_intact() && quantized_weights_.guards_intact() && saved_.guards_intact() &&
         deferred_.guards_intact() && scratch_.guards_intact();
}

PlanData expected(PlanData data) {
  const auto block = [&](PlanRole role) {
    return std::vector<std::uint8_t>(static_cast<std::size_t>(data.plan.bytes(role, data.capacity)), 0xFF);
  };
  std::vector<std::uint8_t> quantized_weights = block(PlanRole::quantized_weights), saved = block(PlanRole::saved),
                            deferred = block(PlanRole::deferred), scratch = block(PlanRole::scratch);
  std::vector<char*> addresses;
  for (std::vector<std::uint8_t>& bytes : data.buffers) addresses.push_back(reinterpret_cast<char*>(bytes.data()));
  const PlanBinding binding(data.plan, std::move(addresses), {data.splits.data(), data.capacity, 0},
                            {quantized_weights.data(), saved.data(), deferred.data(), scratch.data()});
  for (const PlanPass pass : kPlanPasses) {
    if (data.plan.facts.kind == PlanKind::mlp) {
      reference::run(data.plan, pass, binding.mlp, 8);
    } else {
      reference::run(data.plan, pass, binding.linear, 8);
    }
  }
  return data;
}

std::string plan_fault(const PlanData& want, const DevicePlan& got, double bound) {
  if (!got.guards_intact()) return "a launch wrote outside its buffers";
  for (const PlanBuffer& buffer : want.plan.buffers) {
    if (buffer.role != PlanRole::output) continue;
    const std::vector<std::uint8_t> bytes = got.read(buffer.name);
    if (const std::string text = tail_fault(want, buffer, bytes); !text.empty()) return text;
    for (std::size_t g = 0; g < want.sizes.size(); ++g) {
      const double error = error_of(want, buffer, g, bytes, want.at(buffer.name));
      if (!(error <= bound)) return fmt::format("{} of group {}: error {:.3g}", buffer.name, g, error);
    }
  }
  return "";
}

std::string plan_fault(const std::string& line, const std::vector<std::int64_t>& sizes, std::int64_t capacity) {
  const PlanData data(line, sizes, capacity);
  const DevicePlan device(data);
  device.run();
  return plan_fault(expected(data), device, line.find("e5m2") == std::string::npos ? kBound : kBoundE5m2);
}

}  // namespace octet::test
