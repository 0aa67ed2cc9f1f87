// parse_resources, over reports as ptxas 13.0.88 and 12.3 wrote them.
#include "runtime/resources.h"

#include "tests/support/catch.h"

namespace {

const char* const two_kernels = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'second' for 'sm_90a'
ptxas info    : Function properties for second
ptxas         .     4912 bytes stack frame, 4660 bytes spill stores, 6068 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 4912 bytes cumulative stack size
ptxas info    : Compile time = 337.237 ms
ptxas info    : Compiling entry function 'first' for 'sm_90a'
ptxas info    : Function properties for first
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, used 1 barriers, 400 bytes smem, 16 bytes cmem[0]
ptxas info    : Compile time = 6.501 ms
)";

}  // namespace

TEST_CASE("resources: the named entry point's report is read, whatever its place") {
  const octet::Resources first = octet::parse_resources(two_kernels, "first");
  CHECK(first.registers == 30);
  CHECK(first.static_shared_bytes == 400);
  CHECK(first.barriers == 1);
  CHECK(first.stack_bytes == 0);
  CHECK(first.spill_store_bytes == 0);
  CHECK(first.spill_load_bytes == 0);
  CHECK_FALSE(first.wgmma_serialized);

  const octet::Resources second = octet::parse_resources(two_kernels, "second");
  CHECK(second.registers == 32);
  CHECK(second.static_shared_bytes == 0);
  CHECK(second.stack_bytes == 4912);
  CHECK(second.spill_store_bytes == 4660);
  CHECK(second.spill_load_bytes == 6068);
}

TEST_CASE("resources: a name that is a prefix of the entry point's is another function") {
  CHECK(octet::parse_resources(two_kernels, "firs").registers == 0);
}

TEST_CASE("resources: of the main entry point and its passes, the largest of each figure") {
  const auto report = [](const std::string& name, int stack, int spills, int registers, int shared) {
    return "ptxas info    : Compiling entry function '" + name + "' for 'sm_90a'\n" +
           "ptxas info    : Function properties for " + name + "\nptxas         .     " + std::to_string(stack) +
           " bytes stack frame, " + std::to_string(spills) + " bytes spill stores, " + std::to_string(spills + 4) +
           " bytes spill loads\nptxas info    : Used " + std::to_string(registers) + " registers, used 1 barriers, " +
           std::to_string(shared) + " bytes smem\n";
  };
  const std::string main = report("k__sm90a", 0, 0, 60, 2048), amax = report("k__sm90a_amax", 16, 8, 64, 512),
                    other = report("k__sm90ab", 999, 999, 255, 9999);
  for (const std::string& log : {main + amax + other, other + amax + main, amax + other + main}) {
    const octet::Resources resources = octet::parse_resources(log, "k__sm90a");
    CHECK(resources.registers == 64);
    CHECK(resources.static_shared_bytes == 2048);
    CHECK(resources.stack_bytes == 16);
    CHECK(resources.spill_store_bytes == 8);
    CHECK(resources.spill_load_bytes == 12);
  }
  CHECK(octet::parse_resources(main + amax, "k__sm90a_amax").registers == 64);
  CHECK(octet::parse_resources(amax, "k__sm90a").spill_store_bytes == 8);
}

TEST_CASE("resources: the report of CUDA 12.3") {
  const octet::Resources resources = octet::parse_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "ptxas         .     0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 12 registers, 400 bytes smem\n",
      "k");
  CHECK(resources.registers == 12);
  CHECK(resources.static_shared_bytes == 400);
  CHECK(resources.spill_store_bytes == 8);
  CHECK(resources.spill_load_bytes == 12);
}

TEST_CASE("resources: a called function's stack counts through the cumulative size, its spills do not") {
  const std::string called =
      "ptxas info    : Function properties for _Z1fPf\n"
      "ptxas         .     24 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n";
  const std::string own =
      "ptxas info    : Function properties for k\n"
      "ptxas         .     16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
  const std::string used = "ptxas info    : Used 30 registers, used 0 barriers, 40 bytes cumulative stack size\n";
  const std::string compiling = "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n";
  for (const std::string& log : {compiling + own + used + called, compiling + own + called + used}) {
    const octet::Resources resources = octet::parse_resources(log, "k");
    CHECK(resources.registers == 30);
    CHECK(resources.stack_bytes == 40);
    CHECK(resources.spill_store_bytes == 0);
    CHECK(resources.spill_load_bytes == 0);
  }
}

TEST_CASE("resources: serialized wgmma is told from waits that ptxas injects") {
  CHECK(octet::parse_resources(
            "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
            "wgmma pipeline crossing function boundary at a function call in the function 'k'\n",
            "k")
            .wgmma_serialized);
  CHECK_FALSE(octet::parse_resources(
                  "ptxas info    : (C7517) warpgroup.wait is injected in around line 43 by compiler to allow use of "
                  "registers defined by GMMA in function 'k'\n",
                  "k")
                  .wgmma_serialized);
}

TEST_CASE("resources: no report, no resources; a cut line is no crash") {
  CHECK(octet::parse_resources("", "k").registers == 0);
  const std::string log = two_kernels;
  for (std::size_t size = 0; size < log.size(); ++size)
    CHECK(octet::parse_resources(log.substr(0, size), "first").registers <= 30);
}
