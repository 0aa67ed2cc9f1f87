#include "runtime/module.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "octet/error.h"
#include "octet/layout.h"
#include "runtime/driver.h"
#include "runtime/gemm_traits.h"
#include "runtime/mx_traits.h"
#include "runtime/quantize_traits.h"
#include "runtime/shared_memory.h"

namespace octet {
namespace {

int attribute(CUdevice_attribute which, CUdevice device) {
  int value = 0;
  check(Driver::get().cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

// Loading a module while this thread captures a stream is refused in the default mode, though it does nothing to the
// capture. Relaxed for a scope.
class RelaxedCapture {
 public:
  RelaxedCapture() { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() { Driver::get().cuThreadExchangeStreamCaptureMode(&mode_); }
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// The context that launches on this stream go to; null for the default streams, which mean the current one.
CUcontext context_of(Stream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return nullptr;
  CUcontext context = nullptr;
  check(Driver::get().cuStreamGetCtx(stream, &context), "cuStreamGetCtx");
  return context;
}

// Retained once for each device and held for the life of the process, as the CUDA runtime holds it.
CUcontext primary_context(int device) {
  static std::mutex mutex;
  static std::map<int, CUcontext> contexts;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto found = contexts.find(device); found != contexts.end()) return found->second;
  const Driver& driver = Driver::get();
  CUdevice handle = 0;
  CUcontext context = nullptr;
  check(driver.cuDeviceGet(&handle, device), "cuDeviceGet");
  check(driver.cuDevicePrimaryCtxRetain(&context, handle), "cuDevicePrimaryCtxRetain");
  return contexts.emplace(device, context).first->second;
}

CUdevice current_device() {
  CUdevice device = 0;
  check(Driver::get().cuCtxGetDevice(&device), "cuCtxGetDevice");
  return device;
}

// Layouts of what a quantizer writes, and of what a converter reads and writes.
void set_operands(const Problem& problem, std::int64_t alignment, LoadedKernel& kernel) {
  const auto layout_of = [&](const Recipe& recipe, bool columnwise) -> OperandLayout {
    const ScaleLayout scales = columnwise ? columnwise_scale_layout(recipe.scale_layout) : recipe.scale_layout;
    return {problem.layout, scales, alignment, columnwise};
  };
  if (problem.a) kernel.a = layout_of(*problem.a, problem.dir == Direction::col);
  kernel.a.packing = problem.from;
  if (!problem.out) return;
  if (problem.op == Operation::convert) {
    kernel.out = layout_of(*problem.out, problem.dir == Direction::col);
    kernel.out.packing = problem.to;
  } else {
    if (problem.dir != Direction::col) kernel.out = layout_of(*problem.out, false);
    if (problem.dir != Direction::row) kernel.out_col = layout_of(*problem.out, true);
  }
}

// Layouts of A and B: what their quantizers write.
void set_gemm_operands(const Problem& problem, std::int64_t alignment, LoadedKernel& kernel) {
  const auto layout_of = [](const Problem& producer, std::int64_t aligned) -> OperandLayout {
    const bool columnwise = producer.dir == Direction::col;
    const ScaleLayout scales = producer.out->scale_layout;
    return {producer.layout, columnwise ? columnwise_scale_layout(scales) : scales, aligned, columnwise};
  };
  kernel.a = layout_of(a_producer(problem), alignment);
  kernel.b = layout_of(b_producer(problem), problem.op == Operation::wgrad ? alignment : 0);
  kernel.a.packing = kernel.b.packing = problem.from;
}

void set_portable(const PortableConfig& config, std::int64_t alignment, LoadedKernel& kernel) {
  const Problem& problem = kernel.spec.problem;
  kernel.threads = 32 * config.warps_m * config.warps_n;
  kernel.blocks_per_sm = portable_blocks_per_sm(config);
  kernel.shared_bytes = static_cast<int>(portable_shared_memory_bytes(problem, config));
  set_gemm_operands(problem, alignment, kernel);
}

void set_mx(const MxConfig& config, std::int64_t alignment, LoadedKernel& kernel) {
  const Problem& problem = kernel.spec.problem;
  kernel.threads = mx_threads(config);
  kernel.cluster = config.cluster_n;
  kernel.shared_bytes = static_cast<int>(mx_shared_memory_bytes(problem, config));
  set_gemm_operands(problem, alignment, kernel);
}

void set_shape(LoadedKernel& kernel) {
  const Problem& problem = kernel.spec.problem;
  const std::int64_t alignment = problem.layout == Layout::padded ? problem.al : 0;
  if (const auto* gemm = std::get_if<GemmConfig>(&kernel.spec.config)) {
    kernel.threads = 128 * (gemm->warpgroups_m * gemm->warpgroups_n + 1);
    kernel.cluster = cluster_blocks(*gemm);
    kernel.blocks_per_sm = gemm->blocks_per_sm;
    kernel.shared_bytes = static_cast<int>(gemm_shared_memory_bytes(problem, *gemm));
    set_gemm_operands(problem, alignment, kernel);
  } else if (const auto* portable = std::get_if<PortableConfig>(&kernel.spec.config)) {
    set_portable(*portable, alignment, kernel);
  } else if (const auto* mx = std::get_if<MxConfig>(&kernel.spec.config)) {
    set_mx(*mx, alignment, kernel);
  } else {
    const auto& quantize = std::get<QuantizeConfig>(kernel.spec.config);
    kernel.threads = quantize.threads;
    kernel.blocks_per_sm = quantize.blocks_per_sm;
    set_operands(problem, alignment, kernel);
  }
}

void check_load(CUresult result, const Built& built) {
  if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
      result == CUDA_ERROR_INVALID_IMAGE) {
    const int version = Driver::get().version;
    throw Error(
        ErrorCode::driver,
        fmt::format("{}: the driver (CUDA {}.{}) cannot load this cubin for {}, made by {}; use a device of that "
                    "arch, a newer driver, or an NVRTC no newer than the driver",
                    built.spec.name(), version / 1000, version % 1000 / 10, built.spec.arch, built.toolchain));
  }
  check(result, "cuLibraryLoadData");
}

}  // namespace

LoadedKernel::~LoadedKernel() {
  // At process exit the driver may be gone already; it then says so, and there is nothing to unload.
  if (library != nullptr) Driver::get().cuLibraryUnload(library);
}

Place resolve_place(int device) {
  const Driver& driver = Driver::get();
  Place place;
  if (device < 0) {
    check(driver.cuCtxGetCurrent(&place.context), "cuCtxGetCurrent");
    if (place.context != nullptr) {
      place.device = current_device();
      return place;
    }
    device = 0;
  }
  int count = 0;
  check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (device >= count) {
    throw Error(ErrorCode::invalid_argument, fmt::format("device {}: this machine has {} device(s)", device, count));
  }
  place.device = device;
  place.context = primary_context(device);
  return place;
}

DeviceFacts query_device_facts(int device) {
  CUdevice handle = 0;
  check(Driver::get().cuDeviceGet(&handle, device), "cuDeviceGet");
  const int major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle);
  const int minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle);
  DeviceFacts facts;
  // wgmma and setmaxnreg exist only in the architecture-specific target of 9.0 and later.
  facts.arch = fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
  facts.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, handle);
  facts.shared_memory_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, handle);
  facts.shared_memory_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, handle);
  facts.registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, handle);
  return facts;
}

