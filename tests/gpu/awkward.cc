#include "tests/gpu/awkward.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/gpu/elements.h"

namespace octet::test {
namespace {

constexpr std::int64_t kTile = 128, kRun = 32;

enum class Kind { ordinary, zero, subnormal, small, huge, with_nan, with_infinity, with_both, by_row, by_column };

Kind plain_kind(Random& random) {
  return random.chance(0.4) ? Kind::ordinary : static_cast<Kind>(random.integer(0, static_cast<int>(Kind::with_both)));
}

Kind tile_kind(Random& random) {
  return random.chance(0.4) ? Kind::ordinary : static_cast<Kind>(random.integer(0, static_cast<int>(Kind::by_column)));
}

// The values of one kind, all about as large.
class Values {
 public:
  Values(DType type, Kind kind, Random& random)
      : type_(type), kind_(kind), magnitude_(std::exp2(random.uniform(-7, 4))), format_(element_format(type)) {}

  std::uint32_t draw(Random& random) const {
    const auto any = [&](std::uint32_t most) {
      return static_cast<std::uint32_t>(random.integer(0, most)) | (random.chance(0.5) ? format_.sign : 0U);
    };
    const bool nan = kind_ == Kind::with_nan || kind_ == Kind::with_both;
    const bool infinity = kind_ == Kind::with_infinity || kind_ == Kind::with_both;
    if (nan && random.chance(0.02)) return format_.nan | (random.chance(0.5) ? format_.sign : 0U);
    if (infinity && random.chance(0.01)) return format_.infinity | (random.chance(0.5) ? format_.sign : 0U);
    if (kind_ == Kind::zero) return any(0);
    if (kind_ == Kind::subnormal) return any(format_.largest_subnormal);
    if (kind_ == Kind::small) return any(format_.largest_overflowing);
    if (kind_ == Kind::huge) return any(format_.infinity - 1);
    return rough_bits(type_, magnitude_ * random.normal());
  }

 private:
  DType type_;
  Kind kind_;
  float magnitude_;
  ElementFormat format_;
};

using Region = std::function<void(std::int64_t row, std::int64_t column)>;
void for_each(std::int64_t rows, std::int64_t columns, const Region& visit) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) visit(row, column);
  }
}

// Part of a matrix, from one place on.
struct View {
  DType type;
  std::uint8_t* values;
  std::int64_t ld, first_row, first_column;
  void set(std::int64_t row, std::int64_t column, std::uint32_t bits) const {
    set_element_bits(type, values, (first_row + row) * ld + first_column + column, bits);
  }
};

void fill_tile(const View& view, std::int64_t rows, std::int64_t columns, Kind kind, Random& random) {
  const bool by_row = kind == Kind::by_row, by_column = kind == Kind::by_column;
  if (!by_row && !by_column) {
    const Values values(view.type, kind, random);
    for_each(rows, columns, [&](std::int64_t r, std::int64_t c) { view.set(r, c, values.draw(random)); });
    return;
  }
  const std::int64_t lines = by_row ? rows : columns, length = by_row ? columns : rows;
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t begin = 0; begin < length; begin += kRun) {
      const Values values(view.type, plain_kind(random), random);
      for (std::int64_t i = begin; i < std::min(begin + kRun, length); ++i) {
        view.set(by_row ? line : i, by_row ? i : line, values.draw(random));
      }
    }
  }
}

std::vector<std::uint8_t> filled_with_nan(DType type, std::int64_t count) {
  std::vector<std::uint8_t> values(static_cast<std::size_t>(count) * static_cast<std::size_t>(size_bytes(type)));
  const std::uint32_t nan = element_format(type).nan;
  for (std::int64_t i = 0; i < count; ++i) set_element_bits(type, values.data(), i, nan);
  return values;
}

}  // namespace

std::vector<std::uint8_t> awkward_values(DType type, const reference::GroupExtents& groups, std::int64_t capacity,
                                         std::int64_t columns, Random& random) {
  std::vector<std::uint8_t> values = filled_with_nan(type, capacity * columns);
  for (std::size_t g = 0; g < groups.begin.size(); ++g) {
    const bool alike = random.chance(0.5);
    const Kind kind = plain_kind(random);
    for (std::int64_t row = groups.begin[g]; row < groups.end[g]; row += kTile) {
      for (std::int64_t column = 0; column < columns; column += kTile) {
        const View view{type, values.data(), columns, row, column};
        fill_tile(view, std::min(kTile, groups.end[g] - row), std::min(kTile, columns - column),
                  alike ? kind : tile_kind(random), random);
      }
    }
  }
  return values;
}

std::vector<std::uint8_t> ordinary_values(DType type, const reference::GroupExtents& groups, std::int64_t capacity,
                                          std::int64_t columns, Random& random) {
  std::vector<std::uint8_t> values = filled_with_nan(type, capacity * columns);
  for (std::size_t g = 0; g < groups.begin.size(); ++g) {
    for (std::int64_t i = groups.begin[g] * columns; i < groups.end[g] * columns; ++i) {
      set_element_bits(type, values.data(), i, rough_bits(type, random.normal()));
    }
  }
  return values;
}

std::vector<std::uint8_t> ordinary_values(DType type, std::int64_t count, Random& random) {
  return ordinary_values(type, reference::extents({count}), count, 1, random);
}

std::vector<float> row_values(const reference::GroupExtents& groups, std::int64_t capacity, Random& random) {
  std::vector<float> values(static_cast<std::size_t>(capacity), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t g = 0; g < groups.begin.size(); ++g) {
    for (std::int64_t row = groups.begin[g]; row < groups.end[g]; ++row) {
      values[static_cast<std::size_t>(row)] = random.uniform(-0.25F, 1.5F);
    }
  }
  return values;
}

void poison_elements(DType type, std::vector<std::uint8_t>& values, std::int64_t first, std::int64_t count,
                     std::uint32_t bits, Random& random) {
  for (std::int64_t i = first; i < first + count; ++i) {
    if (random.chance(0.1)) set_element_bits(type, values.data(), i, bits);
  }
}

}  // namespace octet::test
