// A quantizer on a GPU against the reference, bit for bit.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "tools/cli/elements.h"
#include "tools/cli/quantize_check.h"

namespace octet::cli {
namespace {

GroupResult count_differences(const Case& run, const std::vector<QuantizedView>& got,
                              const std::vector<QuantizedView>& want, std::size_t group) {
  GroupResult result;
  result.rows = run.sizes[group];
  const auto g = static_cast<std::int64_t>(group);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Places& places = want[i].places;
    const auto size = at(scale_bytes(places.recipe()));
    for (std::int64_t r = 0; r < run.sizes[group]; ++r) {
      for (std::int64_t c = 0; c < places.columns(); ++c) {
        const std::size_t data = at(places.data(g, r, c)), sf = at(places.scale(g, r, c)) * size;
        const bool same =
            got[i].data[data] == want[i].data[data] && std::memcmp(&got[i].sf[sf], &want[i].sf[sf], size) == 0;
        result.error += same ? 0 : 1;
        ++result.checked;
      }
    }
  }
  return result;
}

// Where two buffers differ first; "" where they are equal. This includes padding, and the poison of what is no row's.
std::string first_difference(const char* name, const std::vector<std::uint8_t>& got,
                             const std::vector<std::uint8_t>& want) {
  const auto [x, y] = std::mismatch(got.begin(), got.end(), want.begin());
  if (x == got.end()) return "";
  return fmt::format("{}: byte {} is 0x{:02X}, in the reference 0x{:02X}", name, x - got.begin(), *x, *y);
}

std::string find_difference(const QuantizeOutput& got, const QuantizeOutput& want) {
  std::string fault = first_difference("rowwise data", got.data, want.data);
  if (fault.empty()) fault = first_difference("rowwise scales", got.sf, want.sf);
  if (fault.empty()) fault = first_difference("columnwise data", got.data_col, want.data_col);
  if (fault.empty()) fault = first_difference("columnwise scales", got.sf_col, want.sf_col);
  for (std::size_t g = 0; g < want.amax.size() && fault.empty(); ++g) {
    if (std::memcmp(&got.amax[g], &want.amax[g], sizeof(float)) == 0) continue;
    fault = fmt::format("group {}: amax is {}, in the reference {}", g, got.amax[g], want.amax[g]);
  }
  return fault;
}

}  // namespace

Verdict judge_equality(const Case& run, const QuantizeShape& shape, const QuantizeOutput& got,
                       const QuantizeOutput& want) {
  Verdict verdict;
  verdict.measure = "elements that differ from the reference, in their byte or their scale";
  const std::vector<QuantizedView> got_views = views_of(run, shape, got), want_views = views_of(run, shape, want);
  for (std::size_t g = 0; g < run.sizes.size(); ++g) {
    verdict.groups.push_back(count_differences(run, got_views, want_views, g));
  }
  // A tail that was written is named as such before it is named as a byte.
  verdict.fault = find_written_tail(run, shape, got);
  if (verdict.fault.empty()) verdict.fault = find_difference(got, want);
  if (verdict.fault.empty()) {
    verdict.fault =
        judge_sums(run, got, {want.dprobs.begin(), want.dprobs.end()}, {want.dbias.begin(), want.dbias.end()});
  }
  return verdict;
}

}  // namespace octet::cli
