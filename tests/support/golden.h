// Reads the vectors of tests/support/golden: lines of words, '#' starts a comment line.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "octet/recipe.h"
#include "tests/support/paths.h"

namespace octet::test {

using Words = std::vector<std::string>;

inline std::vector<Words> golden_lines(const std::string& name) {
  const std::string path = octet::test::source_path("tests/support/golden/" + std::string(name));
  std::ifstream file(path);
  std::vector<Words> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream stream(line);
    Words words;
    for (std::string word; stream >> word;) words.push_back(word);
    lines.push_back(words);
  }
  if (lines.empty()) throw std::runtime_error("no golden vectors in " + path);
  return lines;
}

inline std::uint64_t hex(const std::string& word) { return std::stoull(word, nullptr, 16); }
inline std::int64_t number(const std::string& word) { return std::stoll(word); }
inline DType dtype(const std::string& word) {
  for (DType type : {DType::bf16, DType::fp16, DType::f32, DType::e4m3, DType::e5m2})
    if (word == to_string(type)) return type;
  throw std::runtime_error("no type " + word);
}

// FNV-1a, 64 bits.
inline std::uint64_t digest(const void* data, std::size_t bytes) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001B3u;
  return hash;
}

}  // namespace octet::test
