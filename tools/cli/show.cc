// octet show: one stage of the kernel that a problem selects, from its source to its machine code.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "octet/runtime.h"
#include "tools/cli/choice.h"
#include "tools/cli/command.h"
#include "tools/cli/disassemble.h"
#include "tools/cli/json.h"
#include "tools/cli/numbers.h"

namespace octet::cli {
namespace {

struct Request {
  std::string problem;
  Target target;
  Wish wish;
  bool source = false, ptx = false, resources = false, sass = false, json = false;
};

void print_resources(const Built& built, bool as_json) {
  Json document = to_json(built.spec);
  document["toolchain"] = built.toolchain;
  document["cubin_bytes"] = built.cubin.size();
  document.update(to_json(built.resources));
  if (as_json) return print_json(document);
  for (const auto& [key, value] : document.items()) {
    fmt::print("{:<21} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

int show(const Request& request) {
  const Spec spec = choose_spec(Problem::parse(request.problem), request.target.facts(), request.wish);
  Runtime runtime;
  if (request.ptx) {
    print_text(runtime.ptx(spec));
  } else if (request.sass) {
    print_text(disassemble(runtime.build(spec).cubin));
  } else if (request.resources) {
    print_resources(runtime.build(spec), request.json);
  } else {
    print_text(runtime.source(spec));
  }
  return kSuccess;
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  const auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("show", "Show the kernel that a problem selects");
  command->add_option("problem", request->problem, "A problem, in quotes")->required();
  auto* stage = command->add_option_group("stage", "What to show");
  stage->add_flag("--source", request->source, "The one file that NVRTC compiles (the default)");
  stage->add_flag("--ptx", request->ptx, "PTX");
  stage->add_flag("--sass", request->sass, "Machine code; needs nvdisasm");
  CLI::Option* resources = stage->add_flag("--resources", request->resources, "Registers, spills, shared memory");
  stage->require_option(0, 1);
  require_whole(command->add_option("--expected-m", request->wish.expected_m, "Rows per group to expect; 0: unknown"),
                0);
  add_config(*command, request->wish.config);
  add_no_workspace(*command, request->wish.no_workspace);
  add_target(*command, request->target);
  command->add_flag("--json", request->json, "Print the resources as JSON")->needs(resources);
  command->callback([&action, request] { action = [request] { return show(*request); }; });
}

}  // namespace octet::cli
