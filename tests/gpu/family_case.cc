#include "tests/gpu/family_case.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "tests/gpu/elements.h"
#include "tests/gpu/splits.h"

namespace octet::test {
namespace {

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

bool is_columnwise(const Problem& producer) { return producer.dir == Direction::col; }

std::vector<std::uint16_t> random_values(const Problem& producer, std::int64_t capacity, std::uint64_t seed) {
  if (producer.layout == Layout::uniform) return reference::random_weights(producer.g, producer.n, producer.k, seed);
  if (capacity == 0) return {};
  return reference::random_tokens(capacity, producer.c, seed);
}

Bytes as_type(const std::vector<std::uint16_t>& values, DType type) {
  Bytes bytes(values.size() * size(size_bytes(type)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = rough_bits(type, reference::from_bf16(values[i]));
    set_element_bits(type, bytes.data(), static_cast<std::int64_t>(i), bits);
  }
  return bytes;
}

std::vector<bool> owned_rows(const FamilyCase& gemm_case) {
  std::vector<bool> owned(size(gemm_case.d_rows()), gemm_case.is_wgrad());
  if (gemm_case.is_wgrad()) return owned;
  for (std::size_t g = 0; g < gemm_case.groups.begin.size(); ++g) {
    std::fill(owned.begin() + gemm_case.groups.begin[g], owned.begin() + gemm_case.groups.end[g], true);
  }
  return owned;
}

Bytes random_old_d(const FamilyCase& gemm_case, std::uint64_t seed) {
  const std::int64_t row_bytes = gemm_case.d_row_bytes();
  Bytes old(size(gemm_case.d_rows() * row_bytes), 0xFF);
  if (!gemm_case.problem.has(Flag::acc) || old.empty()) return old;
  const Bytes values =
      as_type(reference::random_tokens(gemm_case.d_rows(), gemm_case.d_columns(), seed), *gemm_case.problem.d);
  const std::vector<bool> owned = owned_rows(gemm_case);
  for (std::size_t row = 0; row < owned.size(); ++row) {
    const auto first = static_cast<std::ptrdiff_t>(row) * row_bytes;
    if (owned[row]) std::copy_n(values.begin() + first, row_bytes, old.begin() + first);
  }
  return old;
}

// Rows with 0xFF after each.
Bytes with_gaps(const Bytes& rows, std::int64_t row_bytes, std::int64_t gap_bytes) {
  if (gap_bytes == 0) return rows;
  const std::size_t count = rows.size() / size(row_bytes), stride = size(row_bytes + gap_bytes);
  Bytes apart(count * stride, 0xFF);
  for (std::size_t row = 0; row < count; ++row) {
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(row * size(row_bytes)), row_bytes,
                apart.begin() + static_cast<std::ptrdiff_t>(row * stride));
  }
  return apart;
}

// The groups' parts in reverse order: pointers that happened to be in order would prove nothing.
Bytes reversed_groups(const Bytes& all, std::int64_t groups) {
  const auto part = static_cast<std::ptrdiff_t>(all.size()) / groups;
  Bytes reversed(all.size());
  for (std::ptrdiff_t g = 0; g < groups; ++g) {
    std::copy_n(all.begin() + g * part, part, reversed.begin() + (groups - 1 - g) * part);
  }
  return reversed;
}

// Scales of a weight per tensor, end to end. Only mn_major has those of one row of blocks of all groups together.
Bytes scales_by_group(const FamilyCase& gemm_case) {
  const Problem& problem = gemm_case.problem;
  const bool together = problem.b->scale_layout == ScaleLayout::mn_major && problem.dir == Direction::row &&
                        problem.b->granularity == Granularity::block_1x128;
  if (!together) return gemm_case.b_sf;
  const auto up4 = [](std::int64_t count) { return (count + 3) / 4 * 4; };
  const std::int64_t blocks = (problem.k + 127) / 128, from_ld = up4(problem.g * problem.n), to_ld = up4(problem.n);
  Bytes parts(size(problem.g * blocks * to_ld * 4), 0xFF);
  for (std::int64_t g = 0; g < problem.g; ++g) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      std::copy_n(gemm_case.b_sf.begin() + (block * from_ld + g * problem.n) * 4, problem.n * 4,
                  parts.begin() + (g * blocks + block) * to_ld * 4);
    }
  }
  return parts;
}

bool weights_by_pointer(const FamilyCase& gemm_case) {
  return gemm_case.problem.weights_by_pointer && !gemm_case.is_wgrad();
}

