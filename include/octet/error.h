// The one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>

#include "octet/export.h"

namespace octet {

enum class ErrorCode {
  invalid_problem,   // the problem string or value means nothing, or a rule refuses it
  no_kernel,         // the problem is legal but no kernel of this build can do it on this arch
  compile_failed,    // NVRTC refused the source; the message holds its whole log
  cache,             // the kernel cache could not be used as asked
  driver,            // libcuda is missing or a driver call failed
  not_prepared,      // a launch needs a kernel that `prepare` did not load
  invalid_argument,  // an argument of a call is wrong: null, misaligned, wrong layout, out of range
};

// The code's name as users see it, for example "invalid_problem". Static storage.
OCTET_API const char* to_string(ErrorCode code) noexcept;

// The message says what is wrong, what was got, and what to do next. When an Error is thrown nothing was
// launched and nothing was written.
class OCTET_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace octet
