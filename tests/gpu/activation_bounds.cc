#include "tests/gpu/activation_bounds.h"

#include <cstring>

#include "octet/layout.h"
#include "tests/gpu/elements.h"

namespace octet::test {
namespace {

constexpr double kRelative = 0x1p-20;  // 16 roundings of f32
constexpr double kOverflow = 3e38;
constexpr double kUnderflow = 0x1p-147;          // a few steps of f32's subnormals
constexpr float kLimit = 7;                      // of clamped_swiglu
constexpr double kGateScale = 4, kUpScale = 25;  // of situ_glu

struct Gate {
  double f, df;
};

// Of f(a) and f'(a). A sigmoid below -110 is nothing, also in f32; `1 - sigmoid` and `1 - tanh^2`, which are exact
// zeros from some size on, carry an error of 2^-24 until then.
Gate gate_magnitudes(Activation activation, double a) {
  const double m = std::abs(a), faded = a < -110 ? 0 : m;
  switch (activation) {
    case Activation::relu:
    case Activation::reglu:
      return {m, 1};
    case Activation::srelu:
    case Activation::sreglu:
      return {m * m, 2 * m};
    case Activation::gelu:
    case Activation::geglu:
      return {faded, 1 + std::min(m, 10.0) + 0.06 * std::pow(std::min(m, 10.0), 3)};
    case Activation::silu:
    case Activation::swiglu:
      return {faded, 1 + std::min(m, 20.0)};
    case Activation::qgelu:
    case Activation::qgeglu:
      return {faded, 1 + std::min(1.702 * m, 20.0)};
    case Activation::glu:
      return {1, 1};
    case Activation::clamped_swiglu:
      return {a > kLimit ? kLimit : faded, 1 + std::min(1.702 * m, 20.0)};
    case Activation::situ_glu:
      return {std::min(m, kGateScale), 1 + kGateScale};
    case Activation::none:
      break;
  }
  return {m, 1};
}

double up_magnitude(Activation activation, double b) {
  if (!is_gated(activation)) return 1;
  if (activation == Activation::clamped_swiglu) return std::min<double>(std::abs(b), kLimit) + 1;
  if (activation == Activation::situ_glu) return std::min(std::abs(b), kUpScale);
  return std::abs(b);
}

Bound one(double magnitude) { return Bound{1, 1}.times(magnitude); }

std::uint32_t magnitude_bits(DType type, std::uint32_t bits) { return bits & ~element_format(type).sign; }

// The step of the type below the larger of two numbers.
double step(DType type, std::uint32_t x, std::uint32_t y) {
  const std::uint32_t larger = std::max(magnitude_bits(type, x), magnitude_bits(type, y));
  return larger == 0 ? 0 : element_value(type, larger) - element_value(type, larger - 1);
}

bool is_poison(DType type, std::uint32_t bits) { return bits == (type == DType::f32 ? 0xFFFFFFFF : 0xFFFF); }

}  // namespace

ActivationBounds activation_bounds(Activation activation, double a, double b) {
  const Gate gate = gate_magnitudes(activation, a);
  const double up = up_magnitude(activation, b);
  ActivationBounds bounds{one(gate.f).times(up), one(gate.df).times(up), one(gate.f)};
  // The peaks count what is there before it fades or is clamped, and the scales that come after the tanh of situ_glu.
  const double scales = activation == Activation::situ_glu ? kGateScale * kUpScale : 1;
  const double largest = std::max(1.0, std::abs(a)) * std::max(1.0, std::abs(b)) * scales;
  for (Bound* bound : {&bounds.y, &bounds.da, &bounds.db}) bound->peak = std::max(bound->peak, largest);
  return bounds;
}

bool within(DType type, std::uint32_t wanted, std::uint32_t got, const Bound& bound) {
  if (bound.peak > kOverflow) return !is_poison(type, got);
  if (is_nan_bits(type, wanted)) return is_nan_bits(type, got) && !is_poison(type, got);
  if (is_nan_bits(type, got)) return false;
  if (steps_between(type, wanted, got) <= (type == DType::f32 ? 16 : 1)) return true;
  const double error = std::abs(element_value(type, got) - element_value(type, wanted));
  return error <= kRelative * bound.magnitude + kUnderflow * bound.peak + step(type, wanted, got);
}

bool sum_within(float wanted, float got, const Bound& bound, std::int64_t terms) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &got, sizeof bits);
  if (is_poison(DType::f32, bits)) return false;
  if (bound.peak > kOverflow) return true;
  if (std::isnan(wanted)) return std::isnan(got);
  // A NaN factor whose partner is an exact zero: no bound.
  if (std::isnan(bound.magnitude)) return true;
  const double roundings = kRelative + static_cast<double>(terms) * 0x1p-24;
  return std::abs(double{got} - wanted) <= roundings * bound.magnitude + kUnderflow * bound.peak;
}

}  // namespace octet::test
