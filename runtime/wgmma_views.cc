#include "runtime/wgmma_views.h"

#include "runtime/integers.h"

namespace octet {
namespace {

MapElement map_element(DType type) {
  return type == DType::bf16 ? MapElement::bf16 : type == DType::fp16 ? MapElement::fp16 : MapElement::f32;
}

// An operand's rows of FP8. Pointers may be null where there are no rows; a map needs one, and reads nothing through
// it.
MatrixView data_view(const GemmCall& call, const void* data, std::int64_t rows, std::int64_t columns,
                     std::int64_t stride, int box_rows) {
  return {data != nullptr ? data : call.placeholder(), MapElement::byte, rows, columns, stride, box_rows, 128, true};
}

// 1x128 scales: one row for each block of 128 along K, and its length as it lies.
MatrixView vector_view(const GemmCall& call, const void* sf, std::int64_t blocks, std::int64_t columns, int box_rows) {
  return {sf != nullptr ? sf : call.placeholder(),
          MapElement::f32,
          blocks,
          columns,
          round_up(columns, 4),
          1,
          box_rows,
          false};
}

}  // namespace

MatrixView a_view(const GemmCall& call, int box_rows) {
  return data_view(call, call.args.a.data, call.traits.wgrad ? call.problem.n : call.capacity, call.inner.elements,
                   call.strides.a, box_rows);
}

MatrixView b_view(const GemmCall& call, int box_rows) {
  const Problem& problem = call.problem;
  // With pointers each group has a map of its own.
  const std::int64_t weights = problem.weights_by_pointer ? problem.n : problem.g * problem.n;
  return data_view(call, call.args.b.data, call.traits.wgrad ? problem.k : weights, call.inner.elements, call.strides.b,
                   box_rows);
}

MatrixView sfa_view(const GemmCall& call, int box_rows) {
  const Problem& problem = call.problem;
  const std::int64_t blocks = call.inner.blocks;
  if (call.traits.wgrad) return vector_view(call, call.args.a.sf, blocks, problem.n, box_rows);
  if (call.traits.masked) return vector_view(call, call.args.a.sf, problem.g * blocks, problem.m, box_rows);
  return vector_view(call, call.args.a.sf, blocks, call.capacity, box_rows);
}

MatrixView sfb_view(const GemmCall& call, int box_rows) {
  const Problem& problem = call.problem;
  const std::int64_t blocks = call.inner.blocks;
  if (call.traits.wgrad) return vector_view(call, call.args.b.sf, blocks, problem.k, box_rows);
  if (problem.weights_by_pointer) return vector_view(call, call.args.b.sf, blocks, problem.n, box_rows);
  if (problem.dir == Direction::col) {
    return vector_view(call, call.args.b.sf, problem.g * blocks, problem.n, box_rows);
  }
  return vector_view(call, call.args.b.sf, blocks, problem.g * problem.n, box_rows);
}

MatrixView d_view(const GemmCall& call) {
  const GemmTraits& traits = call.traits;
  MatrixView view;
  view.data = call.args.d != nullptr ? call.args.d : call.placeholder();
  view.element = map_element(*call.problem.d);
  view.rows = traits.wgrad ? call.problem.n : call.capacity;
  view.columns = traits.d_columns;
  view.row_stride = call.strides.d;
  view.box_rows = 64;
  view.box_columns = traits.chunk_width / traits.element_bytes;
  view.swizzled = true;
  if (traits.wgrad) view.matrices = call.problem.weights_by_pointer ? 1 : call.problem.g;
  return view;
}

}  // namespace octet