Bytes b_on_device(const FamilyCase& gemm_case) {
  const Bytes rows = with_gaps(gemm_case.b, gemm_case.b_row(), gemm_case.b_gap);
  return weights_by_pointer(gemm_case) ? reversed_groups(rows, gemm_case.problem.g) : rows;
}

Bytes b_sf_on_device(const FamilyCase& gemm_case) {
  if (!weights_by_pointer(gemm_case)) return gemm_case.b_sf;
  return reversed_groups(scales_by_group(gemm_case), gemm_case.problem.g);
}

Bytes d_on_device(const FamilyCase& gemm_case) {
  const Problem& problem = gemm_case.problem;
  const Bytes rows = with_gaps(gemm_case.old_d, gemm_case.d_row_bytes(), gemm_case.d_gap * size_bytes(*problem.d));
  return problem.weights_by_pointer && gemm_case.is_wgrad() ? reversed_groups(rows, problem.g) : rows;
}

// Where each group's part of a buffer that holds them in reverse order starts.
std::vector<const void*> reversed_pointers(const Buffer& buffer, std::int64_t groups) {
  const std::size_t part = buffer.bytes() / size(groups);
  std::vector<const void*> pointers;
  for (std::int64_t g = 0; g < groups; ++g) pointers.push_back(buffer.at(size(groups - 1 - g) * part));
  return pointers;
}

std::string coverage_fault(const FamilyCase& gemm_case, const Bytes& d) {
  const DType type = *gemm_case.problem.d;
  const std::vector<bool> owned = owned_rows(gemm_case);
  const std::int64_t columns = gemm_case.d_columns(), row_bytes = gemm_case.d_row_bytes();
  for (std::int64_t row = 0; row < gemm_case.d_rows(); ++row) {
    const auto begin = d.begin() + row * row_bytes;
    if (!owned[size(row)]) {
      const bool kept = std::all_of(begin, begin + row_bytes, [](std::uint8_t byte) { return byte == 0xFF; });
      if (!kept) return fmt::format("row {} of no group was written", row);
      continue;
    }
    for (std::int64_t column = 0; column < columns; ++column) {
      if (is_nan_bits(type, element_bits(type, d.data(), row * columns + column))) {
        return fmt::format("row {} column {}: NaN or not written", row, column);
      }
    }
  }
  return "";
}

bool within_bounds(const FamilyCase& gemm_case, const reference::GroupError& error) {
  // About 14 bits of the tensor core's own sum, over all of K.
  if (gemm_case.problem.has(Flag::fastacc)) return error.frobenius <= 1e-2 && error.metric <= 1e-4;
  return reference::within_bounds(error, *gemm_case.problem.d);
}

}  // namespace

std::int64_t FamilyCase::a_row() const {
  return is_wgrad() ? quantize_shape(a_producer(problem), capacity).ld_col : problem.k;
}

std::int64_t FamilyCase::b_row() const {
  return is_wgrad() ? quantize_shape(b_producer(problem), capacity).ld_col : problem.k;
}

QuantizedBytesOf quantized_values(const Problem& producer, const reference::GroupExtents& groups, std::int64_t capacity,
                                  const std::vector<std::uint16_t>& values) {
  const QuantizeShape shape = quantize_shape(producer, capacity);
  const QuantizedBytes bytes = is_columnwise(producer) ? shape.col : shape.row;
  QuantizedBytesOf quantized{Bytes(size(bytes.data), 0xFF), Bytes(size(bytes.sf), 0xFF)};
  if (values.empty()) return quantized;
  reference::QuantizeInputs inputs;
  inputs.in = values.data();
  reference::QuantizeOutputs outputs;
  (is_columnwise(producer) ? outputs.data_col : outputs.data) = quantized.data.data();
  (is_columnwise(producer) ? outputs.sf_col : outputs.sf) = quantized.sf.data();
  const bool weights = producer.layout == Layout::uniform;
  reference::quantize(producer, inputs, weights ? reference::uniform_extents(producer.g, producer.n) : groups,
                      weights ? 0 : capacity, outputs);
  return quantized;
}

QuantizedBytesOf quantized_operand(const Problem& producer, const reference::GroupExtents& groups,
                                   std::int64_t capacity, std::uint64_t seed) {
  return quantized_values(producer, groups, capacity, random_values(producer, capacity, seed));
}

