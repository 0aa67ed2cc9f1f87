// libnvrtc.so, opened at run time. Nothing of CUDA is linked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nvrtc.h>

#include "runtime/dynamic_library.h"

namespace octet {

// What the search for libnvrtc takes from the environment.
struct SearchRoots {
  std::vector<std::string> toolkits;         // CUDA_HOME, CUDA_PATH, CONDA_PREFIX
  std::vector<std::string> python_prefixes;  // VIRTUAL_ENV, CONDA_PREFIX, ~/.local
  static SearchRoots from_environment();     // in options.cc, which alone reads the environment
};

// `library` (OCTET_NVRTC_LIBRARY) alone when it is set; else what the process has loaded, the loader path, the roots'
// toolkits, /usr/local/cuda, the places where pip installs nvidia-cuda-nvrtc.
LibrarySearch nvrtc_search(const std::string& library, const SearchRoots& roots);

// The functions that we call, with the header's own signatures.
class Nvrtc {
 public:
  // Throws Error{compile_failed} that lists what was tried. The library stays open for the life of the process; one
  // instance per distinct `library`. A failure is not remembered. A `library` that cannot be used is an error: nothing
  // else is tried in its place. Thread-safe.
  static std::shared_ptr<const Nvrtc> open(const std::string& library);
  // The same over any list of places, without sharing.
  static std::shared_ptr<const Nvrtc> open_from(const LibrarySearch& search);

  decltype(&::nvrtcVersion) version = nullptr;
  decltype(&::nvrtcCreateProgram) create_program = nullptr;
  decltype(&::nvrtcCompileProgram) compile_program = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy_program = nullptr;
  decltype(&::nvrtcGetCUBINSize) get_cubin_size = nullptr;
  decltype(&::nvrtcGetCUBIN) get_cubin = nullptr;
  decltype(&::nvrtcGetPTXSize) get_ptx_size = nullptr;
  decltype(&::nvrtcGetPTX) get_ptx = nullptr;
  decltype(&::nvrtcGetProgramLogSize) get_program_log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) get_program_log = nullptr;
  decltype(&::nvrtcGetErrorString) get_error_string = nullptr;

  std::string path() const { return path_; }
  int major() const { return major_; }
  int minor() const { return minor_; }

 private:
  std::string bind(const DynamicLibrary& library);  // why the library cannot be used; empty when it can

  std::string path_;
  int major_ = 0, minor_ = 0;
};

}  // namespace octet
