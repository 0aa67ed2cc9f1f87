// Properties over random problems that use the whole grammar. The generator fills fields, not text, so that it shares
// nothing with the parser.
#include <algorithm>
#include <random>
#include <set>
#include <sstream>
#include <unordered_map>

#include "octet/problem.h"
#include "octet/spec.h"
#include "tests/support/catch.h"

namespace {

using octet::Problem;

class RandomProblems {
 public:
  Problem next() {
    Problem p;
    p.op = pick<octet::Operation>(6);
    p.layout = pick<octet::Layout>(5);
    for (auto* size : {&p.g, &p.n, &p.k, &p.c, &p.m, &p.al}) *size = maybe() ? size_() : 0;
    for (auto* recipe : {&p.a, &p.b, &p.out}) {
      if (maybe()) *recipe = recipe_();
    }
    for (auto* type : {&p.in, &p.d}) {
      if (maybe()) *type = pick<octet::DType>(5);
    }
    p.act = pick<octet::Activation>(14);
    p.gate_second = maybe();
    p.il = maybe() ? static_cast<std::int32_t>(size_()) : 0;
    p.dir = pick<octet::Direction>(3);
    p.from = pick<octet::Packing>(3);
    p.to = pick<octet::Packing>(3);
    p.splits = {maybe(), pick<octet::SplitsForm>(3)};
    p.weights_by_pointer = maybe();
    p.flags = maybe() ? 0 : std::uniform_int_distribution<std::uint32_t>(0, (1u << 10) - 1)(random_);
    return p;
  }
  std::mt19937& random() { return random_; }

 private:
  template <typename Enum>
  Enum pick(int count) {
    return static_cast<Enum>(std::uniform_int_distribution<int>(0, count - 1)(random_));
  }
  bool maybe() { return pick<int>(2) == 1; }
  std::int64_t size_() {
    const int bits = std::uniform_int_distribution<int>(1, 31)(random_);
    return std::uniform_int_distribution<std::int64_t>(1, (std::int64_t{1} << bits) - 1)(random_);
  }
  octet::Recipe recipe_() {
    return {pick<octet::DType>(5), pick<octet::Granularity>(6), maybe(), pick<octet::ScaleLayout>(10)};
  }
  std::mt19937 random_{20240817};
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool is_identifier(const std::string& name) {
  return !name.empty() && (name[0] < '0' || name[0] > '9') && std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

}  // namespace

TEST_CASE("every problem survives a round trip through its text") {
  RandomProblems problems;
  for (int i = 0; i < 20000; ++i) {
    const Problem problem = problems.next();
    const std::string text = problem.to_string();
    INFO(text);
    const Problem back = Problem::parse(text);
    REQUIRE(back == problem);
    REQUIRE(hash_value(back) == hash_value(problem));
    REQUIRE(back.to_string() == text);
  }
}

TEST_CASE("the order of items never matters") {
  RandomProblems problems;
  for (int i = 0; i < 5000; ++i) {
    const Problem problem = problems.next();
    std::vector<std::string> words = words_of(problem.to_string());
    std::shuffle(words.begin() + 1, words.end(), problems.random());
    std::string shuffled;
    for (const std::string& word : words) shuffled += word + "  ";
    INFO(shuffled);
    REQUIRE(Problem::parse(shuffled) == problem);
  }
}

TEST_CASE("equal text, equal spec name and equal problem are one and the same") {
  RandomProblems problems;
  std::unordered_map<std::string, std::string> text_of_name;
  std::set<std::size_t> hashes;
  for (int i = 0; i < 20000; ++i) {
    const Problem problem = problems.next();
    const std::string name = octet::Spec{problem, octet::GemmConfig{}, "sm_90a"}.name();
    REQUIRE(is_identifier(name));
    const auto [at, added] = text_of_name.emplace(name, problem.to_string());
    REQUIRE(at->second == problem.to_string());
    if (added) hashes.insert(hash_value(problem));
  }
  CHECK(hashes.size() == text_of_name.size());  // 20,000 values in 64 bits: a collision is a defect of the hash
}
