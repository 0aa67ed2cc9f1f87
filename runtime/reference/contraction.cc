#include "runtime/reference/contraction.h"

#include <fmt/format.h>

#include <algorithm>

#include "octet/layout.h"
#include "runtime/reference/checks.h"
#include "runtime/reference/elements.h"

namespace octet::reference {
namespace {

void check_recipes(const Problem& problem) {
  if (!problem.a) throw bad_argument("reference: a= is missing: the recipe of A");
  if (!problem.b) throw bad_argument("reference: b= is missing: the recipe of B");
  if (problem.op == Operation::gemm && problem.dir == Direction::row_col)
    throw bad_argument("reference: dir=row,col: a gemm reads one copy of B; choose row or col");
  if (problem.from == Packing::te)
    throw bad_argument("reference: from=te: the rows of a block lie next to each other; convert the operands");
  if (!problem.has(Flag::bias)) return;
  if (problem.op == Operation::wgrad) throw bad_argument("reference: +bias: a wgrad has none; leave it out");
  if (!problem.d) throw bad_argument("reference: d= is missing: the type of D, which bias has too");
  largest_finite("d", *problem.d);
}

// Before anything is derived from it.
const Problem& checked(const Problem& problem) {
  const bool is_gemm = problem.op == Operation::gemm || problem.op == Operation::wgrad;
  if (!is_gemm) throw bad_argument(fmt::format("reference: {} is not gemm or wgrad", to_string(problem.op)));
  if (problem.layout == Layout::uniform)
    throw bad_argument("reference: layout uniform: tokens are packed, padded, masked or dense");
  check_positive("g", problem.g);
  check_positive("n", problem.n);
  check_positive("k", problem.k);
  check_recipes(problem);
  return problem;
}

GroupExtents b_extents(const Problem& problem, const Problem& producer, const GroupExtents& tokens) {
  return problem.op == Operation::wgrad ? tokens : uniform_extents(producer.g, producer.n);
}

}  // namespace

Contraction::Contraction(const Problem& problem, const GemmInputs& inputs, const GroupExtents& groups,
                         std::int64_t capacity)
    : problem_(checked(problem)),
      inputs_(inputs),
      is_wgrad_(problem.op == Operation::wgrad),
      a_(a_producer(problem), problem.from, groups, capacity, inputs.a, inputs.a_sf),
      b_(b_producer(problem), problem.from, b_extents(problem, b_producer(problem), groups), capacity, inputs.b,
         inputs.b_sf) {}

std::int64_t Contraction::d_index(std::int64_t group, std::int64_t i, std::int64_t j) const {
  const std::int64_t first = is_wgrad_ ? group * problem_.n : tokens(group).begin;
  return (first + i) * columns() + j;
}

std::int64_t Contraction::step(std::int64_t most) const {
  // Blocks of 32 lie whole in blocks of 128.
  for (const GemmOperand* operand : {&a_, &b_}) {
    if (operand->inner_unit() != BlockUnit::kAll) most = std::min(most, operand->inner_unit());
  }
  return most;
}

void Contraction::check_pointers() const {
  if (a_.rows_that_exist() == 0) return;
  check_pointer("a", inputs_.a);
  check_pointer("a_sf", inputs_.a_sf);
  check_pointer("b", inputs_.b);
  check_pointer("b_sf", inputs_.b_sf);
  if (problem_.has(Flag::bias)) check_pointer("bias", inputs_.bias);
}

double Contraction::finish(std::int64_t group, std::int64_t j, double sum) const {
  const double product = inputs_.alpha * sum;
  if (!problem_.has(Flag::bias)) return product;
  return product + load_element(inputs_.bias, *problem_.d, group * problem_.n + j);
}

double Contraction::accumulate(std::int64_t group, double value, double old) const {
  const double kept = inputs_.beta == 0 ? 0 : inputs_.beta * old;  // then what D holds, NaN too, does not count
  return terms(group) == 0 ? kept : value + kept;
}

double Contraction::element(std::int64_t group, std::int64_t i, std::int64_t j) const {
  const std::int64_t count = terms(group), length = step(kBlock);
  double sum = 0;
  for (std::int64_t first = 0; first < count; first += length) {
    const std::uint8_t* a = a_.at(group, i, first);
    const std::uint8_t* b = b_.at(group, j, first);
    double partial = 0;
    for (std::int64_t s = 0; s < std::min(length, count - first); ++s)
      partial += static_cast<double>(a_.values()[a[s]]) * static_cast<double>(b_.values()[b[s]]);
    sum += a_.scale(group, i, first) * b_.scale(group, j, first) * partial;
  }
  return finish(group, j, sum);
}

}  // namespace octet::reference
