#include "tests/gpu/bench/operands.h"

#include <algorithm>
#include <vector>

#include "octet/reference.h"

namespace octet::bench {
namespace {

constexpr std::size_t kCodes = (std::size_t{64} << 20) - 59;
constexpr std::size_t kValues = (std::size_t{1} << 22) - 3;
constexpr std::size_t kScales = (std::size_t{1} << 20) - 3;

void fill(test::Buffer& to, const test::Buffer& bank) {
  for (std::size_t done = 0; done < to.bytes(); done += bank.bytes()) {
    const std::size_t piece = std::min(bank.bytes(), to.bytes() - done);
    check(Driver::get().cuMemcpyDtoDAsync(to.address(done), bank.address(), piece, nullptr), "cuMemcpyDtoDAsync");
  }
}

test::Buffer repeat(const test::Buffer& bank, std::size_t bytes) {
  test::Buffer all(bytes);
  fill(all, bank);
  return all;
}

std::vector<std::uint16_t> normal_values(test::Random& random) {
  std::vector<std::uint16_t> values(kValues);
  for (std::uint16_t& value : values) value = reference::to_bf16(random.normal());
  return values;
}

std::vector<float> small_scales(test::Random& random) {
  std::vector<float> scales(kScales);
  for (float& scale : scales) scale = random.uniform(0.001F, 0.01F);
  return scales;
}

std::vector<std::uint8_t> small_exponents(test::Random& random) {
  std::vector<std::uint8_t> exponents(kScales);
  for (std::uint8_t& exponent : exponents) exponent = static_cast<std::uint8_t>(random.integer(117, 120));
  return exponents;
}

}  // namespace

Operands::Operands(test::Random& random)
    : a_codes_(random.codes(kCodes)),
      b_codes_(random.codes(kCodes)),
      values_(normal_values(random)),
      scales_(small_scales(random)),
      e8m0_scales_(small_exponents(random)) {}

test::Buffer Operands::a_codes(std::size_t count) const { return repeat(a_codes_, count); }
test::Buffer Operands::b_codes(std::size_t count) const { return repeat(b_codes_, count); }
test::Buffer Operands::values(std::size_t count) const { return repeat(values_, count * sizeof(std::uint16_t)); }
test::Buffer Operands::scales(std::size_t count) const { return repeat(scales_, count * sizeof(float)); }
test::Buffer Operands::e8m0_scales(std::size_t count) const { return repeat(e8m0_scales_, count); }
// A bf16 is the upper half of the f32 next to it, whatever the lower half holds.
void Operands::fill_f32(test::Buffer& to) const { fill(to, values_); }

}  // namespace octet::bench
