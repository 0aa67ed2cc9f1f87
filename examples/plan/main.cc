// A layer of two experts, embedded: what it consists of, and one step of it, forward and backward.
//
// It runs on the host, so that it needs no GPU. On one, the same tensors hold device pointers, and the calls are those
// of octet::GroupedMlpPlan: quantize_weights, forward and backward, on a stream.
#include <cstdio>
#include <vector>

#include "octet/octet.h"

namespace {

using Bf16 = std::vector<std::uint16_t>;
constexpr std::int64_t kExperts = 2, kHidden = 64, kInner = 32, kRows = 8;

std::vector<char> block(const octet::Plan& plan, octet::PlanRole role) {
  return std::vector<char>(static_cast<std::size_t>(plan.bytes(role, kRows)));
}

double mean_magnitude(const Bf16& values) {
  double sum = 0;
  for (const std::uint16_t value : values) {
    const double x = octet::reference::from_bf16(value);
    sum += x < 0 ? -x : x;
  }
  return sum / static_cast<double>(values.size());
}

}  // namespace

int main() {
  // All that Octet has to be told. octet::PlanFacts::parse("mlp.packed g2 h64 i32 act=swiglu") says the same.
  octet::PlanFacts facts;
  facts.groups = kExperts;
  facts.hidden = kHidden;
  facts.intermediate = kInner;
  facts.activation = octet::Activation::swiglu;
  const octet::Plan plan = octet::make_plan(facts);
  std::printf("%s\n%s\n", octet::to_string(plan, kRows).c_str(), octet::to_mermaid(plan).c_str());

  const Bf16 x = octet::reference::random_tokens(kRows, kHidden, 1),
             dy = octet::reference::random_tokens(kRows, kHidden, 2);
  const Bf16 w1 = octet::reference::random_weights(kExperts, 2 * kInner, kHidden, 3),
             w2 = octet::reference::random_weights(kExperts, kHidden, kInner, 4);
  Bf16 y(x.size()), dx(x.size());
  std::vector<float> dw1(w1.size()), dw2(w2.size());
  std::vector<char> weights = block(plan, octet::PlanRole::quantized_weights),
                    saved = block(plan, octet::PlanRole::saved), deferred = block(plan, octet::PlanRole::deferred),
                    scratch = block(plan, octet::PlanRole::scratch);
  const std::int32_t sizes[kExperts] = {5, 3};

  octet::MlpTensors tensors;
  tensors.rows = {sizes, kRows, 0};
  tensors.memory = {weights.data(), saved.data(), deferred.data(), scratch.data()};
  tensors.x = x.data(), tensors.w1.data = w1.data(), tensors.w2.data = w2.data(), tensors.y = y.data();
  tensors.dy = dy.data(), tensors.dx = dx.data(), tensors.dw1.data = dw1.data(), tensors.dw2.data = dw2.data();
  for (const octet::PlanPass pass : octet::kPlanPasses) octet::reference::run(plan, pass, tensors);
  std::printf("mean magnitude: y %.4g, dx %.4g\n", mean_magnitude(y), mean_magnitude(dx));
  return 0;
}
