#include "runtime/reference/random.h"

#include "octet/reference.h"
#include "runtime/reference/checks.h"

namespace octet::reference {
namespace {

// [rows][columns] whose blocks of block_rows x 128 share a magnitude; elements and blocks are counted from the offsets.
struct Matrix {
  std::int64_t rows, columns, block_rows;
  std::int64_t first_element, first_block;
};

void append(const Matrix& m, std::uint64_t seed, std::vector<std::uint16_t>& out) {
  const std::int64_t blocks = ceil_div(m.columns, kBlock);
  for (std::int64_t row = 0; row < m.rows; ++row) {
    for (std::int64_t column = 0; column < m.columns; ++column) {
      const std::int64_t element = m.first_element + row * m.columns + column;
      const std::int64_t block = m.first_block + row / m.block_rows * blocks + column / kBlock;
      const float magnitude = random_magnitude(seed, static_cast<std::uint64_t>(block));
      out.push_back(to_bf16(random_normal(seed, static_cast<std::uint64_t>(element)) * magnitude));
    }
  }
}

void check_count(const char* name, std::int64_t value) {
  if (value < 0) throw bad_argument(std::string("reference: ") + name + " is negative; give a count of 0 or more");
}

}  // namespace

std::vector<std::uint16_t> random_tokens(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  check_count("rows", rows);
  check_count("columns", columns);
  std::vector<std::uint16_t> out;
  out.reserve(static_cast<std::size_t>(rows * columns));
  append({rows, columns, 1, 0, 0}, seed, out);
  return out;
}

std::vector<std::uint16_t> random_weights(std::int64_t groups, std::int64_t rows, std::int64_t columns,
                                          std::uint64_t seed) {
  check_count("groups", groups);
  check_count("rows", rows);
  check_count("columns", columns);
  const std::int64_t blocks = ceil_div(rows, kBlock) * ceil_div(columns, kBlock);
  std::vector<std::uint16_t> out;
  out.reserve(static_cast<std::size_t>(groups * rows * columns));
  for (std::int64_t g = 0; g < groups; ++g) append({rows, columns, kBlock, g * rows * columns, g * blocks}, seed, out);
  return out;
}

}  // namespace octet::reference
