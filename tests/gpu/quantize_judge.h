// Whether what a launch left behind is right.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/gpu/quantize_case.h"

namespace octet::test {

// "" when all of it is right; else what is wrong first.
//   act=none    bit for bit the oracle's; dbias within the bound of an f32 sum.
//   activation  within the bounds of activation_bounds.h; what is outside every group as it was.
//   fused       bit for bit the oracle's quantization of what the activation kernel of the same problem writes.
std::string judge(const QuantizeCase& quantize, const Results& got);

// Prepares, runs twice, compares the two and judges.
std::string fault(const QuantizeCase& quantize);
std::string fault(const Quantize& kernel, const QuantizeCase& quantize);

// The activation alone of a fused problem, and the quantization alone of what that writes.
Problem activation_part(const Problem& fused);
Problem quantization_part(const Problem& fused);
// The case of the second from the output of the first.
QuantizeCase quantization_case(const QuantizeCase& fused, Bytes activated);

// Kernels of many problems, compiled on several threads. Empty where a rule refuses the problem.
struct Prepared {
  Problem problem;
  std::optional<Quantize> kernel;
  std::string refusal;
};
std::vector<Prepared> prepare_all(const std::vector<Problem>& problems);
// The code of a refusal by rule: invalid_problem or no_kernel.
bool is_refusal(const Error& error);

}  // namespace octet::test
