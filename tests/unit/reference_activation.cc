// What activations do at the edges, and where gate and up lie.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/reference_case.h"

using namespace octet;
using namespace octet::test;

namespace {

std::vector<Activation> all_activations() {
  std::vector<Activation> all;
  for (int i = 0; i <= static_cast<int>(Activation::situ_glu); ++i) all.push_back(static_cast<Activation>(i));
  return all;
}

// One row of `activation` over these columns, f32.
std::vector<float> row_of(const std::string& options, const std::vector<float>& in) {
  const auto columns = static_cast<std::int64_t>(in.size()) / 2;
  QuantizeCase c("activation.packed g1 c" + std::to_string(columns) + " in=f32 d=f32 " + options, {1}, 1);
  for (std::size_t i = 0; i < in.size(); ++i) c.set(0, static_cast<std::int64_t>(i), in[i]);
  const QuantizeBuffers out = c.run();
  return {as<float>(out.d), as<float>(out.d) + columns};
}

}  // namespace

TEST_CASE("reference: NaN in gives NaN out, for every activation and derivative") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (Activation activation : all_activations()) {
    CAPTURE(to_string(activation));
    CHECK(std::isnan(reference::activate(activation, nan, 1).y));
    if (activation != Activation::none) CHECK(std::isnan(reference::activate(activation, nan, 1).da));
    if (!is_gated(activation)) continue;
    CHECK(std::isnan(reference::activate(activation, nan, 1).db));
    CHECK(std::isnan(reference::activate(activation, 1, nan).y));
    CHECK(std::isnan(reference::activate(activation, 1, nan).da));
  }
}

TEST_CASE("reference: clamped swiglu passes a NaN on to both derivatives, also past its limits") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double other : {1.0, 9.0, -9.0}) {
    INFO(other);
    for (const auto& [a, b] : {std::pair{nan, other}, {other, nan}}) {
      const reference::ActivationValue value = reference::activate(Activation::clamped_swiglu, a, b);
      CHECK(std::isnan(value.y));
      CHECK(std::isnan(value.da));
      CHECK(std::isnan(value.db));
    }
  }
}

TEST_CASE("reference: clamped swiglu has no slope past its limits, and one at them") {
  const auto clamped = [](double a, double b) { return reference::activate(Activation::clamped_swiglu, a, b); };
  CHECK(clamped(7.5, 1).y == clamped(7, 1).y);
  CHECK(clamped(7.5, 1).da == 0);
  CHECK(clamped(7, 1).da > 0);
  CHECK(clamped(-100, 1).da != 0);  // the gate has no lower limit
  for (double b : {7.5, -7.5, 100.0}) CHECK(clamped(1, b).db == 0);
  for (double b : {7.0, -7.0, 0.0}) CHECK(clamped(1, b).db > 0);
  CHECK(clamped(1, -1).y == 0);  // the offset
  CHECK(clamped(1, 9).y == clamped(1, 7).y);
}

TEST_CASE("reference: where gate and up lie") {
  // reglu of a = 1 2 3 4 and b = 10 20 30 40.
  const std::vector<float> want = {10, 40, 90, 160};
  CHECK(row_of("act=reglu", {1, 2, 3, 4, 10, 20, 30, 40}) == want);
  CHECK(row_of("act=reglu gate=second", {10, 20, 30, 40, 1, 2, 3, 4}) == want);
  CHECK(row_of("act=reglu il=1", {1, 10, 2, 20, 3, 30, 4, 40}) == want);
  CHECK(row_of("act=reglu il=2", {1, 2, 10, 20, 3, 4, 30, 40}) == want);
  CHECK(row_of("act=reglu il=2 gate=second", {10, 20, 1, 2, 30, 40, 3, 4}) == want);
  // The sign says which one is the gate.
  CHECK(row_of("act=reglu", {-1, -2, -3, -4, 10, 20, 30, 40}) == std::vector<float>{0, 0, 0, 0});
}

TEST_CASE("reference: the gradient lies as the pre-activation does") {
  QuantizeCase c("activation.packed g1 c2 in=f32 d=f32 act=reglu il=1 gate=second +grad", {1}, 1);
  c.pre = Bytes(16);
  const float pre[] = {10, 1, 20, -2}, dy[] = {3, 5};
  std::copy_n(reinterpret_cast<const std::uint8_t*>(pre), 16, c.pre.begin());
  for (std::int64_t i = 0; i < 2; ++i) c.set(0, i, dy[i]);
  const QuantizeBuffers out = c.run();
  CHECK(std::vector<float>(as<float>(out.d), as<float>(out.d) + 4) == std::vector<float>{3, 30, 0, 0});
}

TEST_CASE("reference: a fused quantizer quantizes what the activation alone writes") {
  for (const char* options : {"act=swiglu +probs", "act=clamped_swiglu il=8 +bias", "act=gelu", "act=none +bias +probs",
                              "act=situ_glu +grad +probs", "act=geglu gate=second +grad +bias"}) {
    for (const char* type : {"bf16", "fp16"}) {
      CAPTURE(options, type);
      const std::string common = std::string("packed g2 c200 in=") + type + " " + options;
      const QuantizeCase alone("activation." + common + " d=" + type, {5, 9}, 16);
      const QuantizeCase fused("quantize." + common + " out=e4m3:1x32 dir=row,col", {5, 9}, 16);
      const std::string columns = std::to_string(alone.shape.out_columns);
      QuantizeCase after("quantize.packed g2 c" + columns + " in=" + type + " out=e4m3:1x32 dir=row,col", {5, 9}, 16);
      after.in = alone.run().d;
      const QuantizeBuffers got = fused.run(), want = after.run();
      CHECK((got.data == want.data && got.sf == want.sf));
      CHECK((got.data_col == want.data_col && got.sf_col == want.sf_col));
    }
  }
}

TEST_CASE("reference: an activation leaves rows of no group as they were") {
  const QuantizeCase c("activation.masked g2 c8 m4 in=bf16 d=bf16 act=silu", {3, 0}, 8);
  const QuantizeBuffers out = c.run();
  for (std::int64_t row = 0; row < 8; ++row)
    CHECK(is_canary(out.d, static_cast<std::size_t>(row) * 16, 16) != c.exists(row));
}
