// What a choice of kernel may know about a device: a plain struct, so that selection, rendering and compilation need
// no GPU and no driver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "octet/export.h"

namespace octet {

struct OCTET_API DeviceFacts {
  std::string arch = "sm_90a";           // what NVRTC is asked for
  int sm_count = 132;                    // multiprocessors; steers the cost model, never correctness
  int shared_memory_per_block = 232448;  // bytes a block may opt in to
  int shared_memory_per_sm = 233472;     // bytes
  int registers_per_sm = 65536;

  // Facts of the arch's reference part (H200 for sm_90a). Throws Error{invalid_argument} for an unknown arch and for
  // near spellings, with the right one; Error{no_kernel} for a real arch without kernels. Plain sm_90 has the portable
  // kernels alone: wgmma exists only in sm_90a.
  static DeviceFacts for_arch(std::string_view arch);
};

}  // namespace octet
