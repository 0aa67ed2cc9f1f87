// A GEMM of the whole family (forward, dgrad and wgrad, any layout, recipe and epilogue) with operands by the reference
// quantizers: on the host for the oracle, on the device for the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/gpu/quantize_case.h"

namespace octet::test {

struct FamilyCase {
  Problem problem;
  reference::GroupExtents groups;
  std::int64_t capacity = 0;
  // Without gaps between rows. What no quantizer writes is NaN: tails, gaps, scales of nobody.
  Bytes a, a_sf, b, b_sf, bias;
  Bytes old_d;  // 0xFF, which is NaN, but for what +acc adds to
  float alpha = 1, beta = 1;
  std::int64_t a_gap = 0, b_gap = 0, d_gap = 0;  // elements between the rows on the device
  bool pointers_on_device = false;               // w=pointers: in an array on the device instead of one on the host

  bool is_wgrad() const { return problem.op == Operation::wgrad; }
  std::int64_t rows(std::size_t group) const { return groups.end[group] - groups.begin[group]; }
  std::int64_t d_rows() const { return is_wgrad() ? problem.g * problem.n : capacity; }
  std::int64_t d_columns() const { return is_wgrad() ? problem.k : problem.n; }
  std::int64_t d_row_bytes() const { return d_columns() * size_bytes(*problem.d); }
  std::int64_t a_row() const;  // elements of a row as it lies; columnwise for wgrad
  std::int64_t b_row() const;
};

// Sizes are counts for masked. `spare_rows` are left after the last group of packed and padded. alpha keeps fp16 in its
// range.
FamilyCase family_case(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows, Random& random);
inline FamilyCase family_case(const std::string& line, const Sizes& sizes, std::int64_t spare_rows, Random& random) {
  return family_case(Problem::parse(line), sizes, spare_rows, random);
}
// The data and the scales that the reference quantizer writes, from about normal numbers; all else 0xFF.
struct QuantizedBytesOf {
  Bytes data, sf;
};
QuantizedBytesOf quantized_operand(const Problem& producer, const reference::GroupExtents& groups,
                                   std::int64_t capacity, std::uint64_t seed);
// The same from bf16 values: [rows of the buffer][columns].
QuantizedBytesOf quantized_values(const Problem& producer, const reference::GroupExtents& groups, std::int64_t capacity,
                                  const std::vector<std::uint16_t>& values);

class FamilyBuffers {
 public:
  explicit FamilyBuffers(const FamilyCase& gemm_case);
  GemmArgs args(const Gemm& gemm);  // and a workspace for it
  void set_splits(const reference::GroupExtents& groups);
  void set_splits(const std::vector<std::int64_t>& values);  // as the kernel will read them
  void reset();                                              // D as it was, and the status
  // reset, launch, wait, read.
  Bytes run(const Gemm& gemm);
  Bytes run(const Gemm& gemm, const GemmArgs& arguments);
  // D without gaps, of what was launched and waited for. Throws when a guard or a gap of D was overwritten.
  Bytes read() const;
  std::string status() const;  // of a checked launch

  Buffer a, a_sf, b, b_sf, d, bias, splits;

 private:
  void place_pointers();

  const FamilyCase& case_;
  Buffer status_{16}, workspace_, pointers_, sf_pointers_;
  std::vector<const void*> host_pointers_, host_sf_pointers_;
  OwnedStream stream_;
};

// "" when every owned element is a number and every group within the bounds of docs/numerics.md, and all else of D as
// it was; else what is wrong first.
std::string judge(const FamilyCase& gemm_case, const Bytes& d, Random& random, std::int64_t samples_per_group = 1024);
// Runs twice, compares the two and judges.
std::string fault(const Gemm& gemm, const FamilyCase& gemm_case, Random& random);
std::string fault(const FamilyCase& gemm_case, Random& random);  // with the config that the cost model chooses

// The bytes of one group's part of D.
Bytes group_of(const FamilyCase& gemm_case, const Bytes& d, std::size_t group);

// Every config that the rules accept for the problem.
std::vector<Spec> legal_specs(const Problem& problem);

}  // namespace octet::test
