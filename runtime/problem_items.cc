#include "runtime/problem_items.h"

#include <charconv>

#include <fmt/format.h>

#include "runtime/words.h"

namespace octet {
namespace {

constexpr Word<Activation> kActivations[] = {{"none", Activation::none},
                                             {"relu", Activation::relu},
                                             {"srelu", Activation::srelu},
                                             {"gelu", Activation::gelu},
                                             {"qgelu", Activation::qgelu},
                                             {"silu", Activation::silu},
                                             {"swiglu", Activation::swiglu},
                                             {"geglu", Activation::geglu},
                                             {"qgeglu", Activation::qgeglu},
                                             {"reglu", Activation::reglu},
                                             {"sreglu", Activation::sreglu},
                                             {"glu", Activation::glu},
                                             {"clamped_swiglu", Activation::clamped_swiglu},
                                             {"situ_glu", Activation::situ_glu}};

constexpr Word<Direction> kDirections[] = {
    {"row", Direction::row}, {"col", Direction::col}, {"row,col", Direction::row_col}};

constexpr Word<Packing> kPackings[] = {{"octet", Packing::octet}, {"deepgemm", Packing::deepgemm}, {"te", Packing::te}};

constexpr Word<bool> kGates[] = {{"first", false}, {"second", true}};
constexpr Word<bool> kWeights[] = {{"single", false}, {"pointers", true}};

constexpr Word<Splits> kSplits[] = {
    {"i32", {false, SplitsForm::sizes}},         {"i64", {true, SplitsForm::sizes}},
    {"i32/ends", {false, SplitsForm::ends}},     {"i64/ends", {true, SplitsForm::ends}},
    {"i32/starts", {false, SplitsForm::starts}}, {"i64/starts", {true, SplitsForm::starts}}};

// One spelling per number: no sign, no leading zero.
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

// Makers of the table's functions: one per kind of item, for a member of Problem.
template <auto Member>
ProblemItem number(const char* key, const char* form) {
  return {
      key, form,
      [](const Problem& problem) { return problem.*Member == 0 ? std::string{} : fmt::format("{}", problem.*Member); },
      [](std::string_view text, Problem& problem) {
        using Number = std::remove_reference_t<decltype(problem.*Member)>;
        problem.*Member = static_cast<Number>(parse_positive(text));
      }};
}

template <auto Member>
ProblemItem recipe(const char* key, const char* form) {
  return {key, form,
          [](const Problem& problem) { return problem.*Member ? to_string(*(problem.*Member)) : std::string{}; },
          [](std::string_view text, Problem& problem) { problem.*Member = parse_recipe(std::string(text)); }};
}

template <auto Member>
ProblemItem dtype(const char* key, const char* form) {
  return {key, form,
          [](const Problem& problem) {
            return problem.*Member ? std::string(to_string(*(problem.*Member))) : std::string{};
          },
          [](std::string_view text, Problem& problem) { problem.*Member = parse_dtype(text); }};
}

// `words` is a template argument so that the functions need no capture. The default is Problem's own.
template <auto Member, auto& Words>
ProblemItem option(const char* key, const char* form) {
  return {key, form,
          [](const Problem& problem) {
            return problem.*Member == Problem{}.*Member ? std::string{} : std::string(text_of(Words, problem.*Member));
          },
          [](std::string_view text, Problem& problem) { problem.*Member = value_of(Words, "value", text); }};
}

template <Flag Bit>
ProblemItem flag(const char* key) {
  return {key, key, [](const Problem& problem) { return std::string(problem.has(Bit) ? "on" : ""); },
          [](std::string_view, Problem& problem) { problem.flags |= static_cast<std::uint32_t>(Bit); }};
}

}  // namespace

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

std::vector<std::string_view> given_items(const Problem& problem) {
  std::vector<std::string_view> keys;
  for (const ProblemItem& item : problem_items()) {
    if (!item.print(problem).empty()) keys.emplace_back(item.key);
  }
  return keys;
}

std::string_view form_of(std::string_view key) {
  for (const ProblemItem& item : problem_items()) {
    if (key == item.key) return item.form;
  }
  return key;
}

}  // namespace octet