FamilyCase family_case(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows, Random& random) {
  FamilyCase made;
  made.problem = problem;
  made.groups = group_extents(problem, sizes);
  made.capacity = problem.layout == Layout::dense ? made.groups.end.back()
                                                  : buffer_rows(problem, made.groups.end.back() + spare_rows);
  const auto seed = [&] { return static_cast<std::uint64_t>(random.integer(1, 1 << 30)); };
  QuantizedBytesOf a = quantized_operand(a_producer(problem), made.groups, made.capacity, seed());
  QuantizedBytesOf b = quantized_operand(b_producer(problem), made.groups, made.capacity, seed());
  made.a = std::move(a.data), made.a_sf = std::move(a.sf);
  made.b = std::move(b.data), made.b_sf = std::move(b.sf);
  if (problem.has(Flag::bias)) {
    made.bias = as_type(reference::random_tokens(problem.g, problem.n, seed()), *problem.d);
  }
  made.old_d = random_old_d(made, seed());
  // Sums of some thousand products stay below 65504, those of one product above the subnormal numbers.
  if (problem.d == DType::fp16) made.alpha = 0x1p-2F;
  return made;
}

FamilyBuffers::FamilyBuffers(const FamilyCase& gemm_case)
    : a(with_gaps(gemm_case.a, gemm_case.a_row(), gemm_case.a_gap)),
      a_sf(gemm_case.a_sf),
      b(b_on_device(gemm_case)),
      b_sf(b_sf_on_device(gemm_case)),
      d(d_on_device(gemm_case)),
      bias(gemm_case.bias),
      case_(gemm_case) {
  if (gemm_case.problem.layout != Layout::dense) set_splits(gemm_case.groups);
  if (gemm_case.problem.weights_by_pointer) place_pointers();
}

void FamilyBuffers::place_pointers() {
  host_pointers_ = reversed_pointers(case_.is_wgrad() ? d : b, case_.problem.g);
  if (!case_.is_wgrad()) host_sf_pointers_ = reversed_pointers(b_sf, case_.problem.g);
  pointers_ = Buffer(host_pointers_);
  sf_pointers_ = Buffer(host_sf_pointers_);
}

void FamilyBuffers::set_splits(const reference::GroupExtents& groups) {
  set_splits(reference::splits_array(groups, case_.problem.splits.form));
}

void FamilyBuffers::set_splits(const std::vector<std::int64_t>& values) {
  const std::vector<std::uint8_t> bytes = splits_bytes(values, case_.problem.splits.is_i64);
  // Written in place where it fits: a captured graph holds the address.
  if (splits.bytes() != bytes.size()) splits = Buffer(bytes.size());
  splits.upload(bytes.data(), bytes.size());
}

GemmArgs FamilyBuffers::args(const Gemm& gemm) {
  const std::size_t scratch = gemm.workspace_bytes(case_.capacity);
  if (scratch > workspace_.bytes()) workspace_ = Buffer(scratch);
  GemmArgs args;
  args.a = {a.at(), a_sf.at(), gemm.a_layout()};
  args.b = {b.at(), b_sf.at(), gemm.b_layout()};
  args.d = d.at();
  if (case_.problem.layout != Layout::dense) args.splits = splits.at();
  args.capacity = case_.capacity;
  args.workspace = scratch == 0 ? nullptr : workspace_.at();
  if (case_.problem.has(Flag::bias)) args.bias = bias.at();
  args.alpha = case_.alpha;
  args.beta = case_.beta;
  if (case_.a_gap != 0) args.a_stride = case_.a_row() + case_.a_gap;
  if (case_.b_gap != 0) args.b_stride = case_.b_row() + case_.b_gap;
  if (case_.d_gap != 0) args.d_stride = case_.d_columns() + case_.d_gap;
  if (case_.problem.has(Flag::checked)) args.status = status_.at();
  if (!case_.problem.weights_by_pointer) return args;
  const auto pointers = [&](const std::vector<const void*>& host, const Buffer& device) {
    return case_.pointers_on_device ? Pointers{nullptr, static_cast<const void* const*>(device.at())}
                                    : Pointers{host.data(), nullptr};
  };
  if (case_.is_wgrad()) {
    args.d = nullptr;
    args.d_data = pointers(host_pointers_, pointers_);
  } else {
    args.b.data = args.b.sf = nullptr;
    args.b_data = pointers(host_pointers_, pointers_);
    args.b_sf = pointers(host_sf_pointers_, sf_pointers_);
  }
  return args;
}

void FamilyBuffers::reset() {
  const Bytes before = d_on_device(case_);
  d.upload(before.data(), before.size());
  const std::vector<std::int32_t> zeros(4, 0);
  status_.upload(zeros.data(), 16);
  if (workspace_.bytes() != 0) workspace_.poison();
}

