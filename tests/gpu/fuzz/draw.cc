#include "tests/gpu/fuzz/draw.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/gpu/quantize_cells.h"

namespace octet::test {
namespace {

template <typename Item>
Item any_of(const std::vector<Item>& items, Random& random) {
  return items[static_cast<std::size_t>(random.integer(0, std::ssize(items) - 1))];
}

std::string any_recipe(bool weights, Random& random) {
  const std::string recipe = any_of(weights ? weight_recipes() : token_recipes(), random);
  const bool block = recipe.starts_with("1x128") || recipe.starts_with("128x128");
  const bool plain = recipe.find(':') == std::string::npos && recipe.find('@') == std::string::npos;
  return any_of<std::string>({"e4m3:", "e4m3:", "e5m2:"}, random) + recipe +
         (block && plain && random.chance(0.2) ? ":pow2" : "");
}

std::string any_input(Random& random) { return any_of<std::string>({"bf16", "bf16", "fp16", "f32"}, random); }

std::int64_t any_columns(Random& random) {
  const std::int64_t most = random.chance(0.5) ? 18 : 94;  // of 16
  return 16 * random.integer(1, most);
}

// " act=… gate=… il=…", and the columns that suit it.
std::string any_activation(std::int64_t& columns, Random& random) {
  const std::string activation = any_of(activations(), random);
  std::string text = " act=" + activation;
  if (!gated(activation)) return text;
  if (random.chance(0.3)) text += " gate=second";
  if (random.chance(0.4)) {
    const std::int64_t il = any_of<std::int64_t>({1, 8, 16, 32, 64}, random);
    columns = (columns + il - 1) / il * il;
    text += fmt::format(" il={}", il);
  }
  return text;
}

std::string any_gradient_flags(Random& random) {
  std::string text = random.chance(0.4) ? " +bias" : "";
  if (random.chance(0.4)) text += " +probs";
  if (random.chance(0.5)) text += random.chance(0.5) ? " +grad +dbias" : " +grad";
  return text;
}

std::string any_quantizer_flags(const std::string& recipe, Random& random) {
  std::string text = random.chance(0.15) ? " +noop" : "";
  if (random.chance(0.2)) text += " +amax";
  if (recipe.find("tensor") != std::string::npos && random.chance(0.5)) text += " +given";
  return text;
}

std::string any_splits(const std::string& layout, Random& random) {
  if (layout == "uniform" || random.chance(0.5)) return "";
  // Starts cannot say where padded groups end, nor ends or starts how many rows of a masked group count.
  if (layout == "masked") return " splits=i64";
  const std::vector<std::string> forms = {"i64", "i32/ends", "i64/ends", "i32/starts", "i64/starts"};
  return " splits=" + forms[static_cast<std::size_t>(random.integer(0, layout == "padded" ? 2 : 4))];
}

// Everything but the layout, the sizes and the splits.
struct Request {
  std::string op, rest;
  std::int64_t columns = 0;
};

Request any_request(bool weights, Random& random) {
  const std::int64_t kind = random.integer(0, 99);
  Request request{"quantize", "", any_columns(random)};
  const std::string recipe = any_recipe(weights, random);
  const std::string direction = any_of(directions(), random), one_way = any_of<std::string>({"row", "col"}, random);
  if (kind < 45) {
    request.rest =
        fmt::format("in={} out={} dir={}{}", any_input(random), recipe, direction, any_quantizer_flags(recipe, random));
  } else if (kind < 70) {
    const std::string activation = any_activation(request.columns, random);
    request.rest = fmt::format("in={}{} out={} dir={}{}{}", any_input(random), activation, recipe, direction,
                               any_gradient_flags(random), any_quantizer_flags(recipe, random));
  } else if (kind < 82) {
    const std::string activation = any_activation(request.columns, random), type = any_input(random);
    request.op = "activation";
    request.rest = fmt::format("in={} d={}{}{}", type, type, activation, any_gradient_flags(random));
  } else if (kind < 92) {
    request.op = "dequantize";
    request.rest = fmt::format("a={} d={} dir={}", recipe, any_input(random), one_way);
  } else {
    request.op = "convert";
    const std::string type = any_of<std::string>({"e4m3", "e5m2"}, random);
    const std::string rearrangement = any_of<std::string>(
        {"a={0}:1x32 out={0}:1x32@swizzled dir=row", "a={0}:1x32@swizzled out={0}:1x32 dir=row",
         "a={0}:1x32 out={0}:1x32@swizzled dir=col", "a={0}:1x32@swizzled out={0}:1x32 dir=col",
         "a={0}:1x128 out={0}:1x128 dir=col to=deepgemm", "a={0}:1x128 out={0}:1x128 dir=col from=deepgemm",
         "a={0}:1x32 out={0}:1x32 dir=col to=te", "a={0}:1x32 out={0}:1x32 dir=col from=te",
         "a={0}:1x32@swizzled out={0}:1x32 dir=col from=te"},
        random);
    request.rest = fmt::format(fmt::runtime(rearrangement), type);
  }
  return request;
}

Sizes any_sizes(std::int64_t groups, std::int64_t most, Random& random) {
  Sizes sizes;
  for (std::int64_t g = 0; g < groups; ++g) {
    sizes.push_back(random.chance(0.2) ? 0 : random.chance(0.1) ? most : random.integer(0, most));
  }
  return sizes;
}

}  // namespace

std::string Drawn::text() const {
  return fmt::format("{} with sizes {}, {} spare rows, noop {:#x}, amax floor {}, {} inputs", problem.to_string(),
                     fmt::join(sizes, ","), spare_rows, noop, amax_floor, ordinary ? "ordinary" : "awkward");
}

Drawn draw(Random& random) {
  const std::string layout = any_of<std::string>({"packed", "packed", "padded", "masked", "uniform"}, random);
  const bool weights = layout == "uniform";
  const Request request = any_request(weights, random);
  const std::int64_t groups = any_of<std::int64_t>({1, 2, 3, 4, 8, 8, 33, 130}, random);
  const std::int64_t most = std::max<std::int64_t>(1, random.integer(1, random.chance(0.5) ? 300 : 1000) / groups);

  std::string line = fmt::format("{}.{} g{}", request.op, layout, groups);
  if (layout == "padded") line += fmt::format(" al{}", any_of<std::int64_t>({4, 8, 16, 32, 128}, random));
  if (layout == "masked") line += fmt::format(" m{}", most);
  // Weights whose columnwise data has rows of whole 16 bytes, as tensor maps want them, are the usual.
  if (weights) line += fmt::format(" n{}", random.chance(0.8) ? (most + 15) / 16 * 16 : most);
  line += fmt::format(" {}{} {}{}", weights ? 'k' : 'c', request.columns, request.rest, any_splits(layout, random));

  Drawn drawn;
  drawn.problem = Problem::parse(line);
  drawn.sizes = any_sizes(groups, most, random);
  drawn.spare_rows = random.chance(0.3) ? 0 : random.integer(1, 200);
  drawn.ordinary = random.chance(0.4);
  if (drawn.problem.has(Flag::noop) && random.chance(0.3)) drawn.noop = 1;
  const bool f32_scales = drawn.problem.out && drawn.problem.out->granularity <= Granularity::block_128x128;
  if (f32_scales && !drawn.problem.has(Flag::given) && random.chance(0.2)) drawn.amax_floor = 1e-4F;
  return drawn;
}

}  // namespace octet::test
