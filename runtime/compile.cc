#include "runtime/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <semaphore>
#include <string_view>
#include <thread>

#include "runtime/cubin.h"
#include "runtime/nvrtc.h"
#include "runtime/resources.h"

namespace octet {
namespace {

// Each thread that compiles keeps up to a quarter of a gigabyte, and a lock in NVRTC's front end leaves little to gain
// from many. Processes do scale: that is what `octet build -j` uses.
constexpr unsigned least_concurrency = 2, most_concurrency = 4;

class CompileSlot {
 public:
  CompileSlot() { slots().acquire(); }
  ~CompileSlot() { slots().release(); }
  CompileSlot(const CompileSlot&) = delete;
  CompileSlot& operator=(const CompileSlot&) = delete;

 private:
  using Slots = std::counting_semaphore<most_concurrency>;
  static Slots& slots() {
    static auto& slots =
        *new Slots(std::clamp(std::thread::hardware_concurrency(), least_concurrency, most_concurrency));
    return slots;  // not destroyed at exit: other threads may still compile then
  }
};

[[noreturn]] void fail(const std::string& entry_name, std::string_view what, const std::string& log = {}) {
  throw Error(ErrorCode::compile_failed, fmt::format("{}: {}{}{}", entry_name, what, log.empty() ? "" : "\n", log));
}

class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& source, const std::string& entry_name)
      : nvrtc_(nvrtc), entry_name_(entry_name) {
    // The name stands in messages and in line information: it must not vary.
    require(nvrtc.create_program(&program_, source.c_str(), (entry_name + ".cu").c_str(), 0, nullptr, nullptr),
            "nvrtcCreateProgram");
  }
  ~Program() { nvrtc_.destroy_program(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<std::string>& flags) {
    std::vector<const char*> options;
    for (const std::string& flag : flags) options.push_back(flag.c_str());
    return nvrtc_.compile_program(program_, static_cast<int>(options.size()), options.data());
  }
  std::string cubin() const { return text(nvrtc_.get_cubin_size, nvrtc_.get_cubin, "nvrtcGetCUBIN"); }
  std::string ptx() const { return without_nul(text(nvrtc_.get_ptx_size, nvrtc_.get_ptx, "nvrtcGetPTX")); }
  std::string log() const {
    return without_nul(text(nvrtc_.get_program_log_size, nvrtc_.get_program_log, "nvrtcGetProgramLog"));
  }

 private:
  void require(nvrtcResult result, const char* call) const {
    if (result != NVRTC_SUCCESS) fail(entry_name_, fmt::format("{}: {}", call, nvrtc_.get_error_string(result)));
  }
  template <typename SizeCall, typename Call>
  std::string text(SizeCall size_of, Call get, const char* call) const {
    std::size_t size = 0;
    require(size_of(program_, &size), call);
    std::string bytes(size, '\0');
    if (size > 0) require(get(program_, bytes.data()), call);
    return bytes;
  }
  static std::string without_nul(std::string text) {
    if (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }

  const Nvrtc& nvrtc_;
  const std::string& entry_name_;
  nvrtcProgram program_ = nullptr;
};

// NVRTC's "k.cu(1): error: ..." and ptxas's "ptxas ..., line 23; error   : ..." or "ptxas fatal   : ...".
std::string_view first_error_line(std::string_view log) {
  std::string_view first;
  for (std::string_view rest = log; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    for (const std::string_view mark : {": error", "; error", "ptxas error", "catastrophic error", "ptxas fatal"})
      if (line.find(mark) != std::string_view::npos) return line;
    if (first.empty()) first = line;
  }
  return first;
}

// NVRTC before 13.0 refuses the seed. Sources that export their entry point give the same bytes without it too.
std::vector<std::string> known_flags(const Nvrtc& nvrtc, std::vector<std::string> flags) {
  const auto is_seed = [](const std::string& flag) { return flag.rfind("--frandom-seed", 0) == 0; };
  if (nvrtc.major() < 13) flags.erase(std::remove_if(flags.begin(), flags.end(), is_seed), flags.end());
  return flags;
}

std::string toolchain(const Nvrtc& nvrtc, const std::string& cubin) {
  const std::string version = fmt::format("{}.{}", nvrtc.major(), nvrtc.minor());
  const std::string built_with = read_cubin(cubin).value_or(CubinFacts{}).toolkit;
  return "nvrtc " + (built_with.rfind(version + ".", 0) == 0 ? built_with : version);
}

}  // namespace

std::vector<std::string> compile_flags(const std::string& arch, bool lineinfo) {
  std::vector<std::string> flags = {
      "--gpu-architecture=" + arch, "-std=c++17",
      "--no-source-include",   // a source is self-contained: the current folder must not matter
      "--frandom-seed=octet",  // the same source gives the same bytes
      "--ptxas-options=-v",    // the resource report
  };
  if (lineinfo) flags.emplace_back("-lineinfo");
  return flags;
}

Compiled compile(const Nvrtc& nvrtc, const std::string& source, const std::string& entry_name, const std::string& arch,
                 const std::vector<std::string>& flags, bool want_ptx) {
  const CompileSlot slot;
  const auto start = std::chrono::steady_clock::now();
  Program program(nvrtc, source, entry_name);
  const nvrtcResult result = program.compile(known_flags(nvrtc, flags));
  Compiled compiled;
  compiled.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  compiled.log = program.log();
  // The result alone tells: after a failed compile NVRTC reports a cubin of size 0 as a success.
  if (result != NVRTC_SUCCESS) {
    const std::string_view line = first_error_line(compiled.log);
    fail(entry_name, line.empty() ? nvrtc.get_error_string(result) : line, compiled.log);
  }
  compiled.cubin = program.cubin();
  if (const std::string fault = cubin_fault(compiled.cubin, arch, entry_name); !fault.empty())
    fail(entry_name, fmt::format("the cubin that NVRTC {}.{} made {}", nvrtc.major(), nvrtc.minor(), fault),
         compiled.log);
  if (want_ptx) compiled.ptx = program.ptx();
  compiled.toolchain = toolchain(nvrtc, compiled.cubin);
  compiled.resources = parse_resources(compiled.log, entry_name);
  return compiled;
}

}  // namespace octet
