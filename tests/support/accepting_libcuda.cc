// A libcuda.so.1 that accepts every call and computes nothing: with it the GPU tests run, and fail, on a machine
// without a GPU, but ask for their kernels first, which fills a cache (tools/gpu_check.sh --prefill). Memory is the
// host's. A test that wants to know what is launched sets octet_on_launch. In a tensor map the first word is the
// address, and the rest says what else the driver was told.
#define __CUDA_API_VERSION_INTERNAL  // symbols by their own names, not by the header's macros
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#define ACCEPT extern "C" __attribute__((visibility("default"))) CUresult
#define OK return CUDA_SUCCESS

namespace {

thread_local CUcontext current = nullptr;
std::atomic<bool> capturing{false};

// Any value that is not null.
template <typename Handle>
void give(Handle* handle) {
  *handle = reinterpret_cast<Handle>(std::uintptr_t{16});
}
void* at(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

// A kernel's handle: its name, kept for the life of the process.
const char* kept(const char* name) {
  static std::mutex mutex;
  static std::set<std::string> names;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

// An H200.
int attribute_of(CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return 0;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 132;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 232448;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 233472;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return 65536;
    default:
      return 1;
  }
}

}  // namespace

// Called at every launch with the kernel's name and its parameters.
extern "C" {
__attribute__((visibility("default"))) void (*octet_on_launch)(const char* kernel, const void* parameters) = nullptr;
}

ACCEPT cuInit(unsigned) { OK; }
ACCEPT cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
ACCEPT cuGetErrorName(CUresult, const char** text) { return *text = "CUDA_ERROR", CUDA_SUCCESS; }
ACCEPT cuGetErrorString(CUresult, const char** text) { return *text = "an error", CUDA_SUCCESS; }
// NVRTC asks for it; not found is what it can live with.
ACCEPT cuGetExportTable(const void**, const CUuuid*) { return CUDA_ERROR_NOT_FOUND; }

ACCEPT cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
ACCEPT cuDeviceGet(CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; }
ACCEPT cuDeviceGetName(char* name, int length, CUdevice) {
  return std::strncpy(name, "none", static_cast<std::size_t>(length)), CUDA_SUCCESS;
}
ACCEPT cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  return *value = attribute_of(attribute), CUDA_SUCCESS;
}
ACCEPT cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) { return give(context), CUDA_SUCCESS; }
ACCEPT cuDevicePrimaryCtxRelease_v2(CUdevice) { OK; }

ACCEPT cuCtxGetCurrent(CUcontext* context) { return *context = current, CUDA_SUCCESS; }
ACCEPT cuCtxSetCurrent(CUcontext context) { return current = context, CUDA_SUCCESS; }
ACCEPT cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
ACCEPT cuCtxPushCurrent_v2(CUcontext context) { return current = context, CUDA_SUCCESS; }
ACCEPT cuCtxPopCurrent_v2(CUcontext* context) { return *context = current, CUDA_SUCCESS; }
ACCEPT cuCtxSynchronize() { OK; }

ACCEPT cuStreamGetCtx(CUstream, CUcontext* context) { return give(context), CUDA_SUCCESS; }
ACCEPT cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  return *status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}
ACCEPT cuStreamCreate(CUstream* stream, unsigned) { return give(stream), CUDA_SUCCESS; }
ACCEPT cuStreamDestroy_v2(CUstream) { OK; }
ACCEPT cuStreamSynchronize(CUstream) { OK; }
ACCEPT cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) { return capturing = true, CUDA_SUCCESS; }
ACCEPT cuStreamEndCapture(CUstream, CUgraph* graph) { return capturing = false, give(graph), CUDA_SUCCESS; }
ACCEPT cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) { OK; }

ACCEPT cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
                         unsigned) {
  return give(library), CUDA_SUCCESS;
}
ACCEPT cuLibraryUnload(CUlibrary) { OK; }
ACCEPT cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char* name) {
  return *kernel = reinterpret_cast<CUkernel>(const_cast<char*>(kept(name))), CUDA_SUCCESS;
}
ACCEPT cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return *function = reinterpret_cast<CUfunction>(kernel), CUDA_SUCCESS;
}
ACCEPT cuKernelSetAttribute(CUfunction_attribute, int, CUkernel, CUdevice) { OK; }
ACCEPT cuKernelGetAttribute(int* value, CUfunction_attribute, CUkernel, CUdevice) { return *value = 0, CUDA_SUCCESS; }
ACCEPT cuLaunchKernelEx(const CUlaunchConfig*, CUfunction kernel, void** parameters, void**) {
  if (octet_on_launch != nullptr) octet_on_launch(reinterpret_cast<const char*>(kernel), parameters[0]);
  OK;
}
ACCEPT cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                              const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                              const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                              CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  const cuuint64_t words[16] = {
      reinterpret_cast<cuuint64_t>(address), type, rank, sizes[0], sizes[1], strides[0], box[0], box[1], swizzle};
  return std::memcpy(map, words, sizeof words), CUDA_SUCCESS;
}
ACCEPT cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  return std::memcpy(map, &address, sizeof address), CUDA_SUCCESS;
}

ACCEPT cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  constexpr std::size_t kAlignment = 512;
  void* memory = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return memory == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
ACCEPT cuMemFree_v2(CUdeviceptr pointer) { return std::free(at(pointer)), CUDA_SUCCESS; }
ACCEPT cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  return std::memcpy(at(to), from, bytes), CUDA_SUCCESS;
}
ACCEPT cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return std::memcpy(to, at(from), bytes), CUDA_SUCCESS;
}
ACCEPT cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  return std::memmove(at(to), at(from), bytes), CUDA_SUCCESS;
}
ACCEPT cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  return std::memcpy(at(to), from, bytes), CUDA_SUCCESS;
}
ACCEPT cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream) {
  return std::memset(at(to), value, count), CUDA_SUCCESS;
}
ACCEPT cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream) {
  for (std::size_t i = 0; i < count; ++i) static_cast<unsigned*>(at(to))[i] = value;
  OK;
}

ACCEPT cuEventCreate(CUevent* event, unsigned) { return give(event), CUDA_SUCCESS; }
ACCEPT cuEventDestroy_v2(CUevent) { OK; }
ACCEPT cuEventRecord(CUevent, CUstream) { OK; }
ACCEPT cuEventSynchronize(CUevent) { OK; }
ACCEPT cuEventElapsedTime(float* milliseconds, CUevent, CUevent) { return *milliseconds = 1, CUDA_SUCCESS; }
ACCEPT cuEventElapsedTime_v2(float* milliseconds, CUevent, CUevent) { return *milliseconds = 1, CUDA_SUCCESS; }
ACCEPT cuGraphInstantiateWithFlags(CUgraphExec* graph, CUgraph, unsigned long long) {
  return give(graph), CUDA_SUCCESS;
}
ACCEPT cuGraphLaunch(CUgraphExec, CUstream) { OK; }
ACCEPT cuGraphExecDestroy(CUgraphExec) { OK; }
ACCEPT cuGraphDestroy(CUgraph) { OK; }
