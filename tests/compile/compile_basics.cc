// Source -> cubin with the NVRTC that is installed here. No GPU, no driver.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "octet/error.h"
#include "runtime/compile.h"
#include "runtime/cubin.h"
#include "runtime/nvrtc.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

namespace {

using octet::compile;
using octet::compile_flags;
using octet::Compiled;
using octet::Error;
using octet::ErrorCode;
using octet::Nvrtc;
using octet::test::ScratchFolder;

const char* const small_kernel = R"(
extern "C" __global__ void small(float* p, int n) {
  __shared__ float s[100];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[0] = s[n];
})";

// Null, with a message, where no NVRTC is installed.
std::shared_ptr<const Nvrtc> nvrtc_or_skip() {
  const char* library = std::getenv("OCTET_NVRTC_LIBRARY");
  try {
    return Nvrtc::open(library == nullptr ? "" : library);
  } catch (const Error& error) {
    if (library != nullptr) throw;
    WARN("skipped: " << error.what());
    return nullptr;
  }
}

std::string failure_of(const Nvrtc& nvrtc, const std::string& source, const std::string& entry,
                       const std::string& arch = "sm_90a", const std::string& built_for = "sm_90a") {
  try {
    compile(nvrtc, source, entry, arch, compile_flags(built_for, false));
  } catch (const Error& error) {
    return error.code() == ErrorCode::compile_failed ? error.what() : "another code";
  }
  return "compiled";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("compile: a small kernel becomes a checked cubin with its report") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  const Compiled compiled = compile(*nvrtc, small_kernel, "small", "sm_90a", compile_flags("sm_90a", false), true);
  CHECK(octet::cubin_fault(compiled.cubin, "sm_90a", "small").empty());
  CHECK(contains(compiled.ptx, ".target sm_90a"));
  CHECK(contains(compiled.ptx, ".entry small("));
  CHECK(compiled.ptx.back() == '\n');
  CHECK(compiled.resources.registers > 0);
  CHECK(compiled.resources.registers < 64);
  CHECK(compiled.resources.static_shared_bytes == 400);  // 100 floats
  CHECK(compiled.resources.spill_store_bytes == 0);
  CHECK(compiled.resources.stack_bytes == 0);
  CHECK_FALSE(compiled.resources.wgmma_serialized);
  CHECK(contains(compiled.log, "Compiling entry function 'small' for 'sm_90a'"));
  CHECK(compiled.seconds > 0);
}

TEST_CASE("compile: the toolchain is NVRTC's version with the build number of the cubin's note") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  const Compiled compiled = compile(*nvrtc, small_kernel, "small", "sm_90a", compile_flags("sm_90a", false));
  const std::string version = std::to_string(nvrtc->major()) + "." + std::to_string(nvrtc->minor());
  if (nvrtc->major() < 13) {
    CHECK(compiled.toolchain == "nvrtc " + version);  // these leave no note
    return;
  }
  REQUIRE(compiled.toolchain.rfind("nvrtc " + version + ".", 0) == 0);
  const std::string build = compiled.toolchain.substr(std::string("nvrtc ").size());
  CHECK(contains(compiled.cubin, "release " + version + ", V" + build + std::string(1, '\0')));
}

TEST_CASE("D22: the same source gives the same bytes, whatever was compiled before") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  const auto flags = compile_flags("sm_90a", false);
  const std::string first = compile(*nvrtc, small_kernel, "small", "sm_90a", flags).cubin;
  const std::string other =
      "static __device__ int n; namespace { __device__ __noinline__ int f() { return ++n; } }\n"
      "extern \"C\" __global__ void other(int* p) { p[0] = f(); }";
  compile(*nvrtc, other, "other", "sm_90a", flags);
  CHECK((compile(*nvrtc, small_kernel, "small", "sm_90a", flags).cubin == first));  // no bytes in the report
}

TEST_CASE("D22: symbols of internal linkage hold no random part") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  if (nvrtc->major() < 13) {
    WARN("skipped: NVRTC before 13.0 has no option for it");
    return;
  }
  // Where a source exports nothing, NVRTC makes its symbols unique at random.
  const std::string source = "namespace { __device__ int n; } static __global__ void kernel(int* p) { p[0] = n++; }";
  const auto flags = compile_flags("sm_90a", false);
  const std::string first = compile(*nvrtc, source, "_Z6kernelPi", "sm_90a", flags).cubin;
  CHECK((compile(*nvrtc, source, "_Z6kernelPi", "sm_90a", flags).cubin == first));
}

TEST_CASE("compile: child that writes a cubin", "[.child]") {
  const auto nvrtc = nvrtc_or_skip();
  REQUIRE(nvrtc);
  std::ofstream(std::getenv("OCTET_TEST_CUBIN"), std::ios::binary)
      << compile(*nvrtc, small_kernel, "small", "sm_90a", compile_flags("sm_90a", false)).cubin;
}

