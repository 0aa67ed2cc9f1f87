// octet show: one stage of the kernel that a problem selects, from its source to its machine code.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "octet/runtime.h"
#include "tools/cli/choice.h"
#include "tools/cli/command.h"
#include "tools/cli/disassemble.h"
#include "tools/cli/highlight.h"
#include "tools/cli/json.h"
#include "tools/cli/numbers.h"
#include "tools/cli/show_diff.h"

namespace octet::cli {
namespace {

struct Request {
  std::string problem;
  Target target;
  Wish wish;
  bool source = false, ptx = false, resources = false, sass = false, json = false;
  bool diff = false;
  std::string other_problem, other_config;
};

// Null where there is no disassembler: the rest of the answer needs none.
Json instructions_of(const Built& built) {
  if (find_disassembler().empty()) return nullptr;
  return instruction_mix(disassemble(built.cubin));
}

std::string instructions_text(const Json& instructions) {
  if (instructions.is_null()) return "not counted: no nvdisasm here (run: pip install triton)";
  std::vector<std::pair<std::size_t, std::string>> counts;
  std::size_t total = 0;
  for (const auto& [name, count] : instructions.items()) {
    counts.emplace_back(count, name);
    total += count.get<std::size_t>();
  }
  std::stable_sort(counts.begin(), counts.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  std::string text = fmt::format("{}:", total);
  for (const auto& [count, name] : counts) text += fmt::format(" {} {}", name, count);
  return text;
}

void print_resources(const Built& built, bool as_json) {
  Json document = to_json(built.spec);
  document["toolchain"] = built.toolchain;
  document["cubin_bytes"] = built.cubin.size();
  document.update(to_json(built.resources));
  document["instructions"] = instructions_of(built);
  if (as_json) return print_json(document);
  document["instructions"] = instructions_text(document["instructions"]);
  for (const auto& [key, value] : document.items()) {
    fmt::print("{:<21} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

void print_code(const std::string& text) { print_text(wants_colours() ? highlight(text) : text); }

void print_difference(const Request& request, const Spec& spec, Runtime& runtime) {
  const std::string& other = request.other_problem.empty() ? request.problem : request.other_problem;
  Wish wish = request.wish;
  wish.config = request.other_config;
  const Spec second = choose_spec(Problem::parse(other), request.target.facts(), wish);
  const Json found = difference(runtime.build(spec), runtime.build(second));
  if (request.json) return print_json(found);
  print_text(difference_text(found));
}

int show(const Request& request) {
  const Spec spec = choose_spec(Problem::parse(request.problem), request.target.facts(), request.wish);
  Runtime runtime;
  if (request.ptx) {
    print_code(runtime.ptx(spec));
  } else if (request.sass) {
    print_text(disassemble(runtime.build(spec).cubin));
  } else if (request.resources) {
    print_resources(runtime.build(spec), request.json);
  } else if (request.diff) {
    print_difference(request, spec, runtime);
  } else {
    print_code(runtime.source(spec));
  }
  return kSuccess;
}

// The two options of a comparison; either one asks for it.
void add_diff(CLI::App& stage, CLI::App& command, Request& request) {
  CLI::Option* diff = stage.add_flag("--diff", request.diff, "What the kernel and another one differ in");
  command.add_option("--with", request.other_problem, "The other problem of --diff; default: the same one")
      ->needs(diff);
  command.add_option("--with-config", request.other_config, "The other config of --diff; default: the best one")
      ->needs(diff);
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  const auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("show", "Show the kernel that a problem selects");
  command->add_option("problem", request->problem, "A problem, in quotes")->required();
  auto* stage = command->add_option_group("stage", "What to show");
  stage->add_flag("--source", request->source, "The one file that NVRTC compiles (the default)");
  stage->add_flag("--ptx", request->ptx, "PTX");
  stage->add_flag("--sass", request->sass, "Machine code; needs nvdisasm or cuobjdump");
  stage->add_flag("--resources", request->resources, "Registers, spills, shared memory, barriers, instructions");
  add_diff(*stage, *command, *request);
  stage->require_option(0, 1);
  require_whole(command->add_option("--expected-m", request->wish.expected_m, "Rows per group to expect; 0: unknown"),
                0);
  add_config(*command, request->wish.config);
  add_no_workspace(*command, request->wish.no_workspace);
  add_target(*command, request->target);
  command->add_flag("--json", request->json, "Print the resources or the differences as JSON");
  command->callback([&action, request] {
    if (request->json && !request->resources && !request->diff) {
      throw CLI::ValidationError("--json goes with --resources or --diff; what else is shown is text");
    }
    action = [request] { return show(*request); };
  });
}

}  // namespace octet::cli
