// A compiler that compiles nothing: it refuses every source, and dies of a segmentation fault in the middle of those
// that hold the text of STUB_NVRTC_CRASH_ON. Tests hand it over through OCTET_NVRTC_LIBRARY.
#include <nvrtc.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

struct _nvrtcProgram {
  std::string source;
};

namespace {
constexpr char kLog[] = "stub.cu(1): error: the stub refuses this source";
}

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int, const char* const*,
                               const char* const*) {
  *program = new _nvrtcProgram{source};
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
  const char* crash_on = std::getenv("STUB_NVRTC_CRASH_ON");
  if (crash_on != nullptr && program->source.find(crash_on) != std::string::npos) {
    std::signal(SIGSEGV, SIG_DFL);  // also where a sanitizer would turn it into an exit code
    std::raise(SIGSEGV);
  }
  return NVRTC_ERROR_COMPILATION;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t* size) {
  *size = sizeof kLog;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char* log) {
  std::memcpy(log, kLog, sizeof kLog);
  return NVRTC_SUCCESS;
}

// What the real one answers after a failed compile: success, and nothing.
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t* size) {
  *size = 0;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char*) { return NVRTC_SUCCESS; }
nvrtcResult nvrtcGetPTXSize(nvrtcProgram, size_t* size) {
  *size = 0;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTX(nvrtcProgram, char*) { return NVRTC_SUCCESS; }

const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}

}  // extern "C"
