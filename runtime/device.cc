#include "octet/device.h"

#include <algorithm>

#include <fmt/format.h>

#include "octet/error.h"
#include "runtime/words.h"

namespace octet {
namespace {

// Compute capabilities that NVRTC 13 knows. Those that no kernel of ours targets are told apart from nonsense.
constexpr int kRealArchs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
constexpr int kSmallestWithVariants = 90;  // sm_90a; from sm_100 on also "f"

// "SM_90A", "sm90a", "compute_90a", "9.0a" and "90a" are all "90a".
std::string bare(std::string_view arch) {
  std::string digits;
  for (const char c : arch) {
    if (c >= 'A' && c <= 'Z') {
      digits += static_cast<char>(c - 'A' + 'a');
    } else if (c != '_' && c != '.') {
      digits += c;
    }
  }
  for (const std::string_view prefix : {"sm", "compute"}) {
    if (digits.rfind(prefix, 0) == 0) return digits.substr(prefix.size());
  }
  return digits;
}

bool is_real(const std::string& text) {
  return std::any_of(std::begin(kRealArchs), std::end(kRealArchs), [&](int arch) {
    const std::string number = fmt::format("{}", arch);
    return text == number || (arch >= kSmallestWithVariants && text == number + "a") ||
           (arch > kSmallestWithVariants && text == number + "f");
  });
}

}  // namespace

DeviceFacts DeviceFacts::for_arch(std::string_view arch) {
  if (arch == "sm_90a") return {};  // the members' defaults are an H200's facts
  const std::string number = bare(arch);
  if (number == "90" || number == "90a") {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("arch {}: write sm_90a; wgmma and setmaxnreg exist only in that target", quoted(arch)));
  }
  if (is_real(number)) {
    throw Error(ErrorCode::no_kernel,
                fmt::format("arch {}: no kernel exists for it yet; the archs with kernels are: sm_90a", quoted(arch)));
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("unknown arch {}; the archs with kernels are: sm_90a", quoted(arch)));
}

}  // namespace octet
