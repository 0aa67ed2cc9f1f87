#include "tests/gpu/random.h"

#include <cstdlib>

#include "octet/reference.h"

namespace octet::test {
namespace {

std::uint64_t fresh_seed() {
  const char* given = std::getenv("OCTET_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

// Codes of normal values, one for each 16-bit number: a code is then a table look-up of a quarter of a draw, and every
// one is independent of the others. Copying pieces of a bank instead would let a row of A equal a row of B, and that
// one product outweigh all others of a sample.
const std::vector<std::uint8_t>& code_table() {
  static const std::vector<std::uint8_t> table = [] {
    constexpr std::size_t kEntries = std::size_t{1} << 16;
    constexpr float kDeviation = 166;  // 448 over the usual largest of 128 normal values
    std::mt19937_64 engine(1);         // which entry is drawn is what the run's seed decides
    std::normal_distribution<float> normal(0, kDeviation);
    std::vector<std::uint8_t> codes(kEntries);
    for (std::uint8_t& code : codes) code = reference::to_fp8(normal(engine), DType::e4m3);
    return codes;
  }();
  return table;
}

}  // namespace

Random::Random() : Random(fresh_seed()) {}

void Random::fill_codes(std::uint8_t* to, std::size_t count) {
  const std::vector<std::uint8_t>& table = code_table();
  for (std::size_t done = 0; done < count;) {
    std::uint64_t bits = engine_();
    for (int i = 0; i < 4 && done < count; ++i, bits >>= 16) to[done++] = table[bits & 0xffff];
  }
}

std::vector<std::uint8_t> Random::codes(std::size_t count) {
  std::vector<std::uint8_t> all(count);
  fill_codes(all.data(), count);
  return all;
}

std::vector<float> Random::scales(std::size_t count) {
  std::vector<float> all(count);
  for (float& scale : all) scale = uniform(0.005F, 0.02F);
  return all;
}

}  // namespace octet::test
