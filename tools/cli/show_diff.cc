#include "tools/cli/show_diff.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "octet/error.h"
#include "tools/cli/external_tool.h"

namespace octet::cli {
namespace {

std::vector<std::string> items(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> only_in(const std::vector<std::string>& these, const std::vector<std::string>& those) {
  std::vector<std::string> only;
  for (const std::string& item : these) {
    if (std::find(those.begin(), those.end(), item) == those.end()) only.push_back(item);
  }
  return only;
}

Json differing_items(const std::string& a, const std::string& b) {
  return {only_in(items(a), items(b)), only_in(items(b), items(a))};
}

Json differing_numbers(const Json& a, const Json& b) {
  Json result = Json::object();
  for (const auto& [name, value] : a.items()) {
    if (value != b.at(name)) result[name] = {value, b.at(name)};
  }
  return result;
}

std::string unified_diff(const Built& a, const Built& b) {
  if (a.source == b.source) return "";
  const std::string tool = find_tool("diff");
  if (tool.empty()) throw Error(ErrorCode::invalid_argument, "--diff: no diff in PATH; install diffutils");
  const TemporaryFile first(a.source), second(b.source);
  const ToolResult result = run_tool({tool, "-u", "--label", "a: " + to_string(a.spec.config), "--label",
                                      "b: " + to_string(b.spec.config), first.path(), second.path()});
  if (result.exit_code != 1) throw Error(ErrorCode::invalid_argument, fmt::format("--diff: {} failed", tool));
  return result.output;
}

std::string row(const std::string& name, const std::string& a, const std::string& b) {
  return fmt::format("{:<21} {:<28} {}\n", name, a, b);
}

std::string joined(const Json& words) {
  const auto texts = words.get<std::vector<std::string>>();
  return texts.empty() ? "-" : fmt::format("{}", fmt::join(texts, " "));
}

}  // namespace

Json difference(const Built& a, const Built& b) {
  return {{"a", to_json(a.spec)},
          {"b", to_json(b.spec)},
          {"problem", differing_items(a.spec.problem.to_string(), b.spec.problem.to_string())},
          {"config", differing_items(to_string(a.spec.config), to_string(b.spec.config))},
          {"resources", differing_numbers(to_json(a.resources), to_json(b.resources))},
          {"source", unified_diff(a, b)}};
}

std::string difference_text(const Json& difference) {
  std::string text = fmt::format("a  {}\nb  {}\n\n", difference["a"]["spec"].get<std::string>(),
                                 difference["b"]["spec"].get<std::string>());
  if (difference["a"] == difference["b"]) return text + "They are the same kernel.\n";
  text += row("", "a", "b");
  for (const char* part : {"problem", "config"}) {
    const Json& pair = difference[part];
    if (!pair[0].empty() || !pair[1].empty()) text += row(part, joined(pair[0]), joined(pair[1]));
  }
  for (const auto& [name, pair] : difference["resources"].items()) text += row(name, pair[0].dump(), pair[1].dump());
  return text + "\n" + difference["source"].get<std::string>();
}

}  // namespace octet::cli
