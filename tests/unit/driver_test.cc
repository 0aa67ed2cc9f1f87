// The driver: without one, with libraries that are none, and with one that the test builds.
#include "runtime/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/scratch.h"

namespace {

using octet::Driver;
using octet::Error;
using octet::ErrorCode;
using octet::LibrarySearch;
using octet::test::build_library;
using octet::test::Finished;
using octet::test::run_test_case;
using octet::test::ScratchFolder;

#define OCTET_TEXT_OF(name) #name
#define OCTET_NAME(name) OCTET_TEXT_OF(name),
const std::set<std::string> wanted_symbols = {OCTET_DRIVER_FUNCTIONS(OCTET_NAME)};

// A driver of that version. Functions that do something are written out; the others succeed. `without` is left out.
std::string driver_source(int version, int init_result, const std::set<std::string>& without = {}) {
  std::string source = "int initialized; int cuInit(unsigned flags) { ++initialized; return " +
                       std::to_string(init_result) +
                       "; }\n"
                       "int cuDriverGetVersion(int* version) { *version = " +
                       std::to_string(version) +
                       "; return 0; }\n"
                       "int cuGetErrorName(int e, const char** name) { *name = \"CUDA_ERROR_OF_TEST\"; return 0; }\n"
                       "int cuGetErrorString(int e, const char** text) { *text = \"as the test says\"; return 0; }\n"
                       "static void* stack[8]; int depth;\n"
                       "int cuCtxGetCurrent(void** c) { *c = stack[depth]; return 0; }\n"
                       "int cuCtxPushCurrent_v2(void* c) { stack[++depth] = c; return 0; }\n"
                       "int cuCtxPopCurrent_v2(void** c) { *c = stack[depth--]; return 0; }\n"
                       "int cuCtxPushCurrent(void* c) { return 999; }\n"
                       "int cuMemAlloc(unsigned* p, unsigned bytes) { return 999; }\n";
  const std::set<std::string> written = {
      "cuInit",          "cuDriverGetVersion",  "cuGetErrorName",    "cuGetErrorString",
      "cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"};
  for (const std::string& name : wanted_symbols)
    if (written.count(name) == 0 && without.count(name) == 0) source += "int " + name + "(void) { return 0; }\n";
  return source;
}

LibrarySearch only(const std::string& path) { return {path, "libcuda_test", {}, {}}; }

std::string failure_of(const LibrarySearch& search) {
  try {
    Driver::open_from(search);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::driver);
    return error.what();
  }
  return "opened";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool has_driver() {
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

}  // namespace

TEST_CASE("D19: without a driver every call says so and what was tried") {
  const LibrarySearch absent{"", "libcuda_absent", {"libcuda_absent.so.1"}, {"/nonexistent"}};
  const std::string message = failure_of(absent);
  INFO(message);
  CHECK(message.rfind("no CUDA driver: ", 0) == 0);
  CHECK(contains(message, "libcuda_absent.so.1 (loader path): cannot open shared object file"));
  CHECK(contains(message, "/nonexistent: no such folder"));
  CHECK(contains(message, "Install the NVIDIA driver"));
  CHECK(failure_of(absent) == message);
}

TEST_CASE("D19: Driver::get on a host without libcuda throws, and throws again") {
  if (has_driver()) {
    WARN("skipped: this host has a CUDA driver");
    return;
  }
  for (int call = 0; call < 2; ++call) {
    try {
      Driver::get();
      FAIL("there is no driver to get");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::driver);
      CHECK(contains(error.what(), "no CUDA driver: libcuda.so.1"));
    }
  }
}

TEST_CASE("driver: the search asks for libcuda.so.1 and not for the toolkit's libcuda.so") {
  CHECK(octet::driver_search().names == std::vector<std::string>{"libcuda.so.1"});
}

TEST_CASE("driver: each function is the version whose signature the header declares") {
  // From the driver API's release history, not from the header's macros.
  for (const char* name : {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuCtxPushCurrent_v2",
                           "cuCtxPopCurrent_v2", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuStreamBeginCapture_v2",
                           "cuDevicePrimaryCtxRelease_v2", "cuGraphInstantiateWithFlags", "cuLibraryLoadData"}) {
    INFO(name);
    CHECK(wanted_symbols.count(name) == 1);
  }
  const ScratchFolder folder;
  build_library(folder / "driver.so", driver_source(13000, 0), "libcuda_versions.so");
  const Driver driver = Driver::open_from(only(folder / "driver.so"));
  CUdeviceptr pointer = 0;
  CHECK(driver.cuMemAlloc(&pointer, 16) == CUDA_SUCCESS);  // the old cuMemAlloc of the test's driver gives 999
  CHECK(driver.version == 13000);
  CHECK(driver.path == folder / "driver.so");
}

