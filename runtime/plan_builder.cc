#include "runtime/plan_builder.h"

#include "octet/layout.h"
#include "runtime/quantize_traits.h"

namespace octet {
namespace {

// A GEMM of columnwise operands knows one name for scales of 1x128 along their rows.
Recipe columnwise_recipe(Recipe recipe) {
  if (recipe.scale_layout == ScaleLayout::k_major) recipe.scale_layout = ScaleLayout::mn_major;
  return recipe;
}

// quantize_shape says the same, but multiplies sizes, which no rule has looked at yet.
std::int64_t written_columns(const Problem& quantizer) {
  const bool both_halves = quantizer.has(Flag::grad) && is_gated(quantizer.act);
  return (both_halves ? 2 : 1) * columns_of(quantizer);
}

OperandLayout layout_of(const Problem& producer, bool columnwise) {
  const ScaleLayout scales = producer.out->scale_layout;
  return {producer.layout, columnwise ? columnwise_scale_layout(scales) : scales, producer.al, columnwise};
}

}  // namespace

PlanBuilder::PlanBuilder(const PlanFacts& facts) { plan_.facts = facts; }

int PlanBuilder::add(PlanBuffer buffer) {
  plan_.buffers.push_back(std::move(buffer));
  return static_cast<int>(plan_.buffers.size()) - 1;
}

int PlanBuilder::tokens(const char* name, PlanRole role, PlanTensor tensor, std::int64_t columns) {
  PlanBuffer buffer;
  buffer.name = name;
  buffer.role = role;
  buffer.tensor = tensor;
  buffer.type = facts().d;
  buffer.columns = columns;
  return add(std::move(buffer));
}

int PlanBuilder::of_groups(const char* name, PlanRole role, PlanTensor tensor, DType type, std::int64_t columns) {
  PlanBuffer buffer;
  buffer.name = name;
  buffer.role = role;
  buffer.tensor = tensor;
  buffer.type = type;
  buffer.rows = facts().groups;
  buffer.columns = columns;
  return add(std::move(buffer));
}

int PlanBuilder::of_tokens(const char* name, PlanRole role, PlanTensor tensor) {
  const int index = tokens(name, role, tensor, 1);
  plan_.buffers.back().type = DType::f32;
  return index;
}

int PlanBuilder::between(const char* name, PlanRole role, PlanPass pass, std::int64_t columns) {
  const int index = tokens(name, role, PlanTensor::none, columns);
  plan_.buffers.back().pass = pass;
  return index;
}

int PlanBuilder::add_quantized(const std::string& name, PlanRole role, PlanPass pass, const Problem& producer,
                               bool columnwise) {
  PlanBuffer buffer;
  buffer.name = name + (columnwise ? ".col" : ".row");
  buffer.role = role;
  buffer.pass = pass;
  buffer.type = producer.out->type;
  buffer.columns = written_columns(producer);
  buffer.producer = producer;
  buffer.columnwise = columnwise;
  buffer.layout = layout_of(producer, columnwise);
  return add(std::move(buffer));
}

void PlanBuilder::add_step(PlanPass pass, const std::string& name, const Problem& problem, Arguments arguments) {
  PlanStep step;
  step.name = name;
  step.problem = problem;
  step.buffers.fill(-1);
  for (const auto& [argument, buffer] : arguments) step.buffers[static_cast<std::size_t>(argument)] = buffer;
  plan_.passes[static_cast<std::size_t>(pass)].push_back(std::move(step));
}

QuantizedPair PlanBuilder::weights(const std::string& name, PlanTensor tensor, std::int64_t n, std::int64_t k) {
  const std::int64_t tensors = facts().weights_by_pointer ? facts().groups : 1;
  Problem problem;
  problem.op = Operation::quantize;
  problem.layout = Layout::uniform;
  problem.g = facts().groups / tensors;
  problem.n = n;
  problem.k = k;
  problem.in = facts().d;
  problem.out = facts().weight_recipe();
  problem.dir = trains() ? Direction::row_col : Direction::row;
  problem.flags = bit(facts().noop, Flag::noop);
  const bool given = facts().primary_weights;
  if (facts().noop && noop_ < 0) {
    noop_ = of_groups("noop", PlanRole::input, PlanTensor::noop, DType::f32, 1);
    plan_.buffers.back().rows = 1;
  }
  const int master = given ? -1 : of_groups(name.c_str(), PlanRole::weight, tensor, facts().d, k);
  const PlanRole role = given ? PlanRole::weight : PlanRole::quantized_weights;
  QuantizedPair pair;
  pair.row = add_quantized(name, role, PlanPass::quantize_weights, problem, false);
  if (trains()) pair.col = add_quantized(name, role, PlanPass::quantize_weights, problem, true);
  for (const int index : {master, pair.row, pair.col}) {
    if (index < 0) continue;
    PlanBuffer& buffer = plan_.buffers[static_cast<std::size_t>(index)];
    buffer.tensors = tensors;
    if (index == master) buffer.rows = problem.g * n;
    if (given) buffer.tensor = tensor;
  }
  if (!given) {
    add_step(PlanPass::quantize_weights, "quantize_" + name, problem,
             {{PlanArgument::in, master},
              {PlanArgument::out, pair.row},
              {PlanArgument::out_col, pair.col},
              {PlanArgument::noop, noop_}});
  }
  return pair;
}

int PlanBuilder::weight_gradient(const char* name, PlanTensor tensor, std::int64_t n, std::int64_t k) {
  const int index = of_groups(name, PlanRole::output, tensor, facts().dw, k);
  PlanBuffer& buffer = plan_.buffers.back();
  buffer.tensors = facts().weights_by_pointer ? facts().groups : 1;
  buffer.rows = facts().groups / buffer.tensors * n;
  return index;
}

Problem PlanBuilder::token_quantizer(std::int64_t columns, const Recipe& recipe) const {
  Problem problem;
  problem.op = Operation::quantize;
  problem.layout = facts().layout;
  problem.g = facts().groups;
  problem.m = facts().max_m;
  problem.al = facts().alignment;
  problem.c = columns;
  problem.in = facts().d;
  problem.out = recipe;
  problem.splits = facts().splits;
  problem.dir = trains() ? Direction::row_col : Direction::row;
  return problem;
}

QuantizedPair PlanBuilder::quantize(PlanPass pass, const std::string& name, const Problem& problem, PlanRole columns,
                                    Arguments arguments) {
  QuantizedPair pair;
  pair.row = add_quantized(name, PlanRole::scratch, pass, problem, false);
  if (problem.dir == Direction::row_col) pair.col = add_quantized(name, columns, pass, problem, true);
  add_step(pass, "quantize_" + name, problem, arguments);
  PlanStep& step = plan_.passes[static_cast<std::size_t>(pass)].back();
  step.buffers[static_cast<std::size_t>(PlanArgument::out)] = pair.row;
  step.buffers[static_cast<std::size_t>(PlanArgument::out_col)] = pair.col;
  return pair;
}

Problem PlanBuilder::multiplication(Operation op, std::int64_t n, std::int64_t k) const {
  Problem problem;
  problem.op = op;
  problem.layout = facts().layout;
  problem.g = facts().groups;
  problem.n = n;
  problem.k = k;
  problem.m = facts().max_m;
  problem.al = facts().alignment;
  problem.splits = facts().splits;
  problem.weights_by_pointer = facts().weights_by_pointer;
  problem.flags = bit(facts().fast_accumulate, Flag::fastacc);
  return problem;
}

void PlanBuilder::gemm(PlanPass pass, const char* name, std::int64_t n, std::int64_t k, Direction weights,
                       std::uint32_t flags, Arguments arguments) {
  Problem problem = multiplication(Operation::gemm, n, k);
  const bool columnwise = weights == Direction::col;
  problem.a = pass == PlanPass::forward ? facts().x_recipe() : facts().dy_recipe();
  problem.b = columnwise ? columnwise_recipe(facts().weight_recipe()) : facts().weight_recipe();
  problem.d = facts().d;
  problem.dir = weights;
  problem.flags |= flags;
  add_step(pass, name, problem, arguments);
}

void PlanBuilder::wgrad(const char* name, std::int64_t n, std::int64_t k, Arguments arguments) {
  Problem problem = multiplication(Operation::wgrad, n, k);
  problem.a = columnwise_recipe(facts().dy_recipe());
  problem.b = columnwise_recipe(facts().x_recipe());
  problem.d = facts().dw;
  problem.flags |= bit(facts().accumulate, Flag::acc);
  add_step(PlanPass::backward_weights, name, problem, arguments);
}

}  // namespace octet
