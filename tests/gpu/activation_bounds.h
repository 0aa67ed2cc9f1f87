// How far a kernel's activation may be from the oracle's. The oracle computes in f64, the kernel in f32 by a formula of
// its own choice, so the error of an element is a few f32 roundings of its largest intermediate: relative to what the
// formula's factors can reach (a tanh or a sigmoid near its limit is a difference of numbers near 1), not to the
// result, which may be almost nothing after a cancellation. To that comes the rounding to the element's type.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "octet/problem.h"

namespace octet::test {

struct Bound {
  double magnitude = 0;  // of the factors: errors are relative to it
  double peak = 0;       // of any product of some of the factors: f32 may overflow there

  Bound times(double factor) const { return {magnitude * std::abs(factor), peak * std::max(1.0, std::abs(factor))}; }
};
struct ActivationBounds {
  Bound y, da, db;
};
// At a gate half a and an up half b; b is not used without a gate.
ActivationBounds activation_bounds(Activation activation, double a, double b);

// Whether `got` may stand for the oracle's `wanted`, both bits of the type. Where f32 itself overflows anything goes;
// what the oracle has as NaN must be NaN, but not the poison that was there before.
bool within(DType type, std::uint32_t wanted, std::uint32_t got, const Bound& bound);

// An f32 sum of `terms` numbers in any order; `bound` adds up theirs. Each addition rounds once.
bool sum_within(float wanted, float got, const Bound& bound, std::int64_t terms);

}  // namespace octet::test
