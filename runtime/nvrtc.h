// libnvrtc.so, opened at run time. Nothing of CUDA is linked.
#pragma once

#include <memory>
#include <string>

#include <nvrtc.h>

namespace octet {

// The functions that we call, with the header's own signatures.
class Nvrtc {
 public:
  // Search order: already loaded in the process, `library` (OCTET_NVRTC_LIBRARY), loader path, $CUDA_HOME,
  // /usr/local/cuda, the places where pip installs nvidia-cuda-nvrtc. Throws Error{compile_failed} that lists what was
  // tried. The library stays open for the life of the process; one instance per distinct `library`.
  static std::shared_ptr<const Nvrtc> open(const std::string& library);

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
  std::string path_;
  int major_ = 0, minor_ = 0;
};

}  // namespace octet
