#include "runtime/driver.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>

namespace octet {
namespace {

#define OCTET_TEXT_OF(name) #name
#define OCTET_SYMBOL(name) OCTET_TEXT_OF(name)  // after the header's macros: "cuMemAlloc_v2"

constexpr int oldest_version = 12000;  // cuLibraryLoadData, cuTensorMapEncodeTiled

std::atomic<const Driver*> opened{nullptr};  // set once, never freed

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// The name under which an older driver has a function of the same signature and meaning; null when there is none.
const char* older_name(std::string_view symbol) {
  return symbol == "cuEventElapsedTime_v2" ? "cuEventElapsedTime" : nullptr;  // v2 came with the driver of CUDA 12.8
}

template <typename Function>
void resolve(const DynamicLibrary& library, const char* symbol, Function*& target, std::string& missing) {
  void* found = library.symbol(symbol);
  if (const char* older = older_name(symbol); found == nullptr && older != nullptr) found = library.symbol(older);
  target = reinterpret_cast<Function*>(found);
  if (found == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(symbol);
}

// Why the library cannot be used; empty when it can.
std::string bind(const DynamicLibrary& library, Driver& driver) {
  std::string missing;
#define OCTET_RESOLVE(name) resolve(library, OCTET_SYMBOL(name), driver.name, missing);
  OCTET_DRIVER_FUNCTIONS(OCTET_RESOLVE)
#undef OCTET_RESOLVE
  driver.path = library.path;
  driver.version = 0;
  if (driver.cuDriverGetVersion != nullptr && driver.cuDriverGetVersion(&driver.version) != CUDA_SUCCESS)
    driver.version = 0;  // a stub
  if (missing.empty()) return {};
  const std::string what = driver.version == 0 ? "is not a CUDA driver"
                                               : fmt::format("is a driver of CUDA {}", version_text(driver.version));
  return fmt::format("{} and lacks {}; CUDA {} or later is needed (built with the headers of CUDA {})", what, missing,
                     version_text(oldest_version), version_text(CUDA_VERSION));
}

// Errors that a driver older than the cubin's toolkit gives.
bool may_be_version(CUresult result) {
  return result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_IMAGE ||
         result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
         result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH || result == CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE;
}

std::string advice(CUresult result, const Driver& driver) {
  if (may_be_version(result))
    return fmt::format("; the driver supports CUDA {}, this library was built with the headers of CUDA {}",
                       version_text(driver.version), version_text(CUDA_VERSION));
  if (result == CUDA_ERROR_STUB_LIBRARY)
    return fmt::format("; {} is the toolkit's stub, put the driver's libcuda.so.1 before it on the loader path",
                       driver.path);
  if (result == CUDA_ERROR_NOT_INITIALIZED)
    return "; a process that was forked after CUDA was initialized cannot use it: fork before the first call, or spawn";
  return {};
}

void require_success(const Driver& driver, CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char *name = nullptr, *text = nullptr;
  if (driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  if (driver.cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  throw Error(ErrorCode::driver,
              fmt::format("{}: {} ({}): {}{}", call, name, static_cast<int>(result), text, advice(result, driver)));
}

}  // namespace

LibrarySearch driver_search() {
  // The folders are where WSL and NixOS keep it; libcuda.so without a number is usually the toolkit's stub.
  return {{}, "libcuda", {"libcuda.so.1"}, {"/usr/lib/wsl/lib", "/run/opengl-driver/lib"}};
}

Driver Driver::open_from(const LibrarySearch& search) {
  Driver driver;
  std::vector<LibraryAttempt> tried;
  if (!find_library(
          search, [&driver](const DynamicLibrary& library) { return bind(library, driver); }, tried))
    throw Error(ErrorCode::driver,
                fmt::format("no CUDA driver: libcuda.so.1 cannot be used. Tried:\n{}"
                            "Install the NVIDIA driver, or stay with what needs no GPU: building, showing and "
                            "explaining kernels.",
                            describe(tried)));
  require_success(driver, driver.cuInit(0), "cuInit");
  return driver;
}

const Driver& Driver::get() {
  if (const Driver* driver = opened.load(std::memory_order_acquire)) return *driver;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const Driver* driver = opened.load(std::memory_order_relaxed)) return *driver;
  const Driver* driver = new Driver(open_from(driver_search()));
  opened.store(driver, std::memory_order_release);
  return *driver;
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  require_success(Driver::get(), result, call);
}

ScopedContext::ScopedContext(CUcontext context) {
  const Driver& driver = Driver::get();
  CUcontext current = nullptr;
  check(driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == context) return;
  check(driver.cuCtxPushCurrent(context), "cuCtxPushCurrent");
  pushed_ = true;
}

ScopedContext::~ScopedContext() {
  CUcontext popped = nullptr;
  if (pushed_) Driver::get().cuCtxPopCurrent(&popped);  // nothing to be done about a failure here
}

}  // namespace octet
