#include "tests/gpu/random.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "octet/reference.h"

namespace octet::test {
namespace {

std::uint64_t fresh_seed() {
  const char* given = std::getenv("OCTET_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

// Drawing code by code would take longer than the kernels under test: blocks of this bank are copied instead.
const std::vector<std::uint8_t>& code_bank() {
  static const std::vector<std::uint8_t> bank = [] {
    constexpr std::size_t kCodes = std::size_t{1} << 20;
    constexpr float kDeviation = 166;  // 448 over the usual largest of 128 normal values
    std::mt19937_64 engine(fresh_seed());
    std::normal_distribution<float> normal(0, kDeviation);
    std::vector<std::uint8_t> codes(kCodes);
    for (std::uint8_t& code : codes) code = reference::to_fp8(normal(engine), DType::e4m3);
    return codes;
  }();
  return bank;
}

}  // namespace

Random::Random() : Random(fresh_seed()) {}

void Random::fill_codes(std::uint8_t* to, std::size_t count) {
  const std::vector<std::uint8_t>& bank = code_bank();
  constexpr std::size_t kPiece = 16411;  // odd, so that rows of equal length do not repeat
  for (std::size_t done = 0; done < count;) {
    const std::size_t piece = std::min(kPiece, count - done);
    const std::size_t start = static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(bank.size() - piece)));
    std::memcpy(to + done, bank.data() + start, piece);
    done += piece;
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
