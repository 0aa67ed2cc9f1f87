#include "octet/error.h"

namespace octet {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_problem:
      return "invalid_problem";
    case ErrorCode::no_kernel:
      return "no_kernel";
    case ErrorCode::compile_failed:
      return "compile_failed";
    case ErrorCode::cache:
      return "cache";
    case ErrorCode::driver:
      return "driver";
    case ErrorCode::not_prepared:
      return "not_prepared";
    case ErrorCode::invalid_argument:
      return "invalid_argument";
  }
  return "unknown";
}

}  // namespace octet
