// octet explain: every candidate, the rule that removed it, the cost of the rest, and where the choice changes.
#include <memory>

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
  std::int64_t expected_m = 0;
  bool no_workspace = false, json = false;
};

// A refused problem is an answer too: exit code 0.
int print_explanation(const Request& request) {
  const Explanation explanation =
      explain(Problem::parse(request.problem), request.target.facts(), request.expected_m, request.no_workspace);
  if (request.json) {
    print_json(to_json(explanation));
  } else {
    print_text(to_text(explanation));
  }
  return kSuccess;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  const auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("explain", "Say why a kernel is chosen for a problem, or why none is");
  command->footer("A problem that a rule refuses is explained too: the refusal is the answer, and the exit code is 0.");
  command->add_option("problem", request->problem, "A problem, in quotes")->required();
  require_whole(command->add_option("--expected-m", request->expected_m, "Rows per group to expect; 0: unknown"), 0);
  add_no_workspace(*command, request->no_workspace);
  add_target(*command, request->target);
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([&action, request] { action = [request] { return print_explanation(*request); }; });
}

}  // namespace octet::cli
