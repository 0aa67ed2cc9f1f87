// What follows from a GEMM problem about how templates/gemm_portable.cu computes it. One place, so that rendering,
// shared memory and rules agree.
#pragma once

#include <string>

#include "octet/problem.h"

namespace octet {

struct PortableTraits {
  explicit PortableTraits(const Problem& problem);

  bool wgrad = false;
  bool mx = false;            // E8M0 scales of 32 along the inner axis
  bool whole_scales = false;  // `tensor` and `row`: applied once, at the end
  int scales_per_stage = 0;   // along 128 of the inner axis, of each row of A and of B; 0 of whole_scales
  bool group_table = false;   // the kernel makes a table of the groups
  bool sub_blocks = false;    // that counts blocks of 32 rows
  bool first_blocks = false;  // and, in an array of its own, blocks of 128 rows
};

// Whether kernels of this arch can start before the ones before them have ended: griddepcontrol exists from sm_90 on.
bool has_dependent_launch(const std::string& arch) noexcept;

}  // namespace octet