std::shared_ptr<const LoadedKernel> load_kernel(const Built& built, const Place& place) {
  const Driver& driver = Driver::get();
  const ScopedContext scope(place.context);
  const RelaxedCapture relaxed;
  auto kernel = std::make_shared<LoadedKernel>();
  kernel->spec = built.spec;
  kernel->device = place.device;
  kernel->context = place.context;
  CUdevice handle = 0;
  check(driver.cuDeviceGet(&handle, place.device), "cuDeviceGet");
  kernel->sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, handle);
  set_shape(*kernel);

  check_load(driver.cuLibraryLoadData(&kernel->library, built.cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
             built);
  kernel->pass_list = passes_of(built.spec);
  for (const Pass pass : kernel->pass_list) {
    CUkernel entry = nullptr;
    check(driver.cuLibraryGetKernel(&entry, kernel->library, (built.spec.name() + suffix(pass)).c_str()),
          "cuLibraryGetKernel");
    if (pass == Pass::main) kernel->kernel = entry;
    kernel->passes.push_back(entry);
  }
  if (kernel->shared_bytes > 0) {
    check(driver.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel->shared_bytes,
                                      kernel->kernel, handle),
          "cuKernelSetAttribute");
  }
  // Libraries load lazily, per context; asking for the function makes it now rather than in the first launch.
  for (const CUkernel entry : kernel->passes) {
    CUfunction function = nullptr;
    check_load(driver.cuKernelGetFunction(&function, entry), built);
  }
  return kernel;
}

LaunchScope::LaunchScope(const LoadedKernel& kernel, Stream stream) {
  const Driver& driver = Driver::get();
  CUcontext current = nullptr;
  check(driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  CUcontext wanted = context_of(stream);
  if (wanted == nullptr) wanted = current != nullptr ? current : kernel.context;
  if (wanted != current) {
    check(driver.cuCtxPushCurrent(wanted), "cuCtxPushCurrent");
    pushed_ = true;
  }
  if (wanted == kernel.context) return;
  CUdevice device = -1;
  const CUresult asked = driver.cuCtxGetDevice(&device);
  if (asked == CUDA_SUCCESS && device == kernel.device) return;
  if (pushed_) driver.cuCtxPopCurrent(&wanted);  // a constructor that throws has no destructor
  check(asked, "cuCtxGetDevice");
  throw Error(ErrorCode::not_prepared,
              fmt::format("{}: loaded on device {}, but the stream belongs to device {}; call prepare with that device",
                          kernel.spec.name(), kernel.device, device));
}

LaunchScope::~LaunchScope() {
  CUcontext popped = nullptr;
  if (pushed_) Driver::get().cuCtxPopCurrent(&popped);
}

void zero_words(void* words, std::int64_t count, Stream stream) {
  check(
      Driver::get().cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(words), 0, static_cast<std::size_t>(count), stream),
      "cuMemsetD32Async");
}

void launch_kernel(const LoadedKernel& kernel, std::int64_t blocks, void* params, Stream stream) {
  launch_pass(kernel, kernel.kernel, blocks, params, stream);
}

void launch_pass(const LoadedKernel& kernel, CUkernel pass, std::int64_t blocks, void* params, Stream stream,
                 bool programmatic) {
  CUlaunchAttribute attributes[2];
  unsigned count = 0;
  if (kernel.cluster > 1 && pass == kernel.kernel) {
    CUlaunchAttribute& cluster = attributes[count++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = static_cast<unsigned>(kernel.cluster);
    cluster.value.clusterDim.y = 1;
    cluster.value.clusterDim.z = 1;
  }
  if (programmatic) {
    CUlaunchAttribute& early = attributes[count++];
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
  }
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(blocks);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(kernel.threads);
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = pass == kernel.kernel ? static_cast<unsigned>(kernel.shared_bytes) : 0;
  config.hStream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  void* arguments[] = {params};
  check(Driver::get().cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(pass), arguments, nullptr),
        "cuLaunchKernelEx");
}

}  // namespace octet
