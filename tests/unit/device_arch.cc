#include "octet/device.h"

#include <string>

#include "octet/error.h"
#include "tests/support/catch.h"

namespace {

using octet::DeviceFacts;
using octet::Error;
using octet::ErrorCode;

Error refusal(const std::string& arch) {
  try {
    DeviceFacts::for_arch(arch);
  } catch (const Error& error) {
    return error;
  }
  FAIL("accepted: " << arch);
  return Error(ErrorCode::driver, "");
}

}  // namespace

TEST_CASE("sm_90a has an H200's facts") {
  const DeviceFacts facts = DeviceFacts::for_arch("sm_90a");
  CHECK(facts.arch == "sm_90a");
  CHECK(facts.sm_count == 132);
  CHECK(facts.shared_memory_per_block == 227 * 1024);  // CUDA C++ programming guide, compute capability 9.0
  CHECK(facts.shared_memory_per_sm == 228 * 1024);
  CHECK(facts.registers_per_sm == 64 * 1024);
}

TEST_CASE("every arch that multiplies FP8 with mma.sync has facts") {
  for (const char* arch : {"sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103", "sm_103a", "sm_120", "sm_120a",
                           "sm_121", "sm_121a"}) {
    INFO(arch);
    CHECK(DeviceFacts::for_arch(arch).arch == arch);
    CHECK(DeviceFacts::for_arch(arch).sm_count > 0);
  }
  // CUDA C++ programming guide, technical specifications per compute capability
  CHECK(DeviceFacts::for_arch("sm_89").shared_memory_per_block == 99 * 1024);
  CHECK(DeviceFacts::for_arch("sm_100a").shared_memory_per_block == 227 * 1024);
  CHECK(DeviceFacts::for_arch("sm_120a").shared_memory_per_sm == 100 * 1024);
}

TEST_CASE("near spellings of other archs are told how to write them") {
  for (const char* arch : {"89", "sm89", "8.9", "100a", "SM_100A", "compute_120", "12.0a"}) {
    INFO(arch);
    const Error error = refusal(arch);
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(std::string(error.what()).find(": write sm_") != std::string::npos);
  }
}

TEST_CASE("D15: near spellings of sm_90a are told how to write it") {
  for (const char* arch : {"90", "90a", "sm90", "sm90a", "SM_90A", "9.0", "compute_90a"}) {
    INFO(arch);
    const Error error = refusal(arch);
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(std::string(error.what()).find("'" + std::string(arch) + "': write sm_90a") != std::string::npos);
  }
}

TEST_CASE("D15: a real arch without kernels is told apart from an unknown one") {
  for (const char* arch : {"75", "sm_75", "80", "sm_86", "87", "sm_103f", "120f", "sm_110a"}) {
    INFO(arch);
    const Error error = refusal(arch);
    CHECK(error.code() == ErrorCode::no_kernel);
    CHECK(std::string(error.what()).find("no kernel exists for it yet") != std::string::npos);
    CHECK(std::string(error.what()).find("sm_90a") != std::string::npos);
  }
  for (const char* arch :
       {"", "sm_", "sm_91", "sm_90b", "sm_90f", "sm_75a", "hopper", "sm_90a ", "900", "gfx942", "\n"}) {
    INFO(arch);
    const Error error = refusal(arch);
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(std::string(error.what()).find("unknown arch '") == 0);
    CHECK(std::string(error.what()).find("sm_90a") != std::string::npos);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
  }
}

TEST_CASE("error codes have the names that users see") {
  CHECK(std::string(to_string(ErrorCode::invalid_problem)) == "invalid_problem");
  CHECK(std::string(to_string(ErrorCode::no_kernel)) == "no_kernel");
  CHECK(std::string(to_string(ErrorCode::compile_failed)) == "compile_failed");
  CHECK(std::string(to_string(ErrorCode::cache)) == "cache");
  CHECK(std::string(to_string(ErrorCode::driver)) == "driver");
  CHECK(std::string(to_string(ErrorCode::not_prepared)) == "not_prepared");
  CHECK(std::string(to_string(ErrorCode::invalid_argument)) == "invalid_argument");
}
