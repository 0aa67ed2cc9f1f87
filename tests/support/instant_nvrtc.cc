// A libnvrtc that answers at once: its cubins are whole ELF files for the arch that was asked for, with the entry
// points that the source names, and hold no code. What is tested with it is everything around a compiler. Through
// OCTET_NVRTC_LIBRARY. Settings, each read at every call:
//
//   INSTANT_NVRTC_LOG         file that gets one line for each compile that begins: "<process id> <program name>"
//   INSTANT_NVRTC_DELAY_MS    how long a compile takes; 0
//   INSTANT_NVRTC_VERSION     "13.0"
//   INSTANT_NVRTC_REFUSE      a compile fails whose source holds this text
#include <fcntl.h>
#include <nvrtc.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/cubin_image.h"

struct _nvrtcProgram {
  std::string source, name, cubin, log;
};

namespace {

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

void note_compile(const _nvrtcProgram& program) {
  const std::string path = setting("INSTANT_NVRTC_LOG", "");
  if (path.empty()) return;
  const std::string line = std::to_string(::getpid()) + " " + program.name + "\n";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, line.data(), line.size()) < 0) std::perror("instant_nvrtc");
  ::close(fd);
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The main entry point has the program's name, passes have that and a suffix.
std::vector<std::string> entry_points(const std::string& source, const std::string& name) {
  std::vector<std::string> found = {name};
  for (std::size_t at = source.find(name); at != std::string::npos; at = source.find(name, at + 1)) {
    const auto end = std::find_if_not(source.begin() + static_cast<std::ptrdiff_t>(at), source.end(), is_word);
    std::string word(source.begin() + static_cast<std::ptrdiff_t>(at), end);
    if (std::find(found.begin(), found.end(), word) == found.end()) found.push_back(std::move(word));
  }
  return found;
}

std::string arch_of(int count, const char* const* options) {
  constexpr char label[] = "--gpu-architecture=";
  for (int i = 0; i < count; ++i) {
    if (std::strncmp(options[i], label, sizeof label - 1) == 0) return options[i] + sizeof label - 1;
  }
  return "sm_90a";
}

std::string cubin_for(const _nvrtcProgram& program, const std::string& arch) {
  const std::string version = setting("INSTANT_NVRTC_VERSION", "13.0");
  octet::test::CubinParts parts;
  parts.flags = static_cast<std::uint32_t>(std::atoi(arch.c_str() + std::strlen("sm_"))) << 8;
  parts.note_text = octet::test::note(arch, version);
  parts.functions = entry_points(program.source, program.name);
  return octet::test::make_cubin(parts);
}

nvrtcResult give_size(const std::string& bytes, std::size_t extra, std::size_t* size) {
  *size = bytes.size() + extra;
  return NVRTC_SUCCESS;
}
nvrtcResult give(const std::string& bytes, std::size_t extra, char* to) {
  std::memcpy(to, bytes.c_str(), bytes.size() + extra);
  return NVRTC_SUCCESS;
}

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  const std::string version = setting("INSTANT_NVRTC_VERSION", "13.0");
  return std::sscanf(version.c_str(), "%d.%d", major, minor) == 2 ? NVRTC_SUCCESS : NVRTC_ERROR_INVALID_INPUT;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int, const char* const*,
                               const char* const*) {
  std::string stem = name;
  stem.resize(stem.rfind(".cu"));
  *program = new _nvrtcProgram{source, stem, "", ""};
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  note_compile(*program);
  std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(setting("INSTANT_NVRTC_DELAY_MS", "0").c_str())));
  const std::string refused = setting("INSTANT_NVRTC_REFUSE", "");
  if (!refused.empty() && program->source.find(refused) != std::string::npos) {
    program->log = program->name + ".cu(1): error: refused, as INSTANT_NVRTC_REFUSE says";
    return NVRTC_ERROR_COMPILATION;
  }
  program->log = "ptxas info    : Compiling entry function '" + program->name + "' for 'sm_90a'\n" +
                 "ptxas info    : Used 32 registers, used 1 barriers\n";
  program->cubin = cubin_for(*program, arch_of(count, options));
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) { return give_size(program->log, 1, size); }
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) { return give(program->log, 1, log); }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) { return give_size(program->cubin, 0, size); }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) { return give(program->cubin, 0, cubin); }
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) { return give_size(program->source, 1, size); }
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* ptx) { return give(program->source, 1, ptx); }

const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}

}  // extern "C"
