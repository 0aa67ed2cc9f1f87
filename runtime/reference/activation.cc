// The activations and their derivatives in f64, by the formulas of docs/numerics.md. Everything that selects a value
// passes a NaN on.
#include <cmath>

#include "octet/layout.h"
#include "octet/reference.h"

namespace octet::reference {
namespace {

constexpr double kQgeluAlpha = 1.702;
constexpr double kClampLimit = 7, kClampAlpha = 1.702, kClampOffset = 1;
constexpr double kSituGate = 4, kSituUp = 25;

// A function of one number and its derivative.
struct Curve {
  double y, slope;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
// What a slope of 0 leaves of a factor: 0, or its NaN.
double flat(double x) { return x != x ? x : 0; }
// x where it is positive or NaN, else 0.
double positive(double x) { return x > 0 ? x : (x != x ? x : 0); }

Curve relu(double x) { return {positive(x), x > 0 ? 1 : (x != x ? x : 0)}; }

Curve srelu(double x) { return {x > 0 ? x * x : positive(x), positive(2 * x)}; }

Curve gelu(double x) {
  constexpr double linear = 0.79788456, cubic = 0.03567741, slope_cubic = 0.1070322243;
  const double t = std::tanh(x * (linear + cubic * x * x));
  return {x * (0.5 + 0.5 * t), 0.5 * x * (1 - t * t) * (linear + slope_cubic * x * x) + 0.5 * (1 + t)};
}

// x * sigmoid(alpha * x).
Curve swish(double x, double alpha) {
  const double s = sigmoid(alpha * x);
  return {x * s, s + alpha * x * s * (1 - s)};
}

Curve logistic(double x) {
  const double s = sigmoid(x);
  return {s, s * (1 - s)};
}

// What an activation applies to `a`: all of an ungated one, the gate of a gated one.
Curve gate(Activation activation, double a) {
  switch (activation) {
    case Activation::relu:
    case Activation::reglu:
      return relu(a);
    case Activation::srelu:
    case Activation::sreglu:
      return srelu(a);
    case Activation::gelu:
    case Activation::geglu:
      return gelu(a);
    case Activation::qgelu:
    case Activation::qgeglu:
      return swish(a, kQgeluAlpha);
    case Activation::silu:
    case Activation::swiglu:
      return swish(a, 1);
    case Activation::glu:
      return logistic(a);
    default:
      return {a, 1};
  }
}

ActivationValue clamped_swiglu(double a, double b) {
  const Curve f = swish(a > kClampLimit ? kClampLimit : a, kClampAlpha);
  const bool outside = std::abs(b) > kClampLimit;
  const double up = (outside ? std::copysign(kClampLimit, b) : b) + kClampOffset;
  const double da = a > kClampLimit ? flat(up) : f.slope * up;
  const double db = outside ? flat(f.y) : (b != b ? b : f.y);
  return {f.y * up, da, db};
}

ActivationValue situ_glu(double a, double b) {
  const double t = std::tanh(a / kSituGate), s = sigmoid(a), u = std::tanh(b / kSituUp);
  const double f = kSituGate * t * s, up = kSituUp * u;
  const double f_slope = (1 - t * t) * s + kSituGate * t * s * (1 - s), up_slope = 1 - u * u;
  return {f * up, f_slope * up, f * up_slope};
}

}  // namespace

ActivationValue activate(Activation activation, double a, double b) {
  if (activation == Activation::clamped_swiglu) return clamped_swiglu(a, b);
  if (activation == Activation::situ_glu) return situ_glu(a, b);
  const Curve f = gate(activation, a);
  if (!is_gated(activation)) return {f.y, f.slope, 0};
  return {f.y * b, f.slope * b, f.y};
}

}  // namespace octet::reference
