#include "tools/cli/build_list.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/explain.h"
#include "octet/model.h"
#include "octet/plan.h"
#include "tools/cli/choice.h"

namespace octet::cli {
namespace {

void add(std::vector<Wanted>& wanted, const Problem& problem, const std::string& origin) {
  const auto is_it = [&problem](const Wanted& one) { return one.problem == problem; };
  if (std::none_of(wanted.begin(), wanted.end(), is_it)) wanted.push_back({problem, origin});
}

// What `job` answers; what it throws says where the input came from.
template <typename Job>
auto told_of(const std::string& origin, const Job& job) {
  try {
    return job();
  } catch (const Error& error) {
    if (origin.empty()) throw;
    throw Error(error.code(), fmt::format("{}: {}", origin, error.what()));
  }
}

void add_plan(std::vector<Wanted>& wanted, const std::string& text, const DeviceFacts& facts,
              const std::string& origin) {
  for (const Problem& problem : problems_of(make_plan(PlanFacts::parse(text), facts))) add(wanted, problem, origin);
}

void add_text(std::vector<Wanted>& wanted, const std::string& text, const DeviceFacts& facts,
              const std::string& origin) {
  if (is_plan_text(text)) return add_plan(wanted, text, facts, origin);
  add(wanted, Problem::parse(text), origin);
}

std::string trimmed(const std::string& line) {
  const std::string text = line.substr(0, line.find('#'));
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void add_lines(std::vector<Wanted>& wanted, std::istream& stream, const DeviceFacts& facts, const std::string& name) {
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::string text = trimmed(line);
    if (text.empty()) continue;
    const std::string origin = fmt::format("{}:{}", name, number);
    told_of(origin, [&] { add_text(wanted, text, facts, origin); });
  }
  if (stream.bad()) throw Error(ErrorCode::invalid_argument, fmt::format("{}: cannot be read", name));
}

void add_file(std::vector<Wanted>& wanted, const std::string& path, const DeviceFacts& facts) {
  if (path == "-") return add_lines(wanted, std::cin, facts, "standard input");
  std::ifstream stream(path);
  if (!stream) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: cannot be read; give a file of problems", path));
  }
  add_lines(wanted, stream, facts, path);
}

void add_model(std::vector<Wanted>& wanted, const std::string& path, const Parallelism& parallelism) {
  const ExpertShape shape = read_hf_config(path);
  const std::string origin = fmt::format("{} with --ep {} --tp {}", path, parallelism.expert, parallelism.tensor);
  for (const Problem& problem : told_of(origin, [&] { return expert_problems(shape, parallelism); })) {
    add(wanted, problem, origin);
  }
}

std::vector<Spec> specs_of(const Problem& problem, const BuildRequest& request, const DeviceFacts& facts) {
  if (request.config.empty()) return variants(problem, request.max_m, facts, request.no_workspace);
  return {choose_spec(problem, facts, {0, request.config, request.no_workspace})};
}

}  // namespace

std::vector<Wanted> requested_problems(const BuildRequest& request, const DeviceFacts& facts) {
  std::vector<Wanted> wanted;
  for (const std::string& text : request.problems) add_text(wanted, text, facts, "");
  for (const std::string& text : request.plans) add_plan(wanted, text, facts, "");
  if (!request.from.empty()) add_file(wanted, request.from, facts);
  if (!request.hf_config.empty()) add_model(wanted, request.hf_config, {request.ep, request.tp});
  if (wanted.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "build: nothing to build; give problems, --plan PLAN, --from FILE or --hf-config FILE");
  }
  return wanted;
}

std::vector<Spec> requested_specs(const std::vector<Wanted>& wanted, const BuildRequest& request,
                                  const DeviceFacts& facts) {
  std::vector<Spec> specs;
  std::set<std::string> names;
  for (const Wanted& one : wanted) {
    for (const Spec& spec : told_of(one.origin, [&] { return specs_of(one.problem, request, facts); })) {
      if (names.insert(spec.name()).second) specs.push_back(spec);
    }
  }
  return specs;
}

}  // namespace octet::cli
