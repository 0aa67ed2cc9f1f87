#include "runtime/launch.h"

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/layout.h"

namespace octet {
namespace {

constexpr std::int64_t kMaxCapacity = (std::int64_t{1} << 31) - 1024;

[[noreturn]] void refuse(const LoadedKernel& kernel, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", kernel.spec.problem.to_string(), what));
}

}  // namespace

void require_loaded(const LoadedKernel* kernel) {
  if (kernel == nullptr) {
    throw Error(ErrorCode::not_prepared, "launch of an empty kernel object; get one from Runtime::prepare");
  }
}

void require_pointer(const LoadedKernel& kernel, const char* name, const void* pointer, int alignment) {
  if (pointer == nullptr) refuse(kernel, fmt::format("{} is null; pass device memory", name));
  if (reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(alignment) != 0) {
    refuse(kernel,
           fmt::format("{} is {}, not a multiple of {} bytes; the copy engine needs that alignment, so copy the "
                       "tensor or start its slice elsewhere",
                       name, pointer, alignment));
  }
}

void require_layout(const LoadedKernel& kernel, const char* name, const OperandLayout& got,
                    const OperandLayout& wanted) {
  if (got == wanted) return;
  refuse(kernel,
         fmt::format("operand {} has layout {}, this kernel was specialized for {}; produce it with that layout "
                     "or prepare a kernel for yours",
                     name, to_string(got), to_string(wanted)));
}

void require_capacity(const LoadedKernel& kernel, std::int64_t capacity) {
  if (capacity >= 0 && capacity <= kMaxCapacity) return;
  refuse(kernel, fmt::format("capacity is {}; it must be in [0, {}]", capacity, kMaxCapacity));
}

void require_splits(const LoadedKernel& kernel, const void* splits) {
  require_pointer(kernel, "splits", splits, kernel.spec.problem.splits.is_i64 ? 8 : 4);
}

std::int64_t checked_capacity(const LoadedKernel& kernel, std::int64_t capacity) {
  const Problem& problem = kernel.spec.problem;
  if (problem.layout != Layout::uniform && problem.layout != Layout::masked) {
    require_capacity(kernel, capacity);
    return capacity;
  }
  const std::int64_t rows = buffer_rows(problem, capacity);
  if (capacity == 0 || capacity == rows) return rows;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: capacity is {}; {} groups fill their buffer, so pass 0 or {}", problem.to_string(),
                          capacity, to_string(problem.layout), rows));
}

}  // namespace octet
