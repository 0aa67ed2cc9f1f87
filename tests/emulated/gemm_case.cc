#include "tests/emulated/gemm_case.h"

#include <memory>
#include <utility>

#include "templates/abi.h"
#include "tests/emulated/case.h"
#include "tests/emulated/emulator.h"

namespace {

using octet::Direction;
using octet::DType;
using octet::Layout;
using octet::Operation;
using octet::Problem;
using octet::reference::GroupExtents;

constexpr float kAlpha = 1.25f;

// One quantized operand, its values, and its rows with or without gaps.
struct Tensor {
  emulator::Buffer data{0}, sf{0}, strided{0};
  std::vector<float> values;  // [rows][columns] as before quantization
  std::int64_t stride = 0;
  bool has_gaps = false;
  emulator::Buffer& buffer() { return has_gaps ? strided : data; }
};

emulator::Bytes source(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  std::vector<std::uint16_t> values = octet::reference::random_tokens(rows, columns, seed);
  for (std::int64_t row = 0; row < rows; row += 5) {
    for (std::int64_t c = 32; c < std::min<std::int64_t>(64, columns); ++c) values[row * columns + c] = 0;
  }
  emulator::Bytes bytes(values.size() * 2);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

void set_stride(Tensor& tensor, std::int64_t row_bytes, bool strided) {
  constexpr std::int64_t kGap = 16;
  tensor.stride = strided ? row_bytes + kGap : row_bytes;
  tensor.has_gaps = strided;
  if (!strided) return;
  const std::int64_t rows = static_cast<std::int64_t>(tensor.data.size()) / row_bytes;
  tensor.strided = emulator::Buffer(rows * tensor.stride);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::memcpy(tensor.strided.data() + row * tensor.stride, tensor.data.data() + row * row_bytes,
                static_cast<std::size_t>(row_bytes));
  }
}

Problem dequantizer_of(Problem quantizer) {
  quantizer.op = Operation::dequantize;
  quantizer.a = quantizer.out;
  quantizer.out.reset();
  quantizer.in.reset();
  quantizer.d = DType::f32;
  return quantizer;
}

// What the quantizer writes; every byte that it does not is NaN. With `nothing` all are.
void fill(Tensor& tensor, const Problem& quantizer, const GroupExtents& groups, std::int64_t capacity,
          std::uint64_t seed, bool nothing) {
  const octet::QuantizeShape shape = octet::quantize_shape(quantizer, capacity);
  const bool columnwise = quantizer.dir == Direction::col;
  const octet::QuantizedBytes bytes = columnwise ? shape.col : shape.row;
  tensor.data = emulator::Buffer(bytes.data);
  tensor.sf = emulator::Buffer(bytes.sf);
  if (nothing) return;
  const emulator::Bytes in = source(shape.rows, shape.in_columns, seed);
  octet::reference::QuantizeInputs inputs;
  inputs.in = in.data();
  octet::reference::QuantizeOutputs outputs;
  (columnwise ? outputs.data_col : outputs.data) = tensor.data.data();
  (columnwise ? outputs.sf_col : outputs.sf) = tensor.sf.data();
  octet::reference::quantize(quantizer, inputs, groups, capacity, outputs);
  const bool tokens = quantizer.layout != Layout::uniform;
  if (tokens && quantizer.out->granularity == octet::Granularity::mx_1x32) tensor.sf.data()[0] = 255;  // a NaN block
  tensor.values.assign(static_cast<std::size_t>(shape.rows * shape.in_columns), NAN);
  octet::reference::dequantize(dequantizer_of(quantizer), tensor.data.data(), tensor.sf.data(), groups, capacity,
                               tensor.values.data());
}

std::int64_t row_bytes(const Problem& quantizer, std::int64_t capacity) {
  const octet::QuantizeShape shape = octet::quantize_shape(quantizer, capacity);
  return quantizer.dir == Direction::col ? shape.ld_col : shape.in_columns;
}

// The matrices behind D of one type, with room for gaps.
struct Matrix {
  DType type;
  std::int64_t stride;
  emulator::Buffer buffer;

