#include "tests/gpu/quantize_judge.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "tests/gpu/activation_bounds.h"
#include "tests/gpu/elements.h"
#include "tests/gpu/parallel.h"

namespace octet::test {
namespace {

float float_at(const Bytes& bytes, std::int64_t index) {
  float value = 0;
  std::memcpy(&value, bytes.data() + index * 4, sizeof value);
  return value;
}

// Where the two halves of output column `column` of a gated activation stand in its pre-activation.
struct Halves {
  std::int64_t gate, up;
};
Halves halves_of(const Problem& problem, std::int64_t columns, std::int64_t column) {
  if (!is_gated(problem.act)) return {column, column};
  const std::int64_t unit = problem.il == 0 ? columns : problem.il;
  const std::int64_t first = column / unit * 2 * unit + column % unit, second = first + unit;
  return problem.gate_second ? Halves{second, first} : Halves{first, second};
}

// The errors that each output of one case may have.
class ActivationJudge {
 public:
  explicit ActivationJudge(const QuantizeCase& quantize)
      : quantize_(quantize),
        problem_(quantize.problem),
        type_(*problem_.in),
        shape_(quantize.shape()),
        features_(is_gated(problem_.act) ? 2 * columns() : columns()),
        bounds_(static_cast<std::size_t>(quantize.capacity * shape_.out_columns)),
        of_rows_(static_cast<std::size_t>(quantize.capacity)),
        of_columns_(static_cast<std::size_t>(problem_.g * features_)) {
    for (std::size_t g = 0; g < quantize.groups.begin.size(); ++g) {
      for (std::int64_t row = quantize.groups.begin[g]; row < quantize.groups.end[g]; ++row) add_row(g, row);
    }
  }

  std::string fault_of_d(const Bytes& wanted, const Bytes& got) const {
    std::string fault = outside(wanted, got);
    for (std::size_t g = 0; fault.empty() && g < quantize_.groups.begin.size(); ++g) {
      const std::int64_t columns_out = shape_.out_columns;
      for (std::int64_t i = quantize_.groups.begin[g] * columns_out; i < quantize_.groups.end[g] * columns_out; ++i) {
        const std::uint32_t want = element_bits(type_, wanted.data(), i), have = element_bits(type_, got.data(), i);
        const Bound& bound = bounds_[static_cast<std::size_t>(i)];
        if (within(type_, want, have, bound)) continue;
        return fmt::format("d row {} column {}: {} ({:#x}) instead of {} ({:#x}), factors of {:.3g}", i / columns_out,
                           i % columns_out, element_value(type_, have), have, element_value(type_, want), want,
                           bound.magnitude);
      }
    }
    return fault;
  }

  std::string fault_of_dprobs(const Bytes& wanted, const Bytes& got) const {
    std::vector<bool> in_group(of_rows_.size());
    for (std::size_t g = 0; g < quantize_.groups.begin.size(); ++g) {
      for (std::int64_t row = quantize_.groups.begin[g]; row < quantize_.groups.end[g]; ++row) {
        in_group[static_cast<std::size_t>(row)] = true;
      }
    }
    for (std::size_t row = 0; row < in_group.size(); ++row) {
      const auto i = static_cast<std::int64_t>(row);
      const float want = float_at(wanted, i), have = float_at(got, i);
      const bool right = in_group[row] ? sum_within(want, have, of_rows_[row], columns())
                                       : std::memcmp(wanted.data() + i * 4, got.data() + i * 4, 4) == 0;
      if (!right) return fmt::format("dprobs of row {}: {} instead of {}", row, have, want);
    }
    return "";
  }

  std::string fault_of_dbias(const Bytes& wanted, const Bytes& got) const {
    for (std::size_t i = 0; i < of_columns_.size(); ++i) {
      const std::size_t g = i / static_cast<std::size_t>(features_);
      const std::int64_t rows = quantize_.groups.end[g] - quantize_.groups.begin[g];
      const auto index = static_cast<std::int64_t>(i);
      const float want = float_at(wanted, index), have = float_at(got, index);
      if (sum_within(want, have, of_columns_[i], rows)) continue;
      return fmt::format("dbias of group {} column {}: {} instead of {}", g, index % features_, have, want);
    }
    return "";
  }

