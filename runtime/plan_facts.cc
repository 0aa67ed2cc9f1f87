#include "octet/plan_facts.h"

#include <tuple>

#include <fmt/format.h>

#include "runtime/item_makers.h"
#include "runtime/plan_items.h"

namespace octet {
namespace {

constexpr Word<PlanKind> kKinds[] = {{"mlp", PlanKind::mlp}, {"linear", PlanKind::linear}};

constexpr std::string_view kExample = "mlp.packed g8 h7168 i2048 act=swiglu";

void parse_head(std::string_view word, PlanFacts& facts) {
  if (names_operation(word)) {
    throw Error(ErrorCode::invalid_problem,
                fmt::format("{} starts a problem, not a plan; octet explain '...' takes it", quoted(word)));
  }
  const std::size_t dot = word.find('.');
  facts.kind = value_of(kKinds, "plan", word.substr(0, dot));
  if (dot == std::string_view::npos) {
    throw Error(ErrorCode::invalid_problem,
                fmt::format("{} has no layout; write <plan>.<layout>, for example {}.packed", quoted(word), word));
  }
  facts.layout = value_of(kLayouts, "layout", word.substr(dot + 1));
}

Granularity granularity_of(Preset preset, bool is_weight) noexcept {
  switch (preset) {
    case Preset::tensor:
      return Granularity::tensor;
    case Preset::row:
      return Granularity::row;
    case Preset::mxfp8:
      return Granularity::mx_1x32;
    case Preset::block_fp8:
      break;
  }
  return is_weight ? Granularity::block_128x128 : Granularity::block_1x128;
}

// Everything that tells two facts apart.
auto members(const PlanFacts& f) noexcept {
  return std::make_tuple(f.kind, f.layout, f.groups, f.max_m, f.hidden, f.intermediate, f.n, f.k, f.alignment,
                         f.activation, f.gate_second, f.interleave, f.recipe, f.x, f.weights, f.dy, f.d, f.dw, f.splits,
                         f.weights_by_pointer, f.bias, f.probs, f.accumulate, f.noop, f.primary_weights, f.inference,
                         f.fast_accumulate);
}

}  // namespace

const char* to_string(PlanKind kind) noexcept { return text_of(kKinds, kind); }

PlanFacts PlanFacts::parse(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.empty()) {
    throw Error(ErrorCode::invalid_problem, fmt::format("empty plan; write one like '{}'", kExample));
  }
  PlanFacts facts;
  parse_head(words[0], facts);
  parse_items(words, plan_items(), facts);
  return facts;
}

std::string PlanFacts::to_string() const {
  return fmt::format("{}.{}{}", octet::to_string(kind), octet::to_string(layout), print_items(plan_items(), *this));
}

Recipe PlanFacts::x_recipe() const noexcept { return x ? *x : make_recipe(DType::e4m3, granularity_of(recipe, false)); }
Recipe PlanFacts::weight_recipe() const noexcept {
  return weights ? *weights : make_recipe(DType::e4m3, granularity_of(recipe, true));
}
Recipe PlanFacts::dy_recipe() const noexcept {
  return dy ? *dy : make_recipe(DType::e4m3, granularity_of(recipe, false));
}

bool operator==(const PlanFacts& x, const PlanFacts& y) noexcept { return members(x) == members(y); }

bool is_plan_text(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t\r\n\v\f");
  if (first == std::string_view::npos) return false;
  const std::string_view start = text.substr(first);
  for (const Word<PlanKind>& word : kKinds) {
    if (start.substr(0, std::string_view(word.text).size()) == word.text) return true;
  }
  return false;
}

}  // namespace octet