  Matrix(DType of, std::int64_t rows, std::int64_t row_stride)
      : type(of), stride(row_stride), buffer(rows * row_stride * octet::size_bytes(of)) {}
  std::uint8_t* at(std::int64_t row, std::int64_t column) {
    return buffer.data() + (row * stride + column) * octet::size_bytes(type);
  }
  double get(std::int64_t row, std::int64_t column) {
    float wide;
    std::uint16_t bits;
    _Float16 half;
    if (type == DType::f32) return std::memcpy(&wide, at(row, column), 4), wide;
    if (type == DType::fp16) return std::memcpy(&half, at(row, column), 2), static_cast<double>(half);
    return std::memcpy(&bits, at(row, column), 2), octet::reference::from_bf16(bits);
  }
  void set(std::int64_t row, std::int64_t column, float value) {
    const std::uint16_t bits = octet::reference::to_bf16(value);
    const _Float16 half = static_cast<_Float16>(value);
    const void* from = type == DType::f32    ? static_cast<const void*>(&value)
                       : type == DType::fp16 ? &half
                                             : (void*)&bits;
    std::memcpy(at(row, column), from, static_cast<std::size_t>(octet::size_bytes(type)));
  }
};

// Rows of D of a group, and how many.
struct Rows {
  std::int64_t first, count;
};

class GemmCase {
 public:
  GemmCase(const char* text, const emulator::GemmVariant& variant)
      : problem(Problem::parse(text)),
        impossible(variant.impossible),
        strided(variant.strided),
        adds(problem.has(octet::Flag::acc) && !variant.zero_beta),
        wgrad(problem.op == Operation::wgrad),
        groups(emulator::extents_of(problem)),
        capacity(emulator::capacity_of(problem, groups)),
        columns(wgrad ? problem.k : problem.n),
        d_rows(wgrad ? problem.g * problem.n : capacity),
        d(*problem.d, d_rows, columns + (strided ? 16 : 0)),
        before(*problem.d, d_rows, d.stride),
        bias(*problem.d, problem.g, problem.n) {
    fill(a, octet::a_producer(problem), groups, capacity, 1, impossible);
    set_stride(a, row_bytes(octet::a_producer(problem), capacity), strided);
    fill_b();
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::int64_t g = 0; g < problem.g; ++g) {
      for (std::int64_t n = 0; n < problem.n; ++n) bias.set(g, n, uniform(random));
      const Rows rows = rows_of(g);
      for (std::int64_t row = rows.first; row < rows.first + rows.count && adds; ++row) {
        for (std::int64_t c = 0; c < columns; ++c) d.set(row, c, 8 * uniform(random));
      }
    }
    std::memcpy(before.buffer.data(), d.buffer.data(), d.buffer.size());
  }

  void run(const emulator::GemmKernel& kernel) {
    const emulator::SplitsArray splits(problem, groups, capacity, impossible);
    std::vector<const void*> b_data, b_sf, d_pointers;
    for (auto& tensor : b) b_data.push_back(tensor->buffer().data()), b_sf.push_back(tensor->sf.data());
    for (std::int64_t g = 0; wgrad && g < problem.g; ++g) d_pointers.push_back(d.at(g * problem.n, 0));
    allow(a);
    for (auto& tensor : b) allow(*tensor);
    octet::abi::PortableGemmParams params{};
    params.a = a.buffer().data(), params.a_sf = a.sf.data(), params.b = b_data[0], params.b_sf = b_sf[0];
    params.d = d.buffer.data(), params.bias = bias.buffer.data(), params.splits = splits.data;
    params.status = status, params.capacity = capacity;
    params.a_stride = a.stride, params.b_stride = b[0]->stride, params.d_stride = d.stride;
    params.alpha = kAlpha, params.beta = beta;
    std::vector<const void*> behind;
    if (problem.weights_by_pointer && wgrad) {
      params.d_pointers = place(d_pointers, behind);
      params.d = nullptr;
    } else if (problem.weights_by_pointer) {
      params.b = params.b_sf = nullptr;
      params.b_pointers = place(b_data, behind), params.b_sf_pointers = place(b_sf, behind);
    }
    std::vector<std::uint64_t> passed(kernel.param_bytes / 8);
    std::memcpy(passed.data(), &params, sizeof(params));
    if (!behind.empty()) std::memcpy(passed.data() + sizeof(params) / 8, behind.data(), behind.size() * 8);
    constexpr unsigned kBlocks = 3;  // few, so that each does several tiles
    emulator::launch(kBlocks, kernel.threads, [&] { kernel.main(passed.data()); });
  }

  int verdict() {
    emulator::Verdict result;
    result.guards("d", d.buffer);
    int failed = result.status();
    failed |= check_status();
    if (impossible) return failed;
    std::vector<bool> owned(static_cast<std::size_t>(d_rows));
    for (std::int64_t g = 0; g < problem.g; ++g) {
      failed |= check_group(g);
      for (std::int64_t row = 0; row < rows_of(g).count; ++row) owned[rows_of(g).first + row] = true;
    }
    for (std::int64_t row = 0; row < d_rows; ++row) {
      for (std::int64_t c = owned[row] ? columns : 0; c < d.stride; ++c) {
        if (std::memcmp(d.at(row, c), before.at(row, c), octet::size_bytes(d.type)) == 0) continue;
        std::printf("d row %ld column %ld was written\n", static_cast<long>(row), static_cast<long>(c));
        return 1;
      }
    }
    return failed;
  }

