// Whether a GEMM too large to check whole is right: of each group some rows by some columns, as a small GEMM of their
// own that the oracle computes. Places are computed by the formulas of docs/numerics.md and by no code of the library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "octet/octet.h"
#include "tests/gpu/device.h"
#include "tests/gpu/random.h"

namespace octet::bench {

struct GemmDeviceBuffers {
  const test::Buffer &a, &sfa, &b, &sfb, &d;
};

class GemmSample {
 public:
  GemmSample(const Problem& problem, const std::vector<std::int64_t>& sizes, std::int64_t capacity,
             test::Random& random);
  // The sampled elements of D, of its type.
  std::vector<std::uint8_t> download_d(const test::Buffer& d) const;
  // "" when they are as the oracle says. `old_d`: with +acc what download_d returned before the launch.
  std::string fault(const GemmDeviceBuffers& buffers, const std::vector<std::uint8_t>& old_d) const;

 private:
  // Of each group the rows, or of columnwise data the columns, that are sampled.
  using Lines = std::vector<std::vector<std::int64_t>>;
  struct Operand {
    std::vector<std::uint8_t> data, sf;
  };

  bool is_wgrad() const { return problem_.op == Operation::wgrad; }
  std::int64_t first_row_of_d(std::int64_t group) const;
  Operand gather(const Problem& from, const Problem& to, const std::vector<std::int64_t>& from_sizes,
                 const std::vector<std::int64_t>& to_sizes, const Lines& lines, const test::Buffer& data,
                 const test::Buffer& sf) const;
  std::string masked_tail_fault(const test::Buffer& d) const;

  Problem problem_, part_;
  std::vector<std::int64_t> sizes_, part_sizes_;  // rows of each group
  std::int64_t capacity_, part_capacity_;
  Lines a_lines_, b_lines_;
};

}  // namespace octet::bench
