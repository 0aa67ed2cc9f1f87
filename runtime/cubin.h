// What a cubin says of itself. Bytes are never trusted: a cubin may come from a damaged or a foreign cache.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

struct CubinFacts {
  int sm = 0;                          // 90
  std::string arch;                    // "sm_90a", as ptxas notes its own option; empty where it leaves no note
  std::string toolkit;                 // "13.0.88", likewise
  std::vector<std::string> functions;  // every function that is defined in it, entry points among them
};

// Empty when the bytes are not a whole cubin; `why` then says what is wrong.
std::optional<CubinFacts> read_cubin(std::string_view bytes, std::string* why = nullptr);

// Why these bytes are not a whole cubin for `arch` with a function `entry_name`; empty when they are.
std::string cubin_fault(std::string_view bytes, const std::string& arch, const std::string& entry_name);

}  // namespace octet
