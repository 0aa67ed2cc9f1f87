// octet rules: the table that decides which kernels are legal, as text, as JSON, or as the page in the docs.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cli/command.h"
#include "tools/cli/json.h"

namespace octet::cli {
namespace {

struct Request {
  bool json = false, markdown = false;
};

// A bar would end the cell.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char character : text) {
    if (character == '|') escaped += '\\';
    escaped += character;
  }
  return escaped;
}

void print_markdown(const std::vector<RuleDescription>& rules) {
  fmt::print("| rule | scope | why |\n|---|---|---|\n");
  for (const auto& rule : rules) fmt::print("| `{}` | {} | {} |\n", rule.id, cell(rule.scope), cell(rule.why));
}

void print_text(const std::vector<RuleDescription>& rules) {
  std::size_t width = 0;
  for (const auto& rule : rules) width = std::max(width, rule.id.size());
  for (const auto& rule : rules) fmt::print("{:<{}}  {:<7}  {}\n", rule.id, width, rule.scope, rule.why);
}

int print_rules(const Request& request) {
  const std::vector<RuleDescription> rules = rule_descriptions();
  if (request.json) {
    Json list = Json::array();
    for (const auto& rule : rules) list.push_back({{"id", rule.id}, {"scope", rule.scope}, {"why", rule.why}});
    print_json(list);
  } else if (request.markdown) {
    print_markdown(rules);
  } else {
    print_text(rules);
  }
  return kSuccess;
}

}  // namespace

void add_rules(CLI::App& app, Action& action) {
  const auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("rules", "Print the rule table");
  CLI::Option* json = command->add_flag("--json", request->json, "Print JSON");
  command->add_flag("--markdown", request->markdown, "Print a Markdown table")->excludes(json);
  command->callback([&action, request] { action = [request] { return print_rules(*request); }; });
}

}  // namespace octet::cli