 private:
  std::int64_t columns() const { return problem_.layout == Layout::uniform ? problem_.k : problem_.c; }
  bool grad() const { return problem_.has(Flag::grad) && problem_.act != Activation::none; }
  double element(const Bytes& from, std::int64_t index) const { return element_value(type_, from.data(), index); }

  double pre_activation(std::size_t group, std::int64_t row, std::int64_t feature) const {
    const double x = element(grad() ? quantize_.pre : quantize_.in, row * features_ + feature);
    if (quantize_.bias.empty()) return x;
    return x + element(quantize_.bias, static_cast<std::int64_t>(group) * features_ + feature);
  }

  static void add(Bound& sum, const Bound& term) {
    sum.magnitude += term.magnitude;
    sum.peak += term.peak;
  }

  // Next to a limit of the clamp, where the rounding of the bias' sum decides between 0 and not.
  bool at_a_jump(double a, double b) const {
    if (problem_.act != Activation::clamped_swiglu || quantize_.bias.empty()) return false;
    constexpr double kLimit = 7, kNear = 1e-5;
    return std::abs(a - kLimit) < kNear || std::abs(std::abs(b) - kLimit) < kNear;
  }

  void set(std::size_t group, std::int64_t row, std::int64_t feature, const Bound& bound) {
    bounds_[static_cast<std::size_t>(row * shape_.out_columns + feature)] = bound;
    if (static_cast<std::int64_t>(of_columns_.size()) == problem_.g * shape_.out_columns) {
      add(of_columns_[group * static_cast<std::size_t>(shape_.out_columns) + static_cast<std::size_t>(feature)], bound);
    }
  }

  void add_row(std::size_t group, std::int64_t row) {
    const double p = quantize_.probs.empty() ? 1 : quantize_.probs[static_cast<std::size_t>(row)];
    for (std::int64_t column = 0; column < columns(); ++column) {
      const Halves halves = halves_of(problem_, columns(), column);
      const double a = pre_activation(group, row, halves.gate), b = pre_activation(group, row, halves.up);
      const ActivationBounds bounds = activation_bounds(problem_.act, a, b);
      if (!grad()) {
        set(group, row, column, bounds.y.times(p));
        continue;
      }
      const double dy = element(quantize_.in, row * columns() + column);
      add(of_rows_[static_cast<std::size_t>(row)], bounds.y.times(dy));
      const Bound anything{0, HUGE_VAL};
      const bool jump = at_a_jump(a, b);
      set(group, row, halves.gate, jump ? anything : bounds.da.times(p).times(dy));
      if (is_gated(problem_.act)) set(group, row, halves.up, jump ? anything : bounds.db.times(p).times(dy));
    }
  }

  // Rows of no group are as they were.
  std::string outside(const Bytes& wanted, const Bytes& got) const {
    Bytes want = wanted, have = got;
    const auto row_bytes = static_cast<std::size_t>(shape_.out_columns * size_bytes(type_));
    for (std::size_t g = 0; g < quantize_.groups.begin.size(); ++g) {
      const std::size_t begin = static_cast<std::size_t>(quantize_.groups.begin[g]) * row_bytes,
                        end = static_cast<std::size_t>(quantize_.groups.end[g]) * row_bytes;
      std::fill(want.begin() + static_cast<std::ptrdiff_t>(begin), want.begin() + static_cast<std::ptrdiff_t>(end), 0);
      std::fill(have.begin() + static_cast<std::ptrdiff_t>(begin), have.begin() + static_cast<std::ptrdiff_t>(end), 0);
    }
    return difference("d outside every group", want, have);
  }

