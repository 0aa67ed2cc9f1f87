#include "tests/gpu/quantize_case.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "tests/gpu/splits.h"

namespace octet::test {
namespace {

constexpr std::uint16_t kNan = 0x7FC1, kInfinity = 0x7F80, kSign = 0x8000;

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

std::uint16_t random_sign(Random& random) { return random.chance(0.5) ? kSign : std::uint16_t{0}; }

// Fills one row's part of a block.
void awkward_block(std::uint16_t* to, std::int64_t count, Random& random) {
  const auto kind = random.integer(0, 9);
  const auto bits_up_to = [&](int most) {
    return static_cast<std::uint16_t>(random.integer(0, most) | random_sign(random));
  };
  const float magnitude = random.uniform(0.01F, 10);
  for (std::int64_t i = 0; i < count; ++i) {
    if (kind == 0)
      to[i] = random_sign(random);  // zeros of both signs
    else if (kind == 1)
      to[i] = bits_up_to(0x7F);  // subnormal
    else if (kind == 2)
      to[i] = bits_up_to(0x0480);  // 448 / amax overflows
    else if (kind == 3)
      to[i] = bits_up_to(kInfinity - 1);  // up to the largest finite value
    else
      to[i] = reference::to_bf16(magnitude * random.normal());
  }
  const auto place = [&] { return random.integer(0, count - 1); };
  if (kind == 4 || kind == 5) to[place()] = static_cast<std::uint16_t>(kNan | random_sign(random));
  if (kind == 5 || kind == 6) to[place()] = static_cast<std::uint16_t>(kInfinity | random_sign(random));
}

void awkward_row(std::uint16_t* row, std::int64_t columns, Random& random) {
  for (std::int64_t c = 0; c < columns; c += 128)
    awkward_block(row + c, std::min<std::int64_t>(128, columns - c), random);
}

}  // namespace

QuantizeData awkward_tokens(const QuantizeProblem& problem, const std::vector<std::int64_t>& sizes,
                            std::int64_t spare_rows, Random& random) {
  QuantizeData data;
  data.problem = problem;
  data.groups = reference::extents(sizes, problem.alignment);
  data.capacity = data.groups.end.back() + spare_rows;
  data.in.assign(size(data.capacity * problem.columns), kNan);
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    for (std::int64_t row = data.groups.begin[g]; row < data.groups.end[g]; ++row) {
      awkward_row(data.in.data() + row * problem.columns, problem.columns, random);
    }
  }
  return data;
}

QuantizeData awkward_weights(const QuantizeProblem& problem, Random& random) {
  QuantizeData data;
  data.problem = problem;
  data.capacity = problem.groups * problem.rows_per_group;
  data.in.resize(size(data.capacity * problem.columns));
  // One kind per 128 x 128 block, or hardly any block would be ordinary.
  for (std::int64_t row = 0; row < data.capacity; ++row) {
    const std::int64_t row_of_group = row % problem.rows_per_group;
    const std::int64_t slab =
        (row / problem.rows_per_group) * ((problem.rows_per_group + 127) / 128) + row_of_group / 128;
    for (std::int64_t c = 0; c < problem.columns; c += 128) {
      const bool awkward = (slab * 31 + c / 128) % 3 == 0;
      std::uint16_t* block = data.in.data() + row * problem.columns + c;
      const std::int64_t count = std::min<std::int64_t>(128, problem.columns - c);
      if (awkward)
        awkward_block(block, count, random);
      else if ((slab + c / 128) % 5 == 1)
        std::fill_n(block, count, random_sign(random));
      else
        std::generate_n(block, count, [&] { return reference::to_bf16(random.normal()); });
    }
  }
  return data;
}

Quantized expected(const QuantizeData& data) {
  Quantized result;
  result.data.assign(data.in.size(), 0xFF);
  result.sf.resize(size(reference::scale_count(data.problem, data.capacity)));
  std::memset(result.sf.data(), 0xFF, result.sf.size() * sizeof(float));
  if (data.weights()) {
    reference::quantize_blocks(data.problem, data.in.data(), result.data.data(), result.sf.data());
  } else {
    reference::quantize_rows(data.problem, data.in.data(), data.groups, data.capacity, result.data.data(),
                             result.sf.data());
  }
  return result;
}

QuantizeBuffers::QuantizeBuffers(const QuantizeData& input)
    : in(input.in),
      data(input.in.size()),
      sf(size(reference::scale_count(input.problem, input.capacity)) * sizeof(float)),
      capacity_(input.capacity) {
  if (!input.weights()) {
    splits = Buffer(
        splits_bytes(reference::splits_array(input.groups, input.problem.splits.form), input.problem.splits.is_i64));
  }
}

QuantizeArgs QuantizeBuffers::args(const Quantize& kernel) const {
  QuantizeArgs args;
  args.in = in.at();
  args.out = {data.at(), sf.at(), kernel.out_layout()};
  args.splits = splits.bytes() == 0 ? nullptr : splits.at();
  args.capacity = capacity_;
  return args;
}

void QuantizeBuffers::launch(const Quantize& kernel) {
  data.poison();
  sf.poison();
  kernel.launch(args(kernel), stream_);
}

Quantized QuantizeBuffers::run(const Quantize& kernel) {
  launch(kernel);
  stream_.synchronize();
  for (const Buffer* buffer : {&in, &data, &sf}) {
    if (!buffer->guards_intact()) throw std::runtime_error("the launch wrote outside its buffers");
  }
  return {data.values<std::uint8_t>(), sf.values<float>()};
}

std::string difference(const Quantized& wanted, const Quantized& got) {
  if (wanted.data.size() != got.data.size() || wanted.sf.size() != got.sf.size()) return "sizes differ";
  for (std::size_t i = 0; i < wanted.sf.size(); ++i) {
    if (std::memcmp(&wanted.sf[i], &got.sf[i], sizeof(float)) == 0) continue;
    return fmt::format("scale {}: {} instead of {}", i, got.sf[i], wanted.sf[i]);
  }
  const auto [want, have] = std::mismatch(wanted.data.begin(), wanted.data.end(), got.data.begin());
  if (want == wanted.data.end()) return "";
  return fmt::format("byte {}: {:#04x} instead of {:#04x}", want - wanted.data.begin(), *have, *want);
}

std::string fault(const QuantizeData& data) {
  return difference(expected(data), QuantizeBuffers(data).run(runtime().prepare(data.problem)));
}

}  // namespace octet::test
