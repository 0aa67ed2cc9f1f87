#include "runtime/problem_items.h"

#include <charconv>

#include <fmt/format.h>

#include "runtime/item_makers.h"
#include "runtime/words.h"

namespace octet {
namespace {

constexpr Word<Direction> kDirections[] = {
    {"row", Direction::row}, {"col", Direction::col}, {"row,col", Direction::row_col}};

constexpr Word<Packing> kPackings[] = {{"octet", Packing::octet}, {"deepgemm", Packing::deepgemm}, {"te", Packing::te}};

template <Flag Bit>
ProblemItem flag(const char* key) {
  return {key, key, [](const Problem& problem) { return std::string(problem.has(Bit) ? "on" : ""); },
          [](std::string_view, Problem& problem) { problem.flags |= static_cast<std::uint32_t>(Bit); }};
}

}  // namespace

std::int64_t parse_positive(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || text[0] == '0' || number < 1 || number > kLargestNumber) {
    throw Error(ErrorCode::invalid_problem,
                fmt::format("{} is not a number from 1 to {}", quoted(text), kLargestNumber));
  }
  return number;
}

const char* to_string(Activation activation) noexcept { return text_of(kActivations, activation); }

const std::vector<ProblemItem>& problem_items() {
  static const std::vector<ProblemItem> items = {
      number<&Problem::g>("g", "g<number>"),
      number<&Problem::m>("m", "m<number>"),
      number<&Problem::n>("n", "n<number>"),
      number<&Problem::k>("k", "k<number>"),
      number<&Problem::c>("c", "c<number>"),
      number<&Problem::al>("al", "al<number>"),
      recipe<&Problem::a>("a=", "a=<type>:<recipe>"),
      recipe<&Problem::b>("b=", "b=<type>:<recipe>"),
      dtype<&Problem::d>("d=", "d=<type>"),
      dtype<&Problem::in>("in=", "in=<type>"),
      option<&Problem::act, kActivations>("act=", "act=<name>"),
      option<&Problem::gate_second, kGates>("gate=", "gate=first|second"),
      number<&Problem::il>("il=", "il=<number>"),
      recipe<&Problem::out>("out=", "out=<type>:<recipe>"),
      option<&Problem::dir, kDirections>("dir=", "dir=row|col|row,col"),
      option<&Problem::from, kPackings>("from=", "from=octet|deepgemm|te"),
      option<&Problem::to, kPackings>("to=", "to=octet|deepgemm|te"),
      option<&Problem::splits, kSplits>("splits=", "splits=i32|i64[/ends|/starts]"),
      option<&Problem::weights_by_pointer, kWeights>("w=", "w=single|pointers"),
      flag<Flag::bias>("+bias"),
      flag<Flag::acc>("+acc"),
      flag<Flag::probs>("+probs"),
      flag<Flag::grad>("+grad"),
      flag<Flag::dbias>("+dbias"),
      flag<Flag::noop>("+noop"),
      flag<Flag::amax>("+amax"),
      flag<Flag::given>("+given"),
      flag<Flag::fastacc>("+fastacc"),
      flag<Flag::checked>("+checked"),
  };
  return items;
}

std::vector<std::string_view> given_items(const Problem& problem) { return given_items(problem_items(), problem); }

std::string_view form_of(std::string_view key) { return form_of(key, problem_items()); }

}  // namespace octet
