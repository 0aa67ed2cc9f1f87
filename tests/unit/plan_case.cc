#include "tests/unit/plan_case.h"

#include "tests/support/plan_binding.h"

namespace octet::test {

PlanCase::PlanCase(const std::string& line, std::vector<std::int64_t> sizes, std::int64_t capacity)
    : data(line, std::move(sizes), capacity) {
  const auto block = [&](PlanRole role) {
    return std::vector<std::uint8_t>(static_cast<std::size_t>(data.plan.bytes(role, capacity)), 0xFF);
  };
  quantized_weights = block(PlanRole::quantized_weights);
  saved = block(PlanRole::saved);
  deferred = block(PlanRole::deferred);
  scratch = block(PlanRole::scratch);
}

void PlanCase::run(PlanPass pass) {
  std::vector<char*> addresses;
  for (std::vector<std::uint8_t>& bytes : data.buffers) addresses.push_back(reinterpret_cast<char*>(bytes.data()));
  const PlanBinding binding(data.plan, std::move(addresses), {data.splits.data(), data.capacity, 0},
                            {quantized_weights.data(), saved.data(), deferred.data(), scratch.data()});
  if (data.plan.facts.kind == PlanKind::mlp) {
    reference::run(data.plan, pass, binding.mlp, 2);
  } else {
    reference::run(data.plan, pass, binding.linear, 2);
  }
}

void PlanCase::run() {
  for (const PlanPass pass : kPlanPasses) {
    // Scratch holds nothing from one pass to the next.
    std::fill(scratch.begin(), scratch.end(), std::uint8_t{0xFF});
    run(pass);
  }
}

std::vector<double> PlanCase::values(const std::string& name) const {
  const PlanBuffer& buffer = data.plan.buffers[data.index(name)];
  const std::vector<std::uint8_t>& bytes = data.at(name);
  const std::int64_t each = data.plan.bytes(buffer, data.capacity).data / size_bytes(buffer.type);
  const std::int64_t stride =
      buffer.tensors == 1 ? each : (each * size_bytes(buffer.type) + 255) / 256 * 256 / size_bytes(buffer.type);
  std::vector<double> values;
  for (std::int64_t t = 0; t < buffer.tensors; ++t) {
    for (std::int64_t i = 0; i < each; ++i) values.push_back(plan_element(bytes, buffer.type, t * stride + i));
  }
  return values;
}

}  // namespace octet::test