TEST_CASE("driver: a driver of CUDA 12.4 lacks cuEventElapsedTime_v2 and is used all the same") {
  const ScratchFolder folder;
  const std::string old_name = "int cuEventElapsedTime(float* ms, void* a, void* b) { *ms = 2.5f; return 0; }\n";
  build_library(folder / "driver.so", driver_source(12040, 0, {"cuEventElapsedTime_v2"}) + old_name, "libcuda_124.so");
  const Driver driver = Driver::open_from(only(folder / "driver.so"));
  float ms = 0;
  CHECK(driver.cuEventElapsedTime(&ms, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(ms == 2.5f);
}

TEST_CASE("D20: a driver that is too old is refused with the versions of driver and toolkit") {
  const ScratchFolder folder;
  build_library(folder / "driver.so", driver_source(11080, 0, {"cuLibraryLoadData"}), "libcuda_118.so");
  const std::string message = failure_of(only(folder / "driver.so"));
  INFO(message);
  CHECK(contains(message, "is a driver of CUDA 11.8 and lacks cuLibraryLoadData; CUDA 12.0 or later is needed"));
  CHECK(contains(message, "built with the headers of CUDA 1"));
}

TEST_CASE("driver: a library without the driver's functions is no driver") {
  const ScratchFolder folder;
  build_library(folder / "driver.so", "int cuInit(unsigned flags) { return 0; }", "libcuda_empty.so");
  CHECK(contains(failure_of(only(folder / "driver.so")), "is not a CUDA driver and lacks cuDriverGetVersion, "));
}

TEST_CASE("driver: cuInit's refusal is reported with its name and text") {
  const ScratchFolder folder;
  build_library(folder / "driver.so", driver_source(13000, CUDA_ERROR_NO_DEVICE), "libcuda_nodevice.so");
  CHECK(failure_of(only(folder / "driver.so")) == "cuInit: CUDA_ERROR_OF_TEST (100): as the test says");
  build_library(folder / "stub.so", driver_source(13000, CUDA_ERROR_STUB_LIBRARY), "libcuda_stub.so");
  CHECK(contains(failure_of(only(folder / "stub.so")), "is the toolkit's stub"));
}

// The rest needs Driver::get to find the test's driver: processes of their own, where it is loaded before.

TEST_CASE("driver: child with the test driver", "[.child]") {
  void* library = dlopen(std::getenv("OCTET_TEST_DRIVER"), RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(library != nullptr);
  const int& depth = *static_cast<const int*>(dlsym(library, "depth"));
  const Driver& driver = Driver::get();
  CHECK(&Driver::get() == &driver);

  const auto current = [&driver] {
    CUcontext context = nullptr;
    CHECK(driver.cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    return context;
  };
  const auto context_of = [](std::uintptr_t number) { return reinterpret_cast<CUcontext>(number); };
  driver.cuCtxPushCurrent(context_of(1));
  {
    const octet::ScopedContext outer(context_of(2));
    CHECK(current() == context_of(2));
    {
      const octet::ScopedContext same(context_of(2));
      CHECK(depth == 2);  // what is current already is not pushed again
      const octet::ScopedContext inner(context_of(3));
      CHECK(current() == context_of(3));
    }
    CHECK(current() == context_of(2));
  }
  CHECK(current() == context_of(1));
  CHECK(depth == 1);

  CHECK_NOTHROW(octet::check(CUDA_SUCCESS, "cuLaunchKernelEx"));
  const auto message = [](CUresult result) {
    try {
      octet::check(result, "cuLibraryLoadData");
    } catch (const Error& error) {
      return std::string(error.code() == ErrorCode::driver ? error.what() : "another code");
    }
    return std::string("no error");
  };
  CHECK(message(CUDA_ERROR_INVALID_VALUE) == "cuLibraryLoadData: CUDA_ERROR_OF_TEST (1): as the test says");
  CHECK(contains(message(CUDA_ERROR_NO_BINARY_FOR_GPU), "the driver supports CUDA 12.4, this library was built with"));
  CHECK(contains(message(CUDA_ERROR_NOT_INITIALIZED), "forked after CUDA was initialized"));
}

TEST_CASE("driver: a scope's context is put back; errors name call, error and versions (D20, D25)") {
  const ScratchFolder folder;
  build_library(folder / "driver.so", driver_source(12040, 0), "libcuda.so.1");
  const Finished child =
      run_test_case("driver: child with the test driver", "OCTET_TEST_DRIVER='" + folder / "driver.so" + "'");
  INFO(child.output);
  CHECK(child.exit_code == 0);
}

TEST_CASE("driver: child with many threads", "[.child]") {
  void* library = dlopen(std::getenv("OCTET_TEST_DRIVER"), RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(library != nullptr);
  std::vector<std::future<const Driver*>> threads;
  for (int i = 0; i < 16; ++i) threads.push_back(std::async(std::launch::async, [] { return &Driver::get(); }));
  const Driver* const driver = &Driver::get();
  for (auto& thread : threads) CHECK(thread.get() == driver);
  CHECK(*static_cast<const int*>(dlsym(library, "initialized")) == 1);
}

TEST_CASE("E01: threads that open the driver at once initialize it once") {
  const ScratchFolder folder;
  build_library(folder / "driver.so", driver_source(13000, 0), "libcuda.so.1");
  const Finished child =
      run_test_case("driver: child with many threads", "OCTET_TEST_DRIVER='" + folder / "driver.so" + "'");
  INFO(child.output);
  CHECK(child.exit_code == 0);
}

TEST_CASE("driver: child whose first call fails", "[.child]") {
  const std::string path = std::getenv("OCTET_TEST_DRIVER");
  REQUIRE(dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr);
  CHECK_THROWS_AS(Driver::get(), Error);
  CHECK_NOTHROW(Driver::get());
}

TEST_CASE("driver: a failure is not remembered") {
  const ScratchFolder folder;
  std::string source = driver_source(13000, 0);
  const std::string init = "{ ++initialized; return 0; }";
  source.replace(source.find(init), init.size(), "{ return initialized++ == 0 ? 999 : 0; }");
  build_library(folder / "driver.so", source, "libcuda.so.1");
  const Finished child =
      run_test_case("driver: child whose first call fails", "OCTET_TEST_DRIVER='" + folder / "driver.so" + "'");
  INFO(child.output);
  CHECK(child.exit_code == 0);
}