Bytes FamilyBuffers::run(const Gemm& gemm) { return run(gemm, args(gemm)); }

Bytes FamilyBuffers::run(const Gemm& gemm, const GemmArgs& arguments) {
  reset();
  gemm.launch(arguments, stream_);
  stream_.synchronize();
  return read();
}

Bytes FamilyBuffers::read() const {
  for (const Buffer* buffer :
       {&a, &a_sf, &b, &b_sf, &d, &bias, &splits, &status_, &workspace_, &pointers_, &sf_pointers_}) {
    if (buffer->bytes() != 0 && !buffer->guards_intact()) throw std::runtime_error("the launch wrote outside a buffer");
  }
  Bytes apart = d.values<std::uint8_t>();
  if (case_.is_wgrad() && case_.problem.weights_by_pointer) apart = reversed_groups(apart, case_.problem.g);
  if (case_.d_gap == 0) return apart;
  const std::int64_t row_bytes = case_.d_row_bytes(), stride = row_bytes + case_.d_gap * size_bytes(*case_.problem.d);
  Bytes rows;
  rows.reserve(size(case_.d_rows() * row_bytes));
  for (auto row = apart.begin(); row != apart.end(); row += stride) {
    rows.insert(rows.end(), row, row + row_bytes);
    const bool kept = std::all_of(row + row_bytes, row + stride, [](std::uint8_t byte) { return byte == 0xFF; });
    if (!kept) throw std::runtime_error("the launch wrote between the rows of D");
  }
  return rows;
}

std::string FamilyBuffers::status() const {
  const auto words = status_.values<std::int32_t>();
  return status_text({words[0], words[1], words[2], words[3]});
}

std::string judge(const FamilyCase& gemm_case, const Bytes& d, Random& random, std::int64_t samples_per_group) {
  const std::string coverage = coverage_fault(gemm_case, d);
  if (!coverage.empty() || d.empty()) return coverage;
  const auto threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const reference::GemmInputs inputs{gemm_case.a.data(),    gemm_case.a_sf.data(), gemm_case.b.data(),
                                     gemm_case.b_sf.data(), gemm_case.bias.data(), gemm_case.alpha,
                                     gemm_case.beta};
  const std::vector<reference::GroupError> errors = reference::compare_gemm(
      gemm_case.problem, inputs, gemm_case.groups, gemm_case.capacity, d.data(), gemm_case.old_d.data(),
      samples_per_group, static_cast<std::uint64_t>(random.integer(1, 1 << 30)), threads);
  for (std::size_t g = 0; g < errors.size(); ++g) {
    if (gemm_case.rows(g) > 0 && errors[g].samples == 0) return fmt::format("group {}: nothing was compared", g);
    if (within_bounds(gemm_case, errors[g])) continue;
    return fmt::format("group {} of {} rows: relative error {:.3g}, metric {:.3g} over {} elements", g,
                       gemm_case.rows(g), errors[g].frobenius, errors[g].metric, errors[g].samples);
  }
  return "";
}

std::string fault(const Gemm& gemm, const FamilyCase& gemm_case, Random& random) {
  FamilyBuffers buffers(gemm_case);
  const Bytes d = buffers.run(gemm);
  const std::string text = judge(gemm_case, d, random);
  if (!text.empty()) return text;
  if (gemm_case.problem.has(Flag::checked) && !buffers.status().empty()) return "status: " + buffers.status();
  return buffers.run(gemm) == d ? "" : "two runs differ";
}

std::string fault(const FamilyCase& gemm_case, Random& random) {
  return fault(runtime().prepare_gemm(gemm_case.problem, {0, 0}), gemm_case, random);
}

Bytes group_of(const FamilyCase& gemm_case, const Bytes& d, std::size_t group) {
  const auto g = static_cast<std::int64_t>(group);
  const std::int64_t n = gemm_case.problem.n, row = gemm_case.d_row_bytes();
  const std::int64_t begin = gemm_case.is_wgrad() ? g * n : gemm_case.groups.begin[group];
  const std::int64_t end = gemm_case.is_wgrad() ? (g + 1) * n : gemm_case.groups.end[group];
  return {d.begin() + begin * row, d.begin() + end * row};
}

std::vector<Spec> legal_specs(const Problem& problem) {
  std::vector<Spec> specs;
  for (const Candidate& candidate : explain(problem, Runtime::device_facts(0)).candidates) {
    if (!candidate.refused) specs.push_back(candidate.spec);
  }
  return specs;
}

}  // namespace octet::test
