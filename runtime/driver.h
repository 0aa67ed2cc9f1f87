// libcuda.so.1, opened at run time. Nothing of CUDA is linked.
#pragma once

#include <string>

#include <cuda.h>

#include "octet/error.h"
#include "runtime/dynamic_library.h"

namespace octet {

// The driver functions that we call. X-macro: OCTET_DRIVER_FUNCTIONS(X) with the names of cuda.h. The header maps many
// of them to a versioned symbol by macro (cuMemAlloc is cuMemAlloc_v2), and so do we, for member and symbol alike: the
// signature that decltype sees is the one that is called. All are in the driver of CUDA 12.0.
// clang-format off
#define OCTET_DRIVER_FUNCTIONS(X) \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) \
  X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) \
  X(cuDevicePrimaryCtxRelease) \
  X(cuCtxGetCurrent) X(cuCtxSetCurrent) X(cuCtxGetDevice) X(cuCtxPushCurrent) X(cuCtxPopCurrent) \
  X(cuCtxSynchronize) \
  X(cuStreamGetCtx) X(cuStreamIsCapturing) X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuThreadExchangeStreamCaptureMode) \
  X(cuLibraryLoadData) X(cuLibraryUnload) X(cuLibraryGetKernel) X(cuKernelGetFunction) X(cuKernelSetAttribute) \
  X(cuKernelGetAttribute) X(cuLaunchKernelEx) X(cuTensorMapEncodeTiled) X(cuTensorMapReplaceAddress) \
  X(cuMemAlloc) X(cuMemFree) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyDtoDAsync) X(cuMemsetD8Async) \
  X(cuMemsetD32Async) X(cuMemcpyHtoDAsync) \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventSynchronize) X(cuEventElapsedTime) \
  X(cuGraphInstantiate) X(cuGraphLaunch) X(cuGraphExecDestroy) X(cuGraphDestroy)
// clang-format on

struct Driver {
#define OCTET_DECLARE(name) decltype(&::name) name = nullptr;
  OCTET_DRIVER_FUNCTIONS(OCTET_DECLARE)
#undef OCTET_DECLARE

  int version = 0;   // of CUDA, as the driver supports it: 12040 is 12.4
  std::string path;  // of the library

  // Opens and initializes the driver once. Throws Error{driver}: "no CUDA driver" with what was tried, or the driver's
  // own refusal. A failure is not remembered. Thread-safe; a load and a branch once it has succeeded.
  static const Driver& get();
  // The same over any list of places, without sharing.
  static Driver open_from(const LibrarySearch& search);
};

// Where the driver's library is looked for.
LibrarySearch driver_search();

// Throws Error{driver} with the call, the error's name and text, and, where they can be the cause, the versions of the
// driver and of the CUDA headers that this library was built with.
void check(CUresult result, const char* call);

// Makes a context current for a scope and puts back the one that was there.
class ScopedContext {
 public:
  explicit ScopedContext(CUcontext context);
  ~ScopedContext();
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

 private:
  bool pushed_ = false;
};

}  // namespace octet
