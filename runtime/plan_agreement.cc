#include "runtime/plan_agreement.h"

#include <fmt/format.h>

#include "octet/layout.h"
#include "runtime/gemm_traits.h"

namespace octet {
namespace {

// One copy of a quantized tensor, as far as its bytes and where they lie go.
struct Copy {
  Layout layout;
  std::int64_t g, m, al, n, columns;
  Splits splits;
  DType type;
  Granularity granularity;
  bool power_of_two, columnwise;
  ScaleLayout scales;
};
bool operator==(const Copy& x, const Copy& y) {
  return x.layout == y.layout && x.g == y.g && x.m == y.m && x.al == y.al && x.n == y.n && x.columns == y.columns &&
         x.splits == y.splits && x.type == y.type && x.granularity == y.granularity &&
         x.power_of_two == y.power_of_two && x.columnwise == y.columnwise && x.scales == y.scales;
}

Copy copy_of(const Problem& producer, bool columnwise, std::int64_t tensors) {
  const Recipe& recipe = *producer.out;
  return {producer.layout,    producer.g * tensors,
          producer.m,         producer.al,
          producer.n,         quantize_shape(producer, 0).out_columns,
          producer.splits,    recipe.type,
          recipe.granularity, recipe.power_of_two,
          columnwise,         columnwise ? columnwise_scale_layout(recipe.scale_layout) : recipe.scale_layout};
}

std::string text_of(const Copy& copy) {
  return fmt::format("{}{} of {} {} x {} columns, {}/{}{}", to_string(copy.type), copy.columnwise ? " columnwise" : "",
                     copy.g, to_string(copy.layout), copy.columns, to_string(copy.granularity), to_string(copy.scales),
                     copy.power_of_two ? ":pow2" : "");
}

// What a step says of a buffer that is quantized.
Copy said_of_copy(const PlanStep& step, PlanArgument argument) {
  const Problem& problem = step.problem;
  switch (argument) {
    case PlanArgument::a:
    case PlanArgument::b: {
      const Problem producer = argument == PlanArgument::a ? a_producer(problem) : b_producer(problem);
      return copy_of(producer, producer.dir == Direction::col, 1);
    }
    default:
      return copy_of(problem, argument == PlanArgument::out_col, 1);
  }
}

// And of one that is not.
struct Rows {
  DType type;
  std::int64_t columns;
};
bool operator==(const Rows& x, const Rows& y) { return x.type == y.type && x.columns == y.columns; }

Rows said_of_rows(const PlanStep& step, PlanArgument argument) {
  const Problem& problem = step.problem;
  if (is_gemm(problem)) return {*problem.d, is_wgrad(problem) ? problem.k : problem.n};  // d and bias
  const QuantizeShape shape = quantize_shape(problem, 0);
  switch (argument) {
    case PlanArgument::in:
      return {*problem.in, shape.in_columns};
    case PlanArgument::pre:
      return {*problem.in, shape.pre_columns};
    case PlanArgument::dbias:
      return {DType::f32, shape.out_columns};
    default:  // noop, probs, dprobs
      return {DType::f32, 1};
  }
}

std::string disagreement(const PlanStep& step, PlanArgument argument, const PlanBuffer& buffer) {
  const std::string where = fmt::format("step {} takes {} as {}", step.name, buffer.name, to_string(argument));
  if (buffer.producer) {
    const bool by_step = is_written(argument) && buffer.tensors > 1;  // such a step does one tensor at a time
    const Copy is = copy_of(*buffer.producer, buffer.columnwise, by_step ? 1 : buffer.tensors);
    const Copy said = said_of_copy(step, argument);
    return is == said ? "" : fmt::format("{}: {}, but it is {}", where, text_of(said), text_of(is));
  }
  const Rows is{buffer.type, buffer.columns}, said = said_of_rows(step, argument);
  if (is == said) return "";
  return fmt::format("{}: {} of {} columns, but it is {} of {}", where, to_string(said.type), said.columns,
                     to_string(is.type), is.columns);
}

}  // namespace

std::string first_disagreement(const Plan& plan) {
  for (const std::vector<PlanStep>& steps : plan.passes) {
    for (const PlanStep& step : steps) {
      for (std::size_t i = 0; i < kPlanArguments; ++i) {
        if (step.buffers[i] < 0) continue;
        const PlanBuffer& buffer = plan.buffers[static_cast<std::size_t>(step.buffers[i])];
        std::string text = disagreement(step, static_cast<PlanArgument>(i), buffer);
        if (!text.empty()) return text;
      }
    }
  }
  return "";
}

}  // namespace octet
