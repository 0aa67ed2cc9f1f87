// Makers of items for a member of a value, and the vocabularies that problems and plans share.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "octet/problem.h"
#include "runtime/problem_items.h"
#include "runtime/text_items.h"

namespace octet {

inline constexpr Word<Activation> kActivations[] = {{"none", Activation::none},
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

inline constexpr Word<bool> kGates[] = {{"first", false}, {"second", true}};
inline constexpr Word<bool> kWeights[] = {{"single", false}, {"pointers", true}};

inline constexpr Word<Splits> kSplits[] = {
    {"i32", {false, SplitsForm::sizes}},         {"i64", {true, SplitsForm::sizes}},
    {"i32/ends", {false, SplitsForm::ends}},     {"i64/ends", {true, SplitsForm::ends}},
    {"i32/starts", {false, SplitsForm::starts}}, {"i64/starts", {true, SplitsForm::starts}}};

inline constexpr Word<Layout> kLayouts[] = {{"packed", Layout::packed},
                                            {"padded", Layout::padded},
                                            {"masked", Layout::masked},
                                            {"uniform", Layout::uniform},
                                            {"dense", Layout::dense}};

// From 1 to kLargestNumber; one spelling per number: no sign, no leading zero.
std::int64_t parse_positive(std::string_view text);

namespace detail {
template <typename Value, typename Field>
Value value_of_member(Field Value::*);
}
// The value that a pointer to member belongs to.
template <auto Member>
using ValueOf = decltype(detail::value_of_member(Member));

// 0 is "not given".
template <auto Member>
TextItem<ValueOf<Member>> number(const char* key, const char* form) {
  using Value = ValueOf<Member>;
  return {key, form,
          [](const Value& value) { return value.*Member == 0 ? std::string{} : fmt::format("{}", value.*Member); },
          [](std::string_view text, Value& value) {
            using Number = std::remove_reference_t<decltype(value.*Member)>;
            value.*Member = static_cast<Number>(parse_positive(text));
          }};
}

template <auto Member>
TextItem<ValueOf<Member>> recipe(const char* key, const char* form) {
  using Value = ValueOf<Member>;
  return {key, form, [](const Value& value) { return value.*Member ? to_string(*(value.*Member)) : std::string{}; },
          [](std::string_view text, Value& value) { value.*Member = parse_recipe(std::string(text)); }};
}

// A DType, which has a default, or an optional one.
template <auto Member>
TextItem<ValueOf<Member>> dtype(const char* key, const char* form) {
  using Value = ValueOf<Member>;
  return {key, form,
          [](const Value& value) -> std::string {
            if constexpr (std::is_same_v<std::decay_t<decltype(value.*Member)>, DType>) {
              return value.*Member == Value{}.*Member ? "" : to_string(value.*Member);
            } else {
              return value.*Member ? to_string(*(value.*Member)) : "";
            }
          },
          [](std::string_view text, Value& value) { value.*Member = parse_dtype(text); }};
}

// `Words` is a template argument so that the functions need no capture. The default is the value's own.
template <auto Member, auto& Words>
TextItem<ValueOf<Member>> option(const char* key, const char* form) {
  using Value = ValueOf<Member>;
  return {key, form,
          [](const Value& value) {
            return value.*Member == Value{}.*Member ? std::string{} : std::string(text_of(Words, value.*Member));
          },
          [](std::string_view text, Value& value) { value.*Member = value_of(Words, "value", text); }};
}

}  // namespace octet