  const QuantizeCase& quantize_;
  const Problem& problem_;
  DType type_;
  QuantizeShape shape_;
  std::int64_t features_;
  std::vector<Bound> bounds_;                // of the unquantized output
  std::vector<Bound> of_rows_, of_columns_;  // of dprobs and dbias
};

// What the kernel computes in f32 and the oracle in f64.
std::string inexact_fault(const QuantizeCase& quantize, const Results& wanted, const Results& got) {
  const ActivationJudge judge(quantize);
  std::string fault;
  if (quantize.problem.op == Operation::activation) fault = judge.fault_of_d(wanted.d, got.d);
  if (!fault.empty()) return fault;
  if (!wanted.dprobs.empty()) fault = judge.fault_of_dprobs(wanted.dprobs, got.dprobs);
  if (fault.empty() && !wanted.dbias.empty()) fault = judge.fault_of_dbias(wanted.dbias, got.dbias);
  return fault;
}

// Everything but the sums.
std::string exact_difference(Results wanted, Results got) {
  for (Results* results : {&wanted, &got}) {
    results->dprobs.clear();
    results->dbias.clear();
  }
  return difference(wanted, got);
}

std::string judge_fused(const QuantizeCase& fused, const Results& got) {
  QuantizeCase activation = fused;
  activation.problem = activation_part(fused.problem);
  const Results activated = QuantizeBuffers(activation).run(runtime().prepare_quantize(activation.problem));
  const std::string fault = judge(activation, activated);
  if (!fault.empty()) return "the activation alone: " + fault;
  return exact_difference(expected(quantization_case(fused, activated.d)), got);
}

}  // namespace

Problem activation_part(const Problem& fused) {
  Problem part = fused;
  part.op = Operation::activation;
  part.out.reset();
  part.d = fused.in;
  part.dir = Direction::row;
  part.flags &= static_cast<std::uint32_t>(Flag::bias) | static_cast<std::uint32_t>(Flag::probs) |
                static_cast<std::uint32_t>(Flag::grad);
  return part;
}

Problem quantization_part(const Problem& fused) {
  Problem part = fused;
  const std::int64_t columns = quantize_shape(fused).out_columns;
  (fused.layout == Layout::uniform ? part.k : part.c) = columns;
  part.act = Activation::none;
  part.gate_second = false;
  part.il = 0;
  part.flags &= static_cast<std::uint32_t>(Flag::amax) | static_cast<std::uint32_t>(Flag::given);
  return part;
}

QuantizeCase quantization_case(const QuantizeCase& fused, Bytes activated) {
  QuantizeCase part;
  part.problem = quantization_part(fused.problem);
  part.groups = fused.groups;
  part.capacity = fused.capacity;
  part.in = std::move(activated);
  part.given = fused.given;
  part.amax_floor = fused.amax_floor;
  return part;
}

std::string judge(const QuantizeCase& quantize, const Results& got) {
  if (quantize.noop != 0) return difference(poisoned(quantize), got);
  const Results wanted = expected(quantize);
  if (quantize.problem.op == Operation::activation || !wanted.dprobs.empty() || !wanted.dbias.empty()) {
    const std::string fault = inexact_fault(quantize, wanted, got);
    if (!fault.empty()) return fault;
  }
  if (quantize.problem.op == Operation::activation) return "";
  return quantize.problem.act == Activation::none ? exact_difference(wanted, got) : judge_fused(quantize, got);
}

std::string fault(const Quantize& kernel, const QuantizeCase& quantize) {
  QuantizeBuffers buffers(quantize);
  const Results first = buffers.run(kernel);
  const std::string text = judge(quantize, first);
  if (!text.empty()) return text;
  const std::string other = difference(first, buffers.run(kernel));
  return other.empty() ? "" : "a second run is not the same: " + other;
}

std::string fault(const QuantizeCase& quantize) {
  return fault(runtime().prepare_quantize(quantize.problem), quantize);
}

bool is_refusal(const Error& error) {
  return error.code() == ErrorCode::invalid_problem || error.code() == ErrorCode::no_kernel;
}

std::vector<Prepared> prepare_all(const std::vector<Problem>& problems) {
  constexpr unsigned kThreads = 8;
  std::vector<Prepared> all(problems.size());
  const auto prepare = [&](std::size_t i) {
    all[i].problem = problems[i];
    try {
      all[i].kernel = runtime().prepare_quantize(problems[i], {0, 0});
    } catch (const Error& error) {
      if (!is_refusal(error)) throw;
      all[i].refusal = error.what();
    }
    // What judge() will need, where there is one; it says itself what is wrong with it.
    const Problem& problem = problems[i];
    if (!all[i].kernel || problem.op != Operation::quantize || problem.act == Activation::none) return;
    try {
      runtime().prepare_quantize(activation_part(problem), {0, 0});
    } catch (const Error&) {
    }
  };
  parallel_for(problems.size(), prepare, kThreads);
  return all;
}

}  // namespace octet::test
