#include "cache/toolchain.h"

#include "tests/support/catch.h"

namespace octet::cache {
namespace {

bool serves_text(const std::string& entry, const std::string& asked) {
  return serves(parse_toolchain(entry), parse_toolchain(asked));
}
bool newer_text(const std::string& x, const std::string& y) { return newer(parse_toolchain(x), parse_toolchain(y)); }

TEST_CASE("A toolchain serves where name, major and minor are the same") {
  CHECK(serves_text("nvrtc 13.0.88", "nvrtc 13.0"));
  CHECK(serves_text("nvrtc-13.0.88", "nvrtc 13.0"));
  CHECK(serves_text("nvrtc 13.0", "nvrtc 13.0"));
  CHECK(serves_text("nvrtc 13.0.88", "nvrtc 13.0.90"));
  CHECK(serves_text("nvrtc 13.0.88", "13.0"));
  CHECK_FALSE(serves_text("nvrtc 13.1.88", "nvrtc 13.0"));
  CHECK_FALSE(serves_text("nvrtc 12.0.88", "nvrtc 13.0"));
  CHECK_FALSE(serves_text("nvrtc 13.01.88", "nvrtc 13.10"));
  CHECK_FALSE(serves_text("nvrtc 1.3", "nvrtc 13"));
  CHECK_FALSE(serves_text("nvcc 13.0.88", "nvrtc 13.0"));
  CHECK_FALSE(serves_text("", "nvrtc 13.0"));
  CHECK_FALSE(serves_text("nvrtc", "nvrtc 13.0"));
  CHECK_FALSE(serves_text("nvrtc 13.x", "nvrtc 13.0"));
}

TEST_CASE("Toolchains are ordered by number, not by digit") {
  CHECK(newer_text("nvrtc 13.10.2", "nvrtc 13.9.88"));
  CHECK(newer_text("nvrtc 13.0.100", "nvrtc 13.0.88"));
  CHECK(newer_text("nvrtc 13.0.88", "nvrtc 12.9.86"));
  CHECK(newer_text("nvrtc 13.0.88", "nvrtc 13.0"));
  CHECK(newer_text("nvrtc 1.0", "unknown"));
  CHECK_FALSE(newer_text("nvrtc 13.0.88", "nvrtc 13.0.88"));
  CHECK_FALSE(newer_text("nvrtc 99999999999999999999.0", "nvrtc 13.0"));  // no number of ours: a name
}

TEST_CASE("A toolchain's text becomes a file name") {
  CHECK(file_safe("nvrtc 13.0.88") == "nvrtc-13.0.88");
  CHECK(file_safe("../a/b\n\xc3\xa9*") == "..-a-b----");
}

}  // namespace
}  // namespace octet::cache
