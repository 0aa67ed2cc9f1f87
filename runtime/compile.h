// Source -> cubin, through NVRTC. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "octet/runtime.h"

namespace octet {

class Nvrtc;  // runtime/nvrtc.h: libnvrtc opened at run time

// Every option that NVRTC is given, in order: part of the cache key.
std::vector<std::string> compile_flags(const std::string& arch, bool lineinfo);

struct Compiled {
  std::string cubin;
  std::string ptx;        // filled when asked for
  std::string log;        // NVRTC's and ptxas's whole log
  std::string toolchain;  // "nvrtc 13.0.88": major.minor of the library, build number from the cubin's notes
  Resources resources;    // parsed from the log; dynamic_shared_bytes is not known here
  double seconds = 0;
};
// Throws Error{compile_failed} whose message starts with the kernel's name and the first error line, and holds the
// whole log. A cubin is returned only after it was checked (ELF, arch, entry name present).
Compiled compile(const Nvrtc& nvrtc, const std::string& source, const std::string& entry_name, const std::string& arch,
                 const std::vector<std::string>& flags, bool want_ptx = false);

}  // namespace octet
