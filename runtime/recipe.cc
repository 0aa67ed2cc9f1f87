#include "octet/recipe.h"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "runtime/problem_items.h"
#include "runtime/words.h"

namespace octet {
namespace {

constexpr Word<DType> kTypes[] = {
    {"bf16", DType::bf16}, {"fp16", DType::fp16}, {"f32", DType::f32}, {"e4m3", DType::e4m3}, {"e5m2", DType::e5m2}};

constexpr Word<Granularity> kGranularities[] = {
    {"tensor", Granularity::tensor},         {"row", Granularity::row},      {"1x128", Granularity::block_1x128},
    {"128x128", Granularity::block_128x128}, {"1x32", Granularity::mx_1x32}, {"32x32", Granularity::mx_32x32}};

constexpr Word<ScaleLayout> kScaleLayouts[] = {
    {"mn_major", ScaleLayout::mn_major},         {"k_major", ScaleLayout::k_major},
    {"block2d", ScaleLayout::block2d},           {"block2d_t", ScaleLayout::block2d_t},
    {"col_mn_major", ScaleLayout::col_mn_major}, {"per_group", ScaleLayout::per_group},
    {"per_row", ScaleLayout::per_row},           {"mx_compact", ScaleLayout::mx_compact},
    {"mx_32x32", ScaleLayout::mx_32x32},         {"swizzled", ScaleLayout::swizzled}};

// "a:b:c" -> a and "b:c"; no second part when there is no separator.
std::pair<std::string_view, std::optional<std::string_view>> cut(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

int size_bytes(DType type) noexcept {
  switch (type) {
    case DType::f32:
      return 4;
    case DType::bf16:
    case DType::fp16:
      return 2;
    case DType::e4m3:
    case DType::e5m2:
      return 1;
  }
  return 0;
}

const char* to_string(DType type) noexcept { return text_of(kTypes, type); }
const char* to_string(Granularity granularity) noexcept { return text_of(kGranularities, granularity); }
const char* to_string(ScaleLayout layout) noexcept { return text_of(kScaleLayouts, layout); }

DType parse_dtype(std::string_view text) { return value_of(kTypes, "type", text); }

ScaleLayout default_scale_layout(Granularity granularity) noexcept {
  switch (granularity) {
    case Granularity::tensor:
      return ScaleLayout::per_group;
    case Granularity::row:
      return ScaleLayout::per_row;
    case Granularity::block_1x128:
      return ScaleLayout::mn_major;
    case Granularity::block_128x128:
      return ScaleLayout::block2d;
    case Granularity::mx_1x32:
      return ScaleLayout::mx_compact;
    case Granularity::mx_32x32:
      return ScaleLayout::mx_32x32;
  }
  return ScaleLayout::mn_major;
}

Recipe make_recipe(DType type, Granularity granularity) noexcept {
  return {type, granularity, false, default_scale_layout(granularity)};
}

std::string to_string(const Recipe& recipe) {
  std::string text = fmt::format("{}:{}", to_string(recipe.type), to_string(recipe.granularity));
  if (recipe.power_of_two) text += ":pow2";
  if (recipe.scale_layout != default_scale_layout(recipe.granularity)) {
    text += fmt::format("@{}", to_string(recipe.scale_layout));
  }
  return text;
}

Recipe parse_recipe(const std::string& text) {
  const auto [scheme, layout] = cut(text, '@');
  const auto [type_text, granularity_text] = cut(scheme, ':');
  const DType type = parse_dtype(type_text);
  if (!granularity_text) {
    throw Error(ErrorCode::invalid_problem, fmt::format("{} has no recipe; write <type>:<recipe>, for example {}:1x128",
                                                        quoted(text), to_string(type)));
  }
  const auto [granularity, option] = cut(*granularity_text, ':');
  if (option && *option != "pow2") throw unknown_word("scale option", *option, {"pow2"});
  Recipe recipe = make_recipe(type, value_of(kGranularities, "recipe", granularity));
  recipe.power_of_two = option.has_value();
  if (layout) recipe.scale_layout = value_of(kScaleLayouts, "scale layout", *layout);
  return recipe;
}

}  // namespace octet
