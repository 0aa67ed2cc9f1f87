#include "runtime/resources.h"

#include <algorithm>
#include <charconv>

namespace octet {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The number that stands right before `unit`: 400 in "used 1 barriers, 400 bytes smem" for " bytes smem". 0 if none.
int number_before(std::string_view line, std::string_view unit) {
  const std::size_t end = line.find(unit);
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

// What follows `label` in the line, up to `end`; empty when the label is not there.
std::string_view after(std::string_view line, std::string_view label, char end) {
  const std::size_t found = line.find(label);
  if (found == std::string_view::npos) return {};
  const std::string_view rest = line.substr(found + label.size());
  return rest.substr(0, rest.find(end));
}

// A report: "Compiling entry function 'k'", then "Function properties for f" with f's stack and spills, for the entry
// point and for each function that it calls, and one "Used" line for the whole entry point. Passes have the name of the
// main entry point and a suffix.
class Report {
 public:
  explicit Report(std::string_view entry_name) : entry_name_(entry_name) {}

  void read_line(std::string_view line) {
    if (const auto name = after(line, "Compiling entry function '", '\''); !name.empty()) compiling_ = name;
    if (const auto name = after(line, "Function properties for ", '\n'); !name.empty()) described_ = name;
    if (is_entry(described_) && contains(line, " bytes stack frame")) read_properties(line);
    if (is_entry(compiling_) && contains(line, "Used ")) read_use(line);
    // C7510 and its neighbours; other (C75..) lines, a wait that ptxas injected for one, serialize nothing.
    if (contains(line, "wgmma.mma_async instructions are serialized")) resources_.wgmma_serialized = true;
  }
  const Resources& resources() const { return resources_; }

 private:
  bool is_entry(std::string_view name) const {
    const std::string_view suffix = name.substr(std::min(entry_name_.size(), name.size()));
    return name.substr(0, entry_name_.size()) == entry_name_ && (suffix.empty() || suffix.front() == '_');
  }
  static void raise(int& largest, int value) { largest = std::max(largest, value); }
  void read_properties(std::string_view line) {
    raise(resources_.stack_bytes, number_before(line, " bytes stack frame"));
    raise(resources_.spill_store_bytes, number_before(line, " bytes spill stores"));
    raise(resources_.spill_load_bytes, number_before(line, " bytes spill loads"));
  }
  void read_use(std::string_view line) {
    raise(resources_.registers, number_before(line, " registers"));
    raise(resources_.barriers, number_before(line, " barriers"));
    raise(resources_.static_shared_bytes, number_before(line, " bytes smem"));
    // The entry point's own frame leaves out what it calls.
    raise(resources_.stack_bytes, number_before(line, " bytes cumulative stack size"));
  }

  std::string_view entry_name_, compiling_, described_;
  Resources resources_;
};

}  // namespace

Resources parse_resources(std::string_view log, std::string_view entry_name) {
  Report report(entry_name);
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    report.read_line(line);
  }
  return report.resources();
}

}  // namespace octet
