#include "octet/problem.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include <fmt/format.h>

#include "octet/plan_facts.h"
#include "runtime/item_makers.h"
#include "runtime/problem_items.h"
#include "runtime/words.h"

namespace octet {
namespace {

static_assert(std::is_trivially_copyable_v<Problem>, "warm dispatch copies and compares problems without the heap");

constexpr Word<Operation> kOperations[] = {{"gemm", Operation::gemm},         {"wgrad", Operation::wgrad},
                                           {"quantize", Operation::quantize}, {"dequantize", Operation::dequantize},
                                           {"convert", Operation::convert},   {"activation", Operation::activation}};

constexpr std::string_view kExample = "gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16";

void parse_head(std::string_view word, Problem& problem) {
  if (is_plan_text(word)) {
    throw Error(
        ErrorCode::invalid_problem,
        fmt::format("{} starts a plan, not a problem; octet plan '...' lists the problems of its steps", quoted(word)));
  }
  const std::size_t dot = word.find('.');
  problem.op = value_of(kOperations, "operation", word.substr(0, dot));
  if (dot == std::string_view::npos) {
    throw Error(ErrorCode::invalid_problem,
                fmt::format("{} has no layout; write <operation>.<layout>, for example {}.packed", quoted(word), word));
  }
  problem.layout = value_of(kLayouts, "layout", word.substr(dot + 1));
}

// A mixer in the manner of a multiplicative hash: every input bit reaches the high and the low bits.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 32);
}

std::uint64_t bits(const std::optional<Recipe>& recipe) noexcept {
  if (!recipe) return 0;
  return 1u | static_cast<std::uint64_t>(recipe->type) << 1 | static_cast<std::uint64_t>(recipe->granularity) << 8 |
         static_cast<std::uint64_t>(recipe->scale_layout) << 16 |
         static_cast<std::uint64_t>(recipe->power_of_two) << 24;
}

std::uint64_t bits(const std::optional<DType>& type) noexcept {
  return type ? 1u + static_cast<std::uint64_t>(*type) : 0u;
}

}  // namespace

const char* to_string(Operation op) noexcept { return text_of(kOperations, op); }
const char* to_string(Layout layout) noexcept { return text_of(kLayouts, layout); }

bool names_operation(std::string_view word) noexcept {
  const std::string_view name = word.substr(0, word.find('.'));
  return std::any_of(std::begin(kOperations), std::end(kOperations),
                     [name](const Word<Operation>& known) { return name == known.text; });
}

Problem Problem::parse(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.empty()) {
    throw Error(ErrorCode::invalid_problem, fmt::format("empty problem; write one like '{}'", kExample));
  }
  Problem problem;
  parse_head(words[0], problem);
  parse_items(words, problem_items(), problem);
  return problem;
}

std::string Problem::to_string() const {
  return fmt::format("{}.{}{}", octet::to_string(op), octet::to_string(layout), print_items(problem_items(), *this));
}

bool operator==(const Problem& x, const Problem& y) noexcept {
  return x.op == y.op && x.layout == y.layout && x.g == y.g && x.n == y.n && x.k == y.k && x.c == y.c && x.m == y.m &&
         x.al == y.al && x.a == y.a && x.b == y.b && x.out == y.out && x.in == y.in && x.d == y.d && x.act == y.act &&
         x.gate_second == y.gate_second && x.il == y.il && x.dir == y.dir && x.from == y.from && x.to == y.to &&
         x.splits == y.splits && x.weights_by_pointer == y.weights_by_pointer && x.flags == y.flags;
}

std::size_t hash_value(const Problem& problem) noexcept {
  const std::uint64_t choices =
      static_cast<std::uint64_t>(problem.op) | static_cast<std::uint64_t>(problem.layout) << 4 |
      static_cast<std::uint64_t>(problem.act) << 8 | static_cast<std::uint64_t>(problem.gate_second) << 16 |
      static_cast<std::uint64_t>(problem.dir) << 17 | static_cast<std::uint64_t>(problem.from) << 57 |
      static_cast<std::uint64_t>(problem.to) << 60 | static_cast<std::uint64_t>(problem.splits.is_i64) << 20 |
      static_cast<std::uint64_t>(problem.splits.form) << 21 |
      static_cast<std::uint64_t>(problem.weights_by_pointer) << 24 | bits(problem.in) << 28 | bits(problem.d) << 32 |
      static_cast<std::uint64_t>(problem.flags) << 40;
  std::uint64_t hash = mix(0, choices);
  for (const std::int64_t size :
       {problem.g, problem.n, problem.k, problem.c, problem.m, problem.al, static_cast<std::int64_t>(problem.il)}) {
    hash = mix(hash, static_cast<std::uint64_t>(size));
  }
  hash = mix(hash, bits(problem.a) | bits(problem.b) << 32);
  return mix(hash, bits(problem.out));
}

Problem GemmProblem::to_problem() const {
  Problem problem;
  problem.op = op;
  problem.layout = layout;
  problem.g = groups;
  problem.n = n;
  problem.k = k;
  problem.m = max_m;
  problem.al = alignment;
  problem.a = a;
  problem.b = b;
  problem.d = d;
  problem.splits = splits;
  problem.dir = dir;
  problem.weights_by_pointer = weights_by_pointer;
  problem.from = from;
  problem.flags = flags;
  return problem;
}

Problem QuantizeProblem::to_problem() const {
  Problem problem;
  problem.op = Operation::quantize;
  problem.layout = layout;
  problem.g = groups;
  // Given with another layout, rows_per_group is refused by name as an item that the layout has not.
  (layout == Layout::masked ? problem.m : problem.n) = rows_per_group;
  (layout == Layout::uniform ? problem.k : problem.c) = columns;
  problem.al = alignment;
  problem.in = in;
  problem.out = out;
  problem.splits = splits;
  problem.dir = dir;
  problem.act = act;
  problem.flags = flags;
  return problem;
}

}  // namespace octet
