// What a launch costs before any kernel of ours does anything.
#pragma once

#include <string>

#include "octet/runtime.h"
#include "runtime/driver.h"

namespace octet::bench {

// A kernel that takes as many parameters as a grouped GEMM and does nothing, on every multiprocessor of an H200.
class EmptyKernel {
 public:
  explicit EmptyKernel(const Options& options);
  ~EmptyKernel();
  EmptyKernel(const EmptyKernel&) = delete;
  EmptyKernel& operator=(const EmptyKernel&) = delete;

  void launch(CUstream stream);

 private:
  std::string cubin_;
  CUlibrary library_ = nullptr;
  CUfunction function_ = nullptr;
  char parameter_[576] = {};
};

}  // namespace octet::bench