 private:
  // With w=pointers every group has a tensor of its own.
  void fill_b() {
    Problem quantizer = octet::b_producer(problem);
    const bool apart = problem.weights_by_pointer && !wgrad;
    if (apart) quantizer.g = 1;
    for (std::int64_t i = 0; i < (apart ? problem.g : 1); ++i) {
      b.push_back(std::make_unique<Tensor>());
      const GroupExtents extents = wgrad ? groups : octet::reference::uniform_extents(quantizer.g, quantizer.n);
      fill(*b.back(), quantizer, extents, capacity, 2 + i, impossible && wgrad);
      set_stride(*b.back(), row_bytes(quantizer, capacity), strided);
    }
  }
  static void allow(Tensor& tensor) {
    emulator::readable.emplace_back(tensor.buffer().data(), tensor.buffer().data() + tensor.buffer().size());
    emulator::readable.emplace_back(tensor.sf.data(), tensor.sf.data() + tensor.sf.size());
  }
  // In an array on the device, or null and behind the parameters.
  const void* const* place(const std::vector<const void*>& pointers, std::vector<const void*>& behind) const {
    if (strided) return pointers.data();
    behind.insert(behind.end(), pointers.begin(), pointers.end());
    return nullptr;
  }

  Rows rows_of(std::int64_t g) const {
    if (wgrad) return {g * problem.n, problem.n};
    return {groups.begin[g], groups.end[g] - groups.begin[g]};
  }
  double weight(std::int64_t g, std::int64_t n, std::int64_t k) const {
    const bool apart = b.size() > 1, transposed = problem.dir == Direction::col;
    const std::int64_t base = apart ? 0 : g * problem.n * problem.k;
    return b[apart ? g : 0]->values[base + (transposed ? k * problem.n + n : n * problem.k + k)];
  }
  double product(std::int64_t g, std::int64_t i, std::int64_t j) const {
    double sum = 0;
    if (wgrad) {
      for (std::int64_t r = groups.begin[g]; r < groups.end[g]; ++r)
        sum += static_cast<double>(a.values[r * problem.n + i]) * b[0]->values[r * problem.k + j];
    } else {
      const float* row = &a.values[(groups.begin[g] + i) * problem.k];
      for (std::int64_t k = 0; k < problem.k; ++k) sum += static_cast<double>(row[k]) * weight(g, j, k);
    }
    return sum;
  }
  double expected(std::int64_t g, std::int64_t i, std::int64_t j) {
    double value = kAlpha * product(g, i, j);
    if (problem.has(octet::Flag::bias)) value += bias.get(g, j);
    if (adds) value += beta * before.get(rows_of(g).first + i, j);
    return value;
  }
  // Per group, as docs/numerics.md bounds it.
  int check_group(std::int64_t g) {
    double errors = 0, norm = 0;
    const Rows rows = rows_of(g);
    for (std::int64_t i = 0; i < rows.count; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const double got = d.get(rows.first + i, j), wanted = expected(g, i, j);
        if (std::isnan(got) != std::isnan(wanted)) {
          std::printf("group %ld (%ld, %ld): %g instead of %g\n", static_cast<long>(g), static_cast<long>(i),
                      static_cast<long>(j), got, wanted);
          return 1;
        }
        if (std::isnan(got)) continue;
        errors += (got - wanted) * (got - wanted);
        norm += wanted * wanted;
      }
    }
    const double bound = d.type == DType::f32 ? 1e-5 : d.type == DType::fp16 ? 5e-4 : 3e-3;  // no 14-bit sums here
    if (errors <= bound * bound * norm) return 0;
    std::printf("group %ld: error %g\n", static_cast<long>(g), std::sqrt(errors / norm));
    return 1;
  }
  int check_status() const {
    const bool wanted = impossible && problem.has(octet::Flag::checked);
    const std::string text = octet::status_text(status);
    if (wanted != text.empty()) return 0;
    std::printf("status: '%s'\n", text.c_str());
    return 1;
  }

  const Problem problem;
  const bool impossible, strided, adds, wgrad;
  const float beta = adds ? 0.5f : 0;
  const GroupExtents groups;
  const std::int64_t capacity, columns, d_rows;
  Matrix d, before, bias;
  Tensor a;
  std::vector<std::unique_ptr<Tensor>> b;
  std::int32_t status[4] = {};
};

}  // namespace

int emulator::check_gemm(const char* problem, const GemmVariant& variant, const GemmKernel& kernel) {
  GemmCase gemm(problem, variant);
  gemm.run(kernel);
  return gemm.verdict();
}
