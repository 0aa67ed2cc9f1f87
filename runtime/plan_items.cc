#include "runtime/plan_items.h"

#include "runtime/item_makers.h"

namespace octet {
namespace {

constexpr Word<Preset> kPresets[] = {
    {"block_fp8", Preset::block_fp8}, {"tensor", Preset::tensor}, {"row", Preset::row}, {"mxfp8", Preset::mxfp8}};

template <auto Member>
TextItem<PlanFacts> flag(const char* key) {
  return {key, key, [](const PlanFacts& facts) { return std::string(facts.*Member ? "on" : ""); },
          [](std::string_view, PlanFacts& facts) { facts.*Member = true; }};
}

}  // namespace

const char* to_string(Preset preset) noexcept { return text_of(kPresets, preset); }

const std::vector<TextItem<PlanFacts>>& plan_items() {
  static const std::vector<TextItem<PlanFacts>> items = {
      number<&PlanFacts::groups>("g", "g<number>"),
      number<&PlanFacts::max_m>("m", "m<number>"),
      number<&PlanFacts::hidden>("h", "h<number>"),
      number<&PlanFacts::intermediate>("i", "i<number>"),
      number<&PlanFacts::n>("n", "n<number>"),
      number<&PlanFacts::k>("k", "k<number>"),
      number<&PlanFacts::alignment>("al", "al<number>"),
      option<&PlanFacts::activation, kActivations>("act=", "act=<name>"),
      option<&PlanFacts::gate_second, kGates>("gate=", "gate=first|second"),
      number<&PlanFacts::interleave>("il=", "il=<number>"),
      option<&PlanFacts::recipe, kPresets>("recipe=", "recipe=block_fp8|tensor|row|mxfp8"),
      recipe<&PlanFacts::x>("x=", "x=<type>:<recipe>"),
      recipe<&PlanFacts::weights>("weights=", "weights=<type>:<recipe>"),
      recipe<&PlanFacts::dy>("dy=", "dy=<type>:<recipe>"),
      dtype<&PlanFacts::d>("d=", "d=<type>"),
      dtype<&PlanFacts::dw>("dw=", "dw=<type>"),
      option<&PlanFacts::splits, kSplits>("splits=", "splits=i32|i64[/ends|/starts]"),
      option<&PlanFacts::weights_by_pointer, kWeights>("w=", "w=single|pointers"),
      flag<&PlanFacts::bias>("+bias"),
      flag<&PlanFacts::probs>("+probs"),
      flag<&PlanFacts::accumulate>("+acc"),
      flag<&PlanFacts::noop>("+noop"),
      flag<&PlanFacts::primary_weights>("+primary"),
      flag<&PlanFacts::inference>("+inference"),
      flag<&PlanFacts::fast_accumulate>("+fastacc"),
  };
  return items;
}

}  // namespace octet
