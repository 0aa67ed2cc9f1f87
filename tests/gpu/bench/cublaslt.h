// What the yardstick needs of cuBLASLt, opened at run time. Declared here, so that the benchmark builds where only
// cuda.h is; where the header is installed too, cublaslt.cc checks every value against it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <cuda.h>

namespace octet::bench::lt {

using Handle = struct Context*;
using MatmulDesc = struct MatmulDescOpaque*;
using MatrixLayout = struct MatrixLayoutOpaque*;
using Preference = struct PreferenceOpaque*;

enum DataType : int { kF32 = 0, kBf16 = 14, kE4m3 = 28 };  // cudaDataType
constexpr int kCompute32F = 68;
enum DescAttribute : int { kTransA = 3, kTransB = 4, kScalePointerA = 17, kScalePointerB = 18 };
constexpr int kTransposed = 1, kNotTransposed = 0;
constexpr int kMaxWorkspaceBytes = 1;  // preference attribute

struct Algorithm {
  std::uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

struct Api {
  // Empty when no libcublasLt was found; `searched` then says where.
  static std::unique_ptr<Api> open(std::string* searched);

  std::string path;
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*desc_create)(MatmulDesc*, int compute, int scale_type) = nullptr;
  int (*desc_destroy)(MatmulDesc) = nullptr;
  int (*desc_set)(MatmulDesc, int attribute, const void*, std::size_t) = nullptr;
  int (*layout_create)(MatrixLayout*, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld) = nullptr;
  int (*layout_destroy)(MatrixLayout) = nullptr;
  int (*preference_create)(Preference*) = nullptr;
  int (*preference_destroy)(Preference) = nullptr;
  int (*preference_set)(Preference, int attribute, const void*, std::size_t) = nullptr;
  int (*heuristic)(Handle, MatmulDesc, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d, Preference,
                   int requested, HeuristicResult*, int* returned) = nullptr;
  int (*matmul)(Handle, MatmulDesc, const void* alpha, const void* a, MatrixLayout, const void* b, MatrixLayout,
                const void* beta, const void* c, MatrixLayout, void* d, MatrixLayout, const Algorithm*, void* workspace,
                std::size_t workspace_bytes, CUstream) = nullptr;
};

}  // namespace octet::bench::lt