TEST_CASE("D22: two processes in different folders give the same bytes") {
  if (!nvrtc_or_skip()) return;
  const ScratchFolder folder;
  std::vector<std::string> cubins;
  for (const std::string name : {"a", "b"}) {
    std::filesystem::create_directory(folder / name);
    const auto child = octet::test::run_test_case("compile: child that writes a cubin",
                                                  "-C '" + folder / name + "' OCTET_TEST_CUBIN=cubin");
    INFO(child.output);
    REQUIRE(child.exit_code == 0);
    std::ifstream file(folder / (name + "/cubin"), std::ios::binary);
    cubins.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  CHECK_FALSE(cubins[0].empty());
  CHECK((cubins[0] == cubins[1]));
}

TEST_CASE("D16: a failed compile tells the kernel, the first error line and then the whole log") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  const std::string message = failure_of(*nvrtc, R"(
#warning before the first error
extern "C" __global__ void wrong(float* p) {
  p[0] = first_mistake;
  p[1] = second_mistake;
})",
                                         "wrong");
  INFO(message);
  CHECK(first_line(message) == "wrong: wrong.cu(4): error: identifier \"first_mistake\" is undefined");
  CHECK(contains(message, "before the first error"));
  CHECK(contains(message, "\nwrong.cu(5): error: identifier \"second_mistake\" is undefined"));
  CHECK(contains(message, "2 errors detected"));
  // The next good one works, in the same process.
  CHECK(failure_of(*nvrtc, small_kernel, "small") == "compiled");
}

TEST_CASE("D16: an error of ptxas is told in the same way") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  const std::string message =
      failure_of(*nvrtc, R"(extern "C" __global__ void wrong(float* p) { asm volatile("bogus.instr;"); })", "wrong");
  INFO(message);
  CHECK(message.rfind("wrong: ptxas ", 0) == 0);
  CHECK(contains(first_line(message), "error"));
  CHECK(contains(message, "'bogus'"));
}

TEST_CASE("compile: an unknown arch is NVRTC's error under the kernel's name") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  for (const char* arch : {"sm_91", "90a", "sm90a", ""}) {
    INFO(arch);
    CHECK(contains(first_line(failure_of(*nvrtc, small_kernel, "small", arch, arch)), "small: nvrtc: error: "));
  }
}

TEST_CASE("D15: a cubin for another arch than asked for is not returned") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  CHECK(contains(failure_of(*nvrtc, small_kernel, "small", "sm_90a", "sm_89"), "made is for sm_89, not for sm_90a"));
  if (nvrtc->major() >= 13)  // earlier cubins do not tell
    CHECK(contains(failure_of(*nvrtc, small_kernel, "small", "sm_90a", "sm_90"), "made is for sm_90, not for sm_90a"));
  // NVRTC makes PTX alone for a virtual arch, and says that all went well.
  CHECK(contains(failure_of(*nvrtc, small_kernel, "small", "sm_90a", "compute_90a"), "made is empty"));
}

TEST_CASE("compile: a source without the entry point is not returned") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  CHECK(contains(failure_of(*nvrtc, small_kernel, "other"), "has no function other"));
}

TEST_CASE("compile: flags are those that a reproducible, self-contained compile needs") {
  const std::vector<std::string> flags = compile_flags("sm_90a", false);
  CHECK(flags == std::vector<std::string>{"--gpu-architecture=sm_90a", "-std=c++17", "--no-source-include",
                                          "--frandom-seed=octet", "--ptxas-options=-v"});
  std::vector<std::string> with_lines = flags;
  with_lines.emplace_back("-lineinfo");
  CHECK(compile_flags("sm_90a", true) == with_lines);
}

TEST_CASE("compile: line information is in the cubin only when asked for, and names the program") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  const auto cubin = [&](bool lineinfo) {
    return compile(*nvrtc, small_kernel, "small", "sm_90a", compile_flags("sm_90a", lineinfo)).cubin;
  };
  CHECK_FALSE(contains(cubin(false), ".debug_line"));
  CHECK(contains(cubin(true), ".debug_line"));
  CHECK(contains(cubin(true), "small.cu"));
}

TEST_CASE("compile: the current folder's headers are not seen") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  const ScratchFolder folder;
  std::ofstream(folder / "stray.h") << "extern \"C\" __global__ void small() {}\n";
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.string());
  const std::string message = failure_of(*nvrtc, "#include \"stray.h\"\n", "small");
  std::filesystem::current_path(before);
  CHECK(contains(message, "stray.h"));
  CHECK(contains(first_line(message), "could not open source file"));
}

