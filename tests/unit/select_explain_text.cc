#include <sstream>
#include <string>

#include "octet/explain.h"
#include "tests/support/catch.h"

namespace {

using octet::Problem;

const std::string kPair = " a=e4m3:1x128 b=e4m3:128x128 d=bf16";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("an explanation's text shows the problem, every candidate, the choice and where it changes") {
  const octet::Explanation explanation = octet::explain(Problem::parse("gemm.packed g8 n248 k2048" + kPair), {}, 300);
  const std::string text = to_text(explanation);
  INFO(text);
  CHECK(has(text, "problem   gemm.packed g8 n248 k2048" + kPair + "\n"));
  CHECK(has(text, "arch      sm_90a, 132 multiprocessors\n"));
  CHECK(has(text, "expected  300 rows per group\n"));
  for (const octet::Candidate& candidate : explanation.candidates) {
    CHECK(has(text, to_string(candidate.spec.config)));
    if (candidate.refused) CHECK(has(text, "  " + candidate.refused->message + "\n      "));
  }
  const octet::Spec& chosen = explanation.candidates[static_cast<std::size_t>(explanation.chosen)].spec;
  CHECK(has(text, "  * " + to_string(chosen.config)));
  CHECK(has(text, "chosen    " + chosen.name()));
  CHECK(has(text, "  from     1  "));
}

TEST_CASE("what removed many candidates is said once, in short lines, behind those that are left") {
  const std::string text =
      to_text(octet::explain(Problem::parse("gemm.packed g8 n4096 k7168 a=e4m3:1x32 b=e4m3:32x32 d=bf16")));
  INFO(text);
  const std::string message = "  a=e4m3:1x32 b=e4m3:32x32: not with wgmma yet (rule gemm.wgmma-scales); use an mx ";
  const auto at = text.find(message);
  REQUIRE(at != std::string::npos);
  CHECK(text.find(message, at + 1) == std::string::npos);
  CHECK(text.find("removed\n") < at);
  CHECK(text.find("us estimated\n") < at);
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    if (line.rfind("      ", 0) == 0) CHECK(line.size() <= 100);
  }
  CHECK(count < 48);
}

TEST_CASE("a refused problem's text says so and has no candidates") {
  const octet::Explanation explanation = octet::explain(Problem::parse("gemm.packed g8 n7168 k7100" + kPair));
  const std::string text = to_text(explanation);
  CHECK(has(text, "refused   K=7100: not a multiple of 16 (rule gemm.k-multiple-of-16); pad K to 7104\n"));
  CHECK(has(text, "expected  not said, counts as 4096 rows per group\n"));
  CHECK_FALSE(has(text, "candidates"));
}

TEST_CASE("a problem that no config can do says that none is left") {
  octet::DeviceFacts small;
  small.shared_memory_per_block = 1024;
  const std::string text = to_text(octet::explain(Problem::parse("gemm.packed g8 n7168 k2048" + kPair), small));
  CHECK(has(text, "no candidate is left\n"));
  CHECK_FALSE(has(text, "chosen    "));
}
