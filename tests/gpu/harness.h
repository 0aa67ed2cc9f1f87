// What every GPU test starts from: the device, one Runtime with a cache of its own, and a few words for assertions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "octet/octet.h"
#include "tests/gpu/device.h"
#include "tests/gpu/random.h"

namespace octet::test {

// A directory that only this user can enter, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The base of GPU tests: TEST_CASE_METHOD(GpuTest, …).
class GpuTest {
 public:
  GpuTest() { use_device(); }

 protected:
  Random random;
};

// Shared by all tests, so that a spec is compiled once per run of the program.
Runtime& runtime();
// Options with this cache directory and nothing from the environment but the NVRTC library.
Options options_with_cache(const std::filesystem::path& directory);
// Compiles and loads on several threads.
std::vector<Gemm> prepare_all(const std::vector<Spec>& specs);

// The error that `call` throws; nothing when it returns.
template <typename Call>
std::optional<Error> error_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}
inline bool contains(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}
// "" when `call` threw Error{code} whose message holds every piece; else what was wrong.
template <typename Call>
std::string refusal_fault(Call&& call, ErrorCode code, const std::vector<std::string>& pieces) {
  const std::optional<Error> error = error_of(std::forward<Call>(call));
  if (!error) return "accepted";
  if (error->code() != code) return std::string("code ") + to_string(error->code()) + ": " + error->what();
  for (const std::string& piece : pieces) {
    if (!contains(error->what(), piece)) return "'" + piece + "' is not in: " + error->what();
  }
  return "";
}

}  // namespace octet::test
