#include "tests/gpu/convert_case.h"

#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "tests/gpu/elements.h"
#include "tests/gpu/splits.h"

namespace octet::test {
namespace {

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

bool columnwise(const Problem& problem) { return problem.dir == Direction::col; }
std::int64_t columns(const Problem& problem) { return problem.layout == Layout::uniform ? problem.k : problem.c; }

QuantizedBytes bytes_of(const ConvertCase& convert, const Recipe& recipe) {
  return quantized_bytes(convert.problem, recipe, columnwise(convert.problem), columns(convert.problem),
                         convert.capacity);
}

bool has_bytes_as_scales(const Recipe& recipe) {
  return recipe.granularity == Granularity::mx_1x32 || recipe.granularity == Granularity::mx_32x32;
}

ConvertCase without_codes(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows) {
  ConvertCase convert;
  convert.problem = problem;
  convert.groups = group_extents(problem, sizes);
  convert.capacity = buffer_rows(problem, convert.groups.end.back() + spare_rows);
  return convert;
}

Converted poisoned(const ConvertCase& convert) {
  const Problem& problem = convert.problem;
  Converted results;
  if (problem.op == Operation::dequantize) {
    results.d.assign(size(quantize_shape(problem, convert.capacity).d_bytes), 0xFF);
  } else {
    const QuantizedBytes bytes = bytes_of(convert, *problem.out);
    results.data.assign(size(bytes.data), 0xFF);
    results.sf.assign(size(bytes.sf), 0xFF);
  }
  return results;
}

Bytes read(const Buffer& buffer) {
  if (!buffer.guards_intact()) throw std::runtime_error("the launch wrote outside its buffers");
  return buffer.values<std::uint8_t>();
}

std::string difference_of_d(DType type, const Bytes& wanted, const Bytes& got) {
  const std::int64_t count = std::ssize(wanted) / size_bytes(type);
  const std::uint32_t poison = type == DType::f32 ? 0xFFFFFFFF : 0xFFFF;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t want = element_bits(type, wanted.data(), i), have = element_bits(type, got.data(), i);
    if (want == have) continue;
    // Processors differ in the bits of the NaN that they make; none makes the poison.
    if (is_nan_bits(type, want) && want != poison && is_nan_bits(type, have) && have != poison) continue;
    return fmt::format("element {}: {} ({:#x}) instead of {} ({:#x})", i, element_value(type, have), have,
                       element_value(type, want), want);
  }
  return "";
}

}  // namespace

ConvertCase random_codes(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows, Random& random) {
  ConvertCase convert = without_codes(problem, sizes, spare_rows);
  const QuantizedBytes bytes = bytes_of(convert, *problem.a);
  const auto any_byte = [&] { return static_cast<std::uint8_t>(random.integer(0, 255)); };
  convert.data.resize(size(bytes.data));
  for (std::uint8_t& byte : convert.data) byte = any_byte();
  convert.sf.resize(size(bytes.sf));
  if (has_bytes_as_scales(*problem.a)) {
    for (std::uint8_t& byte : convert.sf) byte = any_byte();
    return convert;
  }
  for (std::int64_t i = 0; i < bytes.sf / 4; ++i) {
    const float scale = std::ldexp(random.uniform(1, 2), static_cast<int>(random.integer(-130, 120)));
    std::memcpy(convert.sf.data() + i * 4, &scale, sizeof scale);
  }
  return convert;
}

ConvertCase quantized_codes(const Problem& problem, const Sizes& sizes, std::int64_t spare_rows, Random& random) {
  ConvertCase convert = without_codes(problem, sizes, spare_rows);
  Problem quantizer = problem;
  quantizer.op = Operation::quantize;
  quantizer.out = problem.a;
  quantizer.a.reset();
  quantizer.d.reset();
  quantizer.in = DType::bf16;
  quantizer.from = quantizer.to = Packing::octet;
  const Results codes = expected(awkward_case(quantizer, sizes, spare_rows, random));
  convert.data = columnwise(problem) ? codes.data_col : codes.data;
  convert.sf = columnwise(problem) ? codes.sf_col : codes.sf;
  return convert;
}

Converted expected(const ConvertCase& convert) {
  Converted results = poisoned(convert);
  if (convert.problem.op == Operation::dequantize) {
    reference::dequantize(convert.problem, convert.data.data(), convert.sf.data(), convert.groups, convert.capacity,
                          results.d.data());
  } else {
    reference::convert(convert.problem, convert.data.data(), convert.sf.data(), convert.groups, convert.capacity,
                       results.data.data(), results.sf.data());
  }
  return results;
}

Converted run(const Convert& kernel, const ConvertCase& convert) {
  const Problem& problem = convert.problem;
  const Converted bytes = poisoned(convert);
  const Buffer data(convert.data), sf(convert.sf), out_data(bytes.data), out_sf(bytes.sf), d(bytes.d);
  ConvertArgs args;
  args.in = {data.at(), sf.at(), kernel.in_layout()};
  if (problem.op == Operation::convert) args.out = {out_data.at(), out_sf.at(), kernel.out_layout()};
  args.d = problem.op == Operation::dequantize ? d.at() : nullptr;
  Buffer splits;
  if (problem.layout != Layout::uniform) {
    splits = Buffer(splits_bytes(reference::splits_array(convert.groups, problem.splits.form), problem.splits.is_i64));
    args.splits = splits.at();
  }
  args.capacity = convert.capacity;
  const OwnedStream stream;
  kernel.launch(args, stream);
  stream.synchronize();
  if (read(data) != convert.data || read(sf) != convert.sf) throw std::runtime_error("the launch changed its input");
  return {read(out_data), read(out_sf), read(d)};
}

std::string difference(const ConvertCase& convert, const Converted& wanted, const Converted& got) {
  if (convert.problem.op == Operation::dequantize) return difference_of_d(*convert.problem.d, wanted.d, got.d);
  const std::string text = difference("data", wanted.data, got.data);
  return text.empty() ? difference("sf", wanted.sf, got.sf) : text;
}

std::string fault(const ConvertCase& convert) {
  const Convert kernel = runtime().prepare_convert(convert.problem);
  const Converted first = run(kernel, convert);
  const std::string text = difference(convert, expected(convert), first);
  if (!text.empty()) return text;
  const Converted second = run(kernel, convert);
  const bool same = first.data == second.data && first.sf == second.sf && first.d == second.d;
  return same ? "" : "a second run is not the same";
}

}  // namespace octet::test
