// The groups, inputs and buffers of one emulated launch, and their comparison with the reference.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "octet/octet.h"

namespace emulator {

using octet::Layout;
using octet::Problem;
using Bytes = std::vector<std::uint8_t>;

// Uneven groups, some empty, that share no block and leave a tail.
inline std::vector<std::int64_t> sizes_of(const Problem& problem) {
  std::vector<std::int64_t> sizes = {131, 0, 1, 37, 128};
  sizes.resize(static_cast<std::size_t>(problem.g), 0);
  if (problem.layout == Layout::masked) {
    for (std::int64_t& size : sizes) size = std::min(size, problem.m);
  }
  return sizes;
}
inline octet::reference::GroupExtents extents_of(const Problem& problem) {
  if (problem.layout == Layout::uniform) return octet::reference::uniform_extents(problem.g, problem.n);
  if (problem.layout == Layout::masked) return octet::reference::masked_extents(sizes_of(problem), problem.m);
  return octet::reference::extents(sizes_of(problem), problem.al);
}
inline std::int64_t capacity_of(const Problem& problem, const octet::reference::GroupExtents& groups) {
  constexpr std::int64_t kTail = 5;
  const bool fixed = problem.layout == Layout::uniform || problem.layout == Layout::masked;
  if (problem.layout == Layout::dense) return groups.end.back();
  return fixed ? octet::buffer_rows(problem, 0) : groups.end.back() + kTail;
}

// The device's array of splits; `impossible`: values that go up and down.
struct SplitsArray {
  std::vector<std::int64_t> wide;
  std::vector<std::int32_t> narrow;
  const void* data = nullptr;

  SplitsArray(const Problem& problem, const octet::reference::GroupExtents& groups, std::int64_t capacity,
              bool impossible) {
    if (problem.layout == Layout::uniform || problem.layout == Layout::dense) return;
    wide = octet::reference::splits_array(groups, problem.splits.form);
    if (impossible) {
      for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = i % 2 == 0 ? capacity : 0;
    }
    narrow.assign(wide.begin(), wide.end());
    data = problem.splits.is_i64 ? static_cast<const void*>(wide.data()) : narrow.data();
  }
};

// NaN all over, with guards on both sides.
class Buffer {
 public:
  explicit Buffer(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes) + 2 * kGuard, 0xFF) {}
  std::uint8_t* data() { return bytes_.data() + kGuard; }
  float* floats() { return reinterpret_cast<float*>(data()); }
  std::size_t size() const { return bytes_.size() - 2 * kGuard; }
  bool guards_intact() const {
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (bytes_[i] != 0xFF || bytes_[bytes_.size() - 1 - i] != 0xFF) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 512;
  Bytes bytes_;
};

// Ordinary numbers of many magnitudes, with zeros, infinities and NaN among them.
inline Bytes elements(std::int64_t bytes, octet::DType type, std::mt19937& random, bool finite) {
  Bytes result(static_cast<std::size_t>(bytes));
  std::uniform_real_distribution<float> uniform(-1, 1);
  const auto draw = [&] {
    const unsigned kind = random() % 400;
    if (!finite && kind == 0) return std::nanf("");
    if (!finite && kind == 1) return INFINITY;
    return kind == 2 ? 0.0f : std::ldexp(uniform(random), static_cast<int>(random() % 9) - 4);
  };
  const auto size = static_cast<std::size_t>(octet::size_bytes(type));
  for (std::size_t at = 0; at + size <= result.size(); at += size) {
    const float value = draw();
    const std::uint16_t bf16 = octet::reference::to_bf16(value);
    std::memcpy(result.data() + at, size == 4 ? static_cast<const void*>(&value) : &bf16, size);
  }
  return result;
}

class Verdict {
 public:
  void guards(const char* name, const Buffer& buffer) {
    if (!buffer.guards_intact()) fail("wrote outside", name);
  }
  void equal(const char* name, Buffer& got, Buffer& wanted) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got.data()[i] == wanted.data()[i]) continue;
      std::printf("%s byte %zu: %#04x instead of %#04x\n", name, i, got.data()[i], wanted.data()[i]);
      return fail("differs:", name);
    }
  }
  // Values of sums and of activations, whose last bits depend on the order and on the functions used.
  void close(const char* name, Buffer& got, Buffer& wanted, octet::DType type, double tolerance) {
    const auto size = static_cast<std::size_t>(octet::size_bytes(type));
    for (std::size_t at = 0; at + size <= got.size(); at += size) {
      const double x = value(got.data() + at, size), y = value(wanted.data() + at, size);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (std::abs(x - y) <= tolerance * (1 + std::abs(y))) continue;
      std::printf("%s element %zu: %g instead of %g\n", name, at / size, x, y);
      return fail("differs:", name);
    }
  }
  int status() const { return failed_ ? 1 : 0; }

 private:
  static double value(const std::uint8_t* bytes, std::size_t size) {
    float wide;
    std::uint16_t bf16;
    if (size == 4) return std::memcpy(&wide, bytes, 4), wide;
    return std::memcpy(&bf16, bytes, 2), octet::reference::from_bf16(bf16);
  }
  void fail(const char* what, const char* name) {
    std::printf("%s %s\n", what, name);
    failed_ = true;
  }
  bool failed_ = false;
};

}  // namespace emulator
