// The cubin checker, over files that the test puts together by the ELF specification: no compiler is involved.
#include "runtime/cubin.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/cubin_image.h"

namespace {

using octet::cubin_fault;
using octet::CubinFacts;
using octet::read_cubin;
using octet::test::flags_12_sm_90;
using octet::test::make_cubin;
using octet::test::note;
using Parts = octet::test::CubinParts;

}  // namespace

TEST_CASE("cubin: a whole one tells its SM, arch, toolkit and functions") {
  const auto facts = read_cubin(make_cubin());
  REQUIRE(facts.has_value());
  CHECK(facts->sm == 90);
  CHECK(facts->arch == "sm_90a");
  CHECK(facts->toolkit == "13.0.88");
  CHECK(facts->functions == std::vector<std::string>{"kernel"});
  CHECK(cubin_fault(make_cubin(), "sm_90a", "kernel").empty());
}

TEST_CASE("cubin: one of CUDA 12 keeps the SM elsewhere and has no note") {
  Parts parts;
  parts.flags = flags_12_sm_90;
  parts.abi_version = 7;
  parts.note_text = "";
  const auto facts = read_cubin(make_cubin(parts));
  REQUIRE(facts.has_value());
  CHECK(facts->sm == 90);
  CHECK(facts->arch.empty());
  CHECK(facts->toolkit.empty());
  CHECK(cubin_fault(make_cubin(parts), "sm_90a", "kernel").empty());
}

TEST_CASE("D02: no prefix of a cubin passes") {
  const std::string whole = make_cubin();
  CHECK(cubin_fault("", "sm_90a", "kernel") == "is empty");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    INFO(size);
    CHECK_FALSE(cubin_fault(whole.substr(0, size), "sm_90a", "kernel").empty());
  }
  CHECK(cubin_fault(whole.substr(0, whole.size() - 1), "sm_90a", "kernel") == "is truncated");
}

TEST_CASE("cubin: what is not one is refused with the reason") {
  CHECK(cubin_fault("<html>not found</html>", "sm_90a", "kernel") == "does not start as an ELF file");
  Parts host;
  host.machine = EM_X86_64;
  CHECK(cubin_fault(make_cubin(host), "sm_90a", "kernel") == "is an ELF file of another machine than CUDA");
}

TEST_CASE("D13: a cubin for another SM is refused") {
  Parts parts;
  parts.flags = 0x06006402;  // sm_100a of NVRTC 13.0.88
  parts.note_text = "";
  CHECK(cubin_fault(make_cubin(parts), "sm_90a", "kernel") == "is for sm_100, not for sm_90a");
  CHECK(cubin_fault(make_cubin(parts), "sm_100a", "kernel").empty());
  CHECK(cubin_fault(make_cubin(), "sm90", "kernel") == "is for sm_90a, not for sm90");
  CHECK(cubin_fault(make_cubin(), "", "kernel") == "is for sm_90, not for ");
}

TEST_CASE("D15: a cubin for sm_90 is refused where sm_90a is wanted") {
  Parts parts;
  parts.note_text = note("sm_90");
  CHECK(cubin_fault(make_cubin(parts), "sm_90a", "kernel") == "is for sm_90, not for sm_90a");
}

TEST_CASE("cubin: the entry point must be defined in it under its whole name") {
  CHECK(cubin_fault(make_cubin(), "sm_90a", "kern") == "has no function kern");
  CHECK(cubin_fault(make_cubin(), "sm_90a", "kernel2") == "has no function kernel2");
  Parts declared;
  declared.function_section = SHN_UNDEF;
  CHECK(cubin_fault(make_cubin(declared), "sm_90a", "kernel") == "has no function kernel");
}

TEST_CASE("cubin: damage in any byte is no crash") {
  const std::string whole = make_cubin();
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[i] = value;
      if (!cubin_fault(damaged, "sm_90a", "kernel").empty()) ++refused;
    }
  }
  CHECK(refused > 100);  // the rest is bytes that the checker has no business with
}
