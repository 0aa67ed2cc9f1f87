// The grouped GEMM's public face: what it expects, and which kernel's launch it is.
#include <variant>

#include <fmt/format.h>

#include "octet/runtime.h"
#include "runtime/launch.h"
#include "runtime/mx_gemm.h"
#include "runtime/portable_gemm.h"
#include "runtime/wgmma_gemm.h"

namespace octet {

OperandLayout Gemm::a_layout() const {
  require_loaded(loaded_.get());
  return loaded_->a;
}

OperandLayout Gemm::b_layout() const {
  require_loaded(loaded_.get());
  return loaded_->b;
}

std::string status_text(const std::int32_t (&status)[4]) {
  const auto [code, group, value, limit] = status;
  switch (code) {
    case 0:
      return "";
    case 1:
      return fmt::format("splits[{}] is {}: no size is negative", group, value);
    case 2:
      return fmt::format("splits[{}] is {}, past the {} rows of the buffers (capacity, or max_m of masked)", group,
                         value, limit);
    case 3:
      return fmt::format("splits[{}] is {}, before {}: ends and starts never go down, and groups start where they may",
                         group, value, limit);
    case 4:
      return fmt::format("splits[{}] lets its group end at row {}, past the {} rows of the buffers (capacity)", group,
                         value, limit);
    default:
      return fmt::format("splits[{}] lets its group end at row {}, no multiple of {}, as DeepGEMM's packing has them",
                         group, value, limit);
  }
}

void Gemm::launch(const GemmArgs& args, Stream stream) const {
  require_loaded(loaded_.get());
  const LoadedKernel& kernel = *loaded_;
  if (std::holds_alternative<PortableConfig>(kernel.spec.config)) return launch_portable(kernel, args, stream);
  if (std::holds_alternative<MxConfig>(kernel.spec.config)) return launch_mx(kernel, args, stream);
  launch_wgmma(kernel, args, stream);
}

}  // namespace octet