TEST_CASE("compile: spills and serialized wgmma reach the resources") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  // A wgmma whose pipeline crosses a call.
  const std::string wgmma = R"(
__device__ __noinline__ void mma(float (&d)[4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0,%1,%2,%3}, %4, %5, 1, 1, 1;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
extern "C" __global__ void serialized(float* p, unsigned long long a, unsigned long long b) {
  float d[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  mma(d, a, b);
  mma(d, a, b);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) p[i] += d[i];
})";
  const auto flags = compile_flags("sm_90a", false);
  const octet::Resources serialized = compile(*nvrtc, wgmma, "serialized", "sm_90a", flags).resources;
  CHECK(serialized.wgmma_serialized);
  CHECK(serialized.stack_bytes >= 16);  // d, passed by reference

  // 100 values that live at once in at most 32 registers.
  const std::string spilling = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(float* p, int n) {
  float v[100];
#pragma unroll
  for (int i = 0; i < 100; ++i) v[i] = p[i * n];
#pragma unroll
  for (int i = 0; i < 100; ++i) p[i * n] = v[99 - i] * v[i * 7 % 100];
})";
  const octet::Resources spills = compile(*nvrtc, spilling, "spilling", "sm_90a", flags).resources;
  CHECK(spills.registers <= 32);
  CHECK(spills.spill_store_bytes >= 4 * (100 - 32));
  CHECK(spills.spill_load_bytes >= 4 * (100 - 32));
  CHECK(spills.stack_bytes >= spills.spill_store_bytes);
}

TEST_CASE("compile: threads may compile at the same time") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  const auto flags = compile_flags("sm_90a", false);
  const std::string expected = compile(*nvrtc, small_kernel, "small", "sm_90a", flags).cubin;
  std::vector<std::future<std::string>> threads;
  for (int i = 0; i < 8; ++i)
    threads.push_back(
        std::async(std::launch::async, [&] { return compile(*nvrtc, small_kernel, "small", "sm_90a", flags).cubin; }));
  for (auto& thread : threads) CHECK((thread.get() == expected));
}

TEST_CASE("compile: every program is destroyed, also when the compile or a check fails") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  static const Nvrtc* real = nullptr;
  static int created = 0, destroyed = 0;
  real = nvrtc.get();
  Nvrtc counting = *nvrtc;
  counting.create_program = [](nvrtcProgram* program, const char* source, const char* name, int headers,
                               const char* const* texts, const char* const* names) {
    ++created;
    return real->create_program(program, source, name, headers, texts, names);
  };
  counting.destroy_program = [](nvrtcProgram* program) {
    ++destroyed;
    return real->destroy_program(program);
  };
  CHECK(failure_of(counting, small_kernel, "small") == "compiled");
  CHECK(contains(failure_of(counting, "mistake", "small"), "error"));
  CHECK(contains(failure_of(counting, small_kernel, "small", "sm_91", "sm_91"), "error"));
  CHECK(contains(failure_of(counting, small_kernel, "other"), "has no function"));
  counting.get_cubin = [](nvrtcProgram, char*) { return NVRTC_ERROR_INTERNAL_ERROR; };
  CHECK(failure_of(counting, small_kernel, "small") == "small: nvrtcGetCUBIN: NVRTC_ERROR_INTERNAL_ERROR");
  CHECK(created == 5);
  CHECK(destroyed == 5);

  counting.create_program = [](nvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*) {
    return NVRTC_ERROR_OUT_OF_MEMORY;
  };
  CHECK(failure_of(counting, small_kernel, "small") == "small: nvrtcCreateProgram: NVRTC_ERROR_OUT_OF_MEMORY");
  CHECK(destroyed == 5);  // there was none
}

TEST_CASE("compile: at most four threads are in NVRTC at a time, whoever fails") {
  const auto nvrtc = nvrtc_or_skip();
  if (!nvrtc) return;
  static const Nvrtc* real = nullptr;
  static std::atomic<int> inside{0}, most{0};
  real = nvrtc.get();
  Nvrtc counting = *nvrtc;
  counting.compile_program = [](nvrtcProgram program, int count, const char* const* options) {
    const int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // long enough for all to arrive
    const nvrtcResult result = real->compile_program(program, count, options);
    --inside;
    return result;
  };
  std::vector<std::future<std::string>> threads;
  for (int i = 0; i < 12; ++i)
    threads.push_back(std::async(std::launch::async, [&counting, i] {
      return failure_of(counting, i % 3 == 0 ? "mistake" : small_kernel, "small");
    }));
  int good = 0;
  for (auto& thread : threads) good += thread.get() == "compiled" ? 1 : 0;
  CHECK(good == 8);
  CHECK(most >= 2);
  CHECK(most <= 4);
}
