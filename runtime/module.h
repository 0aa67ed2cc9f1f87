// Cubin -> kernel on a device, through the driver API.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "octet/runtime.h"
#include "runtime/quantize_traits.h"

namespace octet {

// A kernel loaded on one device. Immutable; unloaded when the last owner lets go.
struct LoadedKernel {
  Spec spec;
  int device = 0;
  CUcontext context = nullptr;  // current when it was loaded; launches into other contexts of the device work too
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  std::vector<Pass> pass_list;   // in launch order
  std::vector<CUkernel> passes;  // their entry points; `kernel` is among them
  int sm_count = 0;
  int threads = 0;        // per block
  int cluster = 1;        // blocks
  int blocks_per_sm = 1;  // persistent blocks that a multiprocessor holds
  int shared_bytes = 0;   // dynamic, per block
  OperandLayout a, b, out, out_col;

  LoadedKernel() = default;
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  ~LoadedKernel();
};

// The device and context that a call concerns.
struct Place {
  int device = 0;
  CUcontext context = nullptr;
};
// `device` < 0: the current context's device and that context, or device 0's primary context where none is current.
Place resolve_place(int device);

DeviceFacts query_device_facts(int device);

// Loads the cubin and every function of it now, so that no launch has to, also while this thread captures a stream.
// Throws Error{driver}; naming driver and toolkit when the driver is too old for the cubin.
std::shared_ptr<const LoadedKernel> load_kernel(const Built& built, const Place& place);

// Makes the context that the stream belongs to current for a scope: the default streams mean the current one, or the
// kernel's where there is none. Throws Error{not_prepared} when it is another device's.
class LaunchScope {
 public:
  LaunchScope(const LoadedKernel& kernel, Stream stream);
  ~LaunchScope();
  LaunchScope(const LaunchScope&) = delete;
  LaunchScope& operator=(const LaunchScope&) = delete;

 private:
  bool pushed_ = false;
};

// Sets 4-byte words to zero, in stream order; also under capture.
void zero_words(void* words, std::int64_t count, Stream stream);

// Launches `blocks` blocks of the kernel's main entry point, or of another one. Call it in a LaunchScope.
void launch_kernel(const LoadedKernel& kernel, std::int64_t blocks, void* params, Stream stream);
// `programmatic`: may start before what comes before it in the stream has ended (GemmArgs::programmatic).
void launch_pass(const LoadedKernel& kernel, CUkernel pass, std::int64_t blocks, void* params, Stream stream,
                 bool programmatic = false);

}  // namespace octet
