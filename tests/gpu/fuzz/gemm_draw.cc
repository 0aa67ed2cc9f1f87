#include "tests/gpu/fuzz/gemm_draw.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/gpu/family_cells.h"

namespace octet::test {
namespace {

template <typename Item>
Item any_of(const std::vector<Item>& items, Random& random) {
  return items[static_cast<std::size_t>(random.integer(0, std::ssize(items) - 1))];
}

std::string any_type(Random& random) { return any_of<std::string>({"e4m3:", "e4m3:", "e5m2:"}, random); }

std::string any_splits(const std::string& layout, Random& random) {
  if (layout == "dense" || random.chance(0.4)) return "";
  if (layout == "masked") return " splits=i64";
  const std::vector<std::string> forms = {"i64", "i32/ends", "i64/ends", "i32/starts", "i64/starts"};
  return " splits=" + forms[static_cast<std::size_t>(random.integer(0, layout == "padded" ? 2 : 4))];
}

std::string any_flags(bool wgrad, bool whole, const std::string& layout, Random& random) {
  std::string flags = !wgrad && random.chance(0.3) ? " +bias" : "";
  if (random.chance(0.35)) flags += " +acc";
  if (whole && random.chance(0.3)) flags += " +fastacc";
  if (layout != "dense" && random.chance(0.15)) flags += " +checked";
  return flags;
}

// Multiples of 16 mostly; a forward pass takes an N of 8.
std::int64_t any_columns(std::int64_t unit, Random& random) {
  const std::int64_t most = random.chance(0.5) ? 300 : 1500;
  return unit * random.integer(1, most / unit);
}

Sizes any_sizes(std::int64_t groups, std::int64_t most, Random& random) {
  const Sizes special = {1, 127, 128, 129, most};
  Sizes sizes;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t rows = random.chance(0.3) ? any_of(special, random) : random.integer(0, most);
    sizes.push_back(random.chance(0.2) ? 0 : std::min(rows, most));
  }
  return sizes;
}

std::int64_t any_gap(std::int64_t unit, Random& random) { return random.chance(0.2) ? unit * random.integer(1, 9) : 0; }

void draw_launch(DrawnGemm& drawn, Random& random) {
  drawn.spare_rows = random.chance(0.3) ? 0 : random.integer(1, 200);
  if (random.chance(0.3)) drawn.alpha = random.chance(0.5) ? -1.5F : random.uniform(0.1F, 3);
  if (random.chance(0.5)) drawn.beta = any_of<float>({0.5F, -1, 2, 0.75F}, random);
  drawn.a_gap = any_gap(16, random), drawn.b_gap = any_gap(16, random);
  drawn.d_gap = any_gap(16 / size_bytes(*drawn.problem.d), random);
  drawn.pointers_on_device = random.chance(0.5);
  if (random.chance(0.2)) drawn.max_sms = static_cast<int>(random.integer(1, 64));
  drawn.programmatic = random.chance(0.2);
  drawn.config = random.integer(0, 1 << 20);
}

}  // namespace

std::string DrawnGemm::text() const {
  return fmt::format(
      "{} with sizes {}, {} spare rows, alpha {}, beta {}, gaps {} {} {}, {} multiprocessors, config {}{}{}",
      problem.to_string(), fmt::join(sizes, ","), spare_rows, alpha, beta, a_gap, b_gap, d_gap, max_sms, config,
      programmatic ? ", programmatic" : "", pointers_on_device ? ", pointers on the device" : "");
}

DrawnGemm draw_gemm(Random& random) {
  const std::string layout = any_of<std::string>({"packed", "packed", "padded", "masked", "masked", "dense"}, random);
  const bool wgrad = random.chance(0.35), dgrad = !wgrad && random.chance(0.35);
  const RecipePair pair = any_of(recipe_pairs(), random);
  const std::int64_t groups = layout == "dense" ? 1 : any_of<std::int64_t>({1, 2, 3, 4, 5, 8, 8, 17, 33, 65}, random);
  const std::int64_t most = std::max<std::int64_t>(1, random.integer(1, random.chance(0.5) ? 300 : 1500) / groups);

  std::string line = fmt::format("{}.{} g{}", wgrad ? "wgrad" : "gemm", layout, groups);
  if (layout == "padded") line += fmt::format(" al{}", any_of<std::int64_t>({4, 8, 16, 32, 128}, random));
  if (layout == "masked") line += fmt::format(" m{}", most);
  // A large number of groups with small weights: the oracle quantizes them element by element.
  const std::int64_t n = any_columns(wgrad || dgrad ? 16 : 8, random), k = any_columns(16, random);
  const std::int64_t shrink = groups > 8 ? 4 : 1, unit = wgrad || dgrad ? 16 : 8;
  line += fmt::format(" n{} k{}", (n / shrink + unit - 1) / unit * unit, (k / shrink + 15) / 16 * 16);
  line +=
      fmt::format(" a={}{} b={}{}", any_type(random), any_of(pair.a, random), any_type(random), any_of(pair.b, random));
  line += " d=" + any_of<std::string>({"bf16", "bf16", "f32", "fp16"}, random);
  if (dgrad) line += " dir=col";
  line += any_splits(layout, random) + (random.chance(0.12) ? " w=pointers" : "");
  line += any_flags(wgrad, pair.whole, layout, random);

  DrawnGemm drawn;
  drawn.problem = Problem::parse(line);
  drawn.sizes = any_sizes(groups, most, random);
  draw_launch(drawn, random);
  return drawn;
}

}  // namespace octet::test
