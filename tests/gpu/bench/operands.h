// Large random inputs: a bank is drawn once on the host and repeated on the device.
#pragma once

#include <cstdint>

#include "tests/gpu/device.h"
#include "tests/gpu/random.h"

namespace octet::bench {

// The periods are odd, so that neither rows nor tiles of a matrix repeat. Zeros and constants would draw less power
// than real data and flatter every matrix product.
class Operands {
 public:
  explicit Operands(test::Random& random);
  // Finite e4m3 codes. A and B have banks of their own: from one bank, rows of A would equal rows of B.
  test::Buffer a_codes(std::size_t count) const;
  test::Buffer b_codes(std::size_t count) const;
  test::Buffer values(std::size_t count) const;       // bf16, normal
  test::Buffer scales(std::size_t count) const;       // f32 in [0.001, 0.01]
  test::Buffer e8m0_scales(std::size_t count) const;  // 2^-10 to 2^-7
  void fill_f32(test::Buffer& to) const;              // about normal

 private:
  test::Buffer a_codes_, b_codes_, values_, scales_, e8m0_scales_;
};

}  // namespace octet::bench
