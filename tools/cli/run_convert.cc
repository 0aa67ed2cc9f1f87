// A dequantizer or a converter on random data, exact on every executor. What it must give is read off the operand
// element by element; on a GPU all bytes must be the reference's too.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "octet/runtime.h"
#include "tools/cli/convert_operand.h"
#include "tools/cli/elements.h"
#include "tools/cli/execute.h"

namespace octet::cli {
namespace {

// What either operation writes: `d`, or data and scales.
struct Output {
  Quantized quantized;
  std::vector<std::uint8_t> d;
};

Output poisoned_output(const Case& run) {
  if (run.problem.op == Operation::convert) return {poisoned_like(run, *run.problem.out), {}};
  const std::int64_t elements = run.capacity * columns_of(run);
  return {{}, std::vector<std::uint8_t>(at(elements * size_bytes(*run.problem.d)), kPoison)};
}

Output execute_on_host(const Case& run, const Quantized& in) {
  Output out = poisoned_output(run);
  if (run.problem.op == Operation::convert) {
    reference::convert(run.problem, in.data.data(), in.sf.data(), run.groups, run.capacity, out.quantized.data.data(),
                       out.quantized.sf.data());
  } else {
    reference::dequantize(run.problem, in.data.data(), in.sf.data(), run.groups, run.capacity, out.d.data());
  }
  return out;
}

Output execute_on_device(const Case& run, const Quantized& in, int ordinal, const Effort& effort,
                         Execution& execution) {
  const DeviceContext context(ordinal);
  const DeviceStream stream;
  Runtime runtime;
  const Convert kernel = effort.spec
                             ? runtime.prepare_convert(*effort.spec, ordinal)
                             : runtime.prepare_convert(run.problem, {effort.expected_m, ordinal, effort.no_workspace});
  const Output poisoned = poisoned_output(run);
  const DeviceBuffer in_data(in.data), in_sf(in.sf), data(poisoned.quantized.data), sf(poisoned.quantized.sf),
      d(poisoned.d);
  DeviceBuffer splits;
  if (run.problem.layout != Layout::uniform && run.problem.layout != Layout::dense) {
    splits = upload_splits(run.problem.splits, reference::splits_array(run.groups, run.problem.splits.form));
  }
  ConvertArgs args;
  args.in = {in_data.data(), in_sf.data(), kernel.in_layout()};
  args.out = {data.data(), sf.data(), kernel.out_layout()};
  args.d = d.data();
  args.splits = splits.data();
  args.capacity = run.capacity;
  execution.times_us = time_on_device(effort.repeat, stream, [&](CUstream on) { kernel.launch(args, on); });
  execution.device = context.name();
  execution.kernel = kernel.spec().name();
  execution.config = to_string(kernel.spec().config);
  execution.compiled = runtime.statistics().compiled != 0;
  return {{data.download<std::uint8_t>(), sf.download<std::uint8_t>()}, d.download<std::uint8_t>()};
}

GroupResult judge_dequantized(const Case& run, const Quantized& in, const Output& out, std::size_t group) {
  const Recipe& recipe = *run.problem.a;
  const DType type = *run.problem.d;
  const Places places = places_of(run, recipe, run.problem.from);
  GroupResult result;
  result.rows = run.sizes[group];
  for_each_element(run, group, [&](std::int64_t g, std::int64_t r, std::int64_t c) {
    const auto sf = static_cast<float>(scale_value(in.sf, recipe, places.scale(g, r, c)));
    const float value = reference::from_fp8(in.data[at(places.data(g, r, c))], recipe.type) * sf;
    const std::int64_t element = (run.groups.begin[group] + r) * columns_of(run) + c;
    result.error += element_at(out.d, type, element) == rounded(value, type) ? 0 : 1;
    ++result.checked;
  });
  return result;
}

// Whether element (g, r, c) has the same byte and the same scale in both.
bool same_element(const Quantized& x, const Places& x_at, const Quantized& y, const Places& y_at, std::int64_t g,
                  std::int64_t r, std::int64_t c) {
  const auto size = at(scale_bytes(x_at.recipe()));
  return x.data[at(x_at.data(g, r, c))] == y.data[at(y_at.data(g, r, c))] &&
         std::memcmp(&x.sf[at(x_at.scale(g, r, c)) * size], &y.sf[at(y_at.scale(g, r, c)) * size], size) == 0;
}

GroupResult judge_converted(const Case& run, const Quantized& in, const Output& out, std::size_t group) {
  const Places from = places_of(run, *run.problem.a, run.problem.from),
               to = places_of(run, *run.problem.out, run.problem.to);
  GroupResult result;
  result.rows = run.sizes[group];
  for_each_element(run, group, [&](std::int64_t g, std::int64_t r, std::int64_t c) {
    result.error += same_element(in, from, out.quantized, to, g, r, c) ? 0 : 1;
    ++result.checked;
  });
  return result;
}

// Rows of the unquantized output, or of data that lies as the rows do.
std::string find_written_tail(const Case& run, const Output& out) {
  const bool dequantized = run.problem.op == Operation::dequantize;
  if (!dequantized && places_of(run, *run.problem.out, run.problem.to).transposed()) return "";
  const std::vector<std::uint8_t>& bytes = dequantized ? out.d : out.quantized.data;
  const std::int64_t row_bytes = columns_of(run) * (dequantized ? size_bytes(*run.problem.d) : 1);
  const std::vector<bool> inside = rows_in_groups(run);
  for (std::int64_t row = 0; row < run.capacity; ++row) {
    const auto begin = bytes.begin() + row * row_bytes;
    const bool kept = std::all_of(begin, begin + row_bytes, [](std::uint8_t byte) { return byte == kPoison; });
    if (!inside[at(row)] && !kept) return fmt::format("row {} is outside every group, but was written", row);
  }
  return "";
}

std::string find_difference(const Output& got, const Output& want) {
  const auto first = [](const char* name, const std::vector<std::uint8_t>& x, const std::vector<std::uint8_t>& y) {
    const auto [a, b] = std::mismatch(x.begin(), x.end(), y.begin());
    if (a == x.end()) return std::string();
    return fmt::format("{}: byte {} is 0x{:02X}, in the reference 0x{:02X}", name, a - x.begin(), *a, *b);
  };
  std::string fault = first("data", got.quantized.data, want.quantized.data);
  if (fault.empty()) fault = first("scales", got.quantized.sf, want.quantized.sf);
  return fault.empty() ? first("output", got.d, want.d) : fault;
}

// Of the rows that exist: FP8 in, and FP8 or the output out, with their scales.
double bytes_moved(const Case& run, const Quantized& in, const Output& out) {
  const double share = run.capacity == 0 ? 0 : static_cast<double>(run.rows) / static_cast<double>(run.capacity);
  const double elements = static_cast<double>(run.rows) * static_cast<double>(columns_of(run));
  const double written = run.problem.d ? size_bytes(*run.problem.d) : 1;
  return elements * (1 + written) + share * static_cast<double>(in.sf.size() + out.quantized.sf.size());
}

}  // namespace

Verdict run_convert(const Case& run, Device device, const Effort& effort) {
  const Quantized in = make_operand(run);
  Verdict verdict;
  Output out;
  if (device) {
    out = execute_on_device(run, in, *device, effort, verdict.execution);
  } else {
    verdict.execution.device = "reference";
    verdict.execution.times_us = time_on_host(effort.repeat, [&] { out = execute_on_host(run, in); });
  }
  const bool converts = run.problem.op == Operation::convert;
  verdict.measure = converts ? "elements whose byte or scale is not that of the operand"
                             : "elements that are not value * SF, rounded";
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    verdict.groups.push_back(converts ? judge_converted(run, in, out, g) : judge_dequantized(run, in, out, g));
  }
  verdict.fault = find_written_tail(run, out);
  if (device && verdict.fault.empty()) verdict.fault = find_difference(out, execute_on_host(run, in));
  verdict.bytes = bytes_moved(run, in, out);
  return verdict;
}

}  // namespace octet::cli
