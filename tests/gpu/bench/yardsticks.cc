#include "tests/gpu/bench/yardsticks.h"

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/gpu/bench/cublaslt.h"

namespace octet::bench {
namespace {

double copy_gbps(const Timer& timer) {
  constexpr std::size_t kBytes = std::size_t{4} << 30;
  const test::Buffer from(kBytes), to(kBytes);
  const double us = timer.median_us([&] {
    check(Driver::get().cuMemcpyDtoDAsync(to.address(), from.address(), kBytes, timer.stream()), "cuMemcpyDtoDAsync");
  });
  return 2.0 * static_cast<double>(kBytes) / us / 1e3;
}

void require(int status, const char* call) {
  if (status != 0) throw std::runtime_error(fmt::format("{} returned status {}", call, status));
}

// D = A^T * B in the library's column-major terms: both operands K-contiguous, as FP8 needs on Hopper.
class Fp8Matmul {
 public:
  Fp8Matmul(const lt::Api& api, std::int64_t size, const Operands& operands)
      : api_(api),
        a_(operands.a_codes(static_cast<std::size_t>(size * size))),
        b_(operands.b_codes(static_cast<std::size_t>(size * size))),
        d_(static_cast<std::size_t>(size * size * 2)),
        scale_(std::vector<float>{0.005F}),
        workspace_(kWorkspaceBytes) {
    const auto extent = static_cast<std::uint64_t>(size);
    require(api.create(&handle_), "cublasLtCreate");
    require(api.desc_create(&desc_, lt::kCompute32F, lt::kF32), "cublasLtMatmulDescCreate");
    set(lt::kTransA, lt::kTransposed);
    set(lt::kTransB, lt::kNotTransposed);
    set(lt::kScalePointerA, scale_.at());
    set(lt::kScalePointerB, scale_.at());
    require(api.layout_create(&operand_layout_, lt::kE4m3, extent, extent, size), "cublasLtMatrixLayoutCreate");
    require(api.layout_create(&result_layout_, lt::kBf16, extent, extent, size), "cublasLtMatrixLayoutCreate");
    choose();
  }
  ~Fp8Matmul() {
    api_.layout_destroy(result_layout_);
    api_.layout_destroy(operand_layout_);
    api_.desc_destroy(desc_);
    api_.destroy(handle_);
  }
  Fp8Matmul(const Fp8Matmul&) = delete;
  Fp8Matmul& operator=(const Fp8Matmul&) = delete;

  void launch(CUstream stream) const {
    const float alpha = 1, beta = 0;
    require(api_.matmul(handle_, desc_, &alpha, a_.at(), operand_layout_, b_.at(), operand_layout_, &beta, d_.at(),
                        result_layout_, d_.at(), result_layout_, &chosen_.algorithm, workspace_.at(), kWorkspaceBytes,
                        stream),
            "cublasLtMatmul");
  }

 private:
  static constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

  template <typename Value>
  void set(lt::DescAttribute attribute, Value value) {
    require(api_.desc_set(desc_, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }

  void choose() {
    lt::Preference preference = nullptr;
    require(api_.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    require(api_.preference_set(preference, lt::kMaxWorkspaceBytes, &kWorkspaceBytes, sizeof kWorkspaceBytes),
            "cublasLtMatmulPreferenceSetAttribute");
    int found = 0;
    const int status = api_.heuristic(handle_, desc_, operand_layout_, operand_layout_, result_layout_, result_layout_,
                                      preference, 1, &chosen_, &found);
    api_.preference_destroy(preference);
    require(status, "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) throw std::runtime_error("cublasLtMatmulAlgoGetHeuristic found no algorithm");
  }

  const lt::Api& api_;
  test::Buffer a_, b_, d_, scale_, workspace_;
  lt::Handle handle_ = nullptr;
  lt::MatmulDesc desc_ = nullptr;
  lt::MatrixLayout operand_layout_ = nullptr, result_layout_ = nullptr;
  lt::HeuristicResult chosen_ = {};
};

std::optional<double> cublaslt_tflops(const Timer& timer, const Operands& operands) {
  std::string searched;
  const std::unique_ptr<lt::Api> api = lt::Api::open(&searched);
  if (!api) {
    std::fputs(fmt::format("no libcublasLt; tried {}; set OCTET_CUBLASLT_LIBRARY to its path\n", searched).c_str(),
               stderr);
    return std::nullopt;
  }
  constexpr std::int64_t kSize = 8192;
  const Fp8Matmul matmul(*api, kSize, operands);
  const double us = timer.median_us([&] { matmul.launch(timer.stream()); });
  return 2.0 * kSize * kSize * kSize / us / 1e6;
}

}  // namespace

Yardsticks measure_yardsticks(const Timer& timer, const Operands& operands) {
  return {copy_gbps(timer), cublaslt_tflops(timer, operands)};
}

}  // namespace octet::bench
