// Random inputs. Every run draws a fresh seed; a failure prints it, and OCTET_TEST_SEED repeats it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace octet::test {

class Random {
 public:
  Random();
  explicit Random(std::uint64_t seed) : seed_(seed), engine_(seed) {}

  std::string note() const { return "OCTET_TEST_SEED=" + std::to_string(seed_); }
  std::int64_t integer(std::int64_t low, std::int64_t high) {  // both ends included
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine_); }
  float normal() { return normal_(engine_); }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(engine_); }

  // Finite e4m3 codes with the distribution that block-quantized normal data has.
  void fill_codes(std::uint8_t* to, std::size_t count);
  std::vector<std::uint8_t> codes(std::size_t count);
  std::vector<float> scales(std::size_t count);  // positive, spread over a factor of 4

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
  std::normal_distribution<float> normal_;
};

}  // namespace octet::test
