#include "tools/cli/build_list.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>

#include <fmt/format.h>

#include "octet/error.h"
#include "octet/explain.h"
#include "octet/model.h"

namespace octet::cli {
namespace {

void add(std::vector<Problem>& problems, const Problem& problem) {
  if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(problem);
}

std::string trimmed(const std::string& line) {
  const std::string text = line.substr(0, line.find('#'));
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void add_lines(std::vector<Problem>& problems, std::istream& stream, const std::string& name) {
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::string text = trimmed(line);
    if (text.empty()) continue;
    try {
      add(problems, Problem::parse(text));
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}:{}: {}", name, number, error.what()));
    }
  }
  if (stream.bad()) throw Error(ErrorCode::invalid_argument, fmt::format("{}: cannot be read", name));
}

void add_file(std::vector<Problem>& problems, const std::string& path) {
  if (path == "-") return add_lines(problems, std::cin, "standard input");
  std::ifstream stream(path);
  if (!stream) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: cannot be read; give a file of problems", path));
  }
  add_lines(problems, stream, path);
}

}  // namespace

std::vector<Problem> requested_problems(const BuildRequest& request) {
  std::vector<Problem> problems;
  for (const std::string& text : request.problems) add(problems, Problem::parse(text));
  if (!request.from.empty()) add_file(problems, request.from);
  if (!request.hf_config.empty()) {
    const ExpertShape shape = read_hf_config(request.hf_config);
    for (const Problem& problem : expert_problems(shape, {request.ep, request.tp})) add(problems, problem);
  }
  if (problems.empty()) {
    throw Error(ErrorCode::invalid_argument, "build: nothing to build; give problems, --from FILE or --hf-config FILE");
  }
  return problems;
}

std::vector<Spec> requested_specs(const std::vector<Problem>& problems, std::int64_t max_m, const DeviceFacts& facts) {
  std::vector<Spec> specs;
  std::set<std::string> names;
  for (const Problem& problem : problems) {
    for (const Spec& spec : variants(problem, max_m, facts)) {
      if (names.insert(spec.name()).second) specs.push_back(spec);
    }
  }
  return specs;
}

}  // namespace octet::cli
