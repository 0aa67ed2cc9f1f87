// octet variants: the closed set of kernels that any number of rows up to a bound can select.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cli/choice.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/cli/numbers.h"

namespace octet::cli {
namespace {

struct Request {
  std::string problem;
  Target target;
  std::int64_t max_m = 16384;
  bool no_workspace = false, json = false;
};

int print_variants(const Request& request) {
  const std::vector<Spec> specs =
      variants(Problem::parse(request.problem), request.max_m, request.target.facts(), request.no_workspace);
  if (request.json) {
    Json list = Json::array();
    for (const Spec& spec : specs) list.push_back(to_json(spec));
    print_json(list);
  } else {
    for (const Spec& spec : specs) fmt::print("{}  {}\n", spec.name(), to_string(spec.config));
  }
  return kSuccess;
}

}  // namespace

void add_variants(CLI::App& app, Action& action) {
  const auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("variants", "List every kernel that any M up to a bound can select");
  command->add_option("problem", request->problem, "A problem, in quotes")->required();
  require_whole(command->add_option("--max-m", request->max_m, "Most rows per group"), 1)->capture_default_str();
  add_no_workspace(*command, request->no_workspace);
  add_target(*command, request->target);
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([&action, request] { action = [request] { return print_variants(*request); }; });
}

}  // namespace octet::cli
