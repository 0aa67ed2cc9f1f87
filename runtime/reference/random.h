// Numbers that depend on a seed and a counter alone: the same on every machine, in any order, from any thread. Only
// integers and powers of two, because the standard library's distributions differ between implementations.
#pragma once

#include <cstdint>

namespace octet::reference {

// The SplitMix64 sequence of this seed at position `index`.
constexpr std::uint64_t random_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// About normal with mean 0 and standard deviation 2/sqrt(3) = 1.15, within +-4: the sum of four uniform 16-bit numbers.
// Exact in f32.
constexpr float random_normal(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t word = random_word(seed, index);
  std::int32_t sum = -131070;  // four times the mean of one
  for (int lane = 0; lane < 4; ++lane) sum += static_cast<std::int32_t>((word >> (16 * lane)) & 0xFFFF);
  return static_cast<float>(sum) * 0x1p-15f;
}

// The magnitude of a block that shares a scale: a power of two in [2^-4, 2^3].
constexpr float random_magnitude(std::uint64_t seed, std::uint64_t block) {
  return static_cast<float>(1u << (random_word(~seed, block) >> 61)) * 0x1p-4f;
}

}  // namespace octet::reference
