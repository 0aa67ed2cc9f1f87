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

// What a block may use, with the multiprocessors of the arch's reference part.
struct Part {
  const char* number;
  int sm_count, shared_memory_per_block, shared_memory_per_sm;
};
constexpr int kKiB = 1024;
constexpr Part kParts[] = {
    {"90a", 132, 227 * kKiB, 228 * kKiB},  // H200
    {"90", 132, 227 * kKiB, 228 * kKiB},
    {"89", 142, 99 * kKiB, 100 * kKiB},     // L40S; the first arch that multiplies FP8
    {"100a", 148, 227 * kKiB, 228 * kKiB},  // B200
    {"100", 148, 227 * kKiB, 228 * kKiB},
    {"103a", 148, 227 * kKiB, 228 * kKiB},  // B300
    {"103", 148, 227 * kKiB, 228 * kKiB},
    {"120a", 188, 99 * kKiB, 100 * kKiB},  // RTX PRO 6000
    {"120", 188, 99 * kKiB, 100 * kKiB},
    {"121a", 48, 99 * kKiB, 100 * kKiB},  // GB10
    {"121", 48, 99 * kKiB, 100 * kKiB},
};

const Part* find_part(const std::string& number) {
  const auto found =
      std::find_if(std::begin(kParts), std::end(kParts), [&](const Part& part) { return number == part.number; });
  return found == std::end(kParts) ? nullptr : found;
}

std::string known_archs() {
  std::string names;
  for (const Part& part : kParts) names += fmt::format("{}sm_{}", names.empty() ? "" : ", ", part.number);
  return names;
}

}  // namespace

DeviceFacts DeviceFacts::for_arch(std::string_view arch) {
  const std::string number = bare(arch);
  const Part* part = find_part(number);
  if (part != nullptr && arch == "sm_" + number) {
    DeviceFacts facts;
    facts.arch = arch;
    facts.sm_count = part->sm_count;
    facts.shared_memory_per_block = part->shared_memory_per_block;
    facts.shared_memory_per_sm = part->shared_memory_per_sm;
    return facts;
  }
  if (number == "90" || number == "90a") {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("arch {}: write sm_90a; wgmma and setmaxnreg exist only in that target", quoted(arch)));
  }
  if (part != nullptr) {
    throw Error(ErrorCode::invalid_argument, fmt::format("arch {}: write sm_{}", quoted(arch), number));
  }
  if (is_real(number)) {
    throw Error(ErrorCode::no_kernel,
                fmt::format("arch {}: no kernel exists for it yet; the archs with kernels are: {}", quoted(arch),
                            known_archs()));
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("unknown arch {}; the archs with kernels are: {}", quoted(arch), known_archs()));
}

}  // namespace octet
