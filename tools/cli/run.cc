// octet run: a problem on random data, on a GPU or on the host, checked, with its error and its time.
#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <random>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "octet/error.h"
#include "octet/explain.h"
#include "runtime/driver.h"
#include "tools/cli/choice.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/cli/memory.h"
#include "tools/cli/numbers.h"
#include "tools/cli/run_case.h"

namespace octet::cli {
namespace {

constexpr std::size_t kGroupsShown = 16;

struct Request {
  std::string problem;
  std::optional<std::string> sizes;  // as typed
  std::string device;                // "": a GPU where there is one
  std::optional<std::uint64_t> seed;
  int repeat = 0;  // 0: 20 on a GPU, 1 on the host
  Wish wish;
  bool json = false;
};

int device_count() {
  int count = 0;
  check(Driver::get().cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

int find_gpu(int ordinal) {
  int count = 0;
  try {
    count = device_count();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("run: {}\nTo run on the host instead: --device reference", error.what()));
  }
  if (ordinal < count) return ordinal;
  throw Error(ErrorCode::driver,
              fmt::format("run: there is no GPU {} among the {} of this machine; to run on the host: "
                          "--device reference",
                          ordinal, count));
}

Device parse_device(const std::string& text) {
  if (text == "reference") return std::nullopt;
  if (text.empty() || text == "gpu") return find_gpu(0);
  int ordinal = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
  if (error != std::errc() || end != text.data() + text.size() || ordinal < 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--device: '{}' is not gpu, reference or a GPU's number", text));
  }
  return find_gpu(ordinal);
}

std::vector<std::int64_t> parse_sizes(const std::optional<std::string>& text) {
  std::vector<std::int64_t> sizes;
  for (std::size_t begin = 0; text && begin <= text->size();) {
    const std::size_t comma = std::min(text->find(',', begin), text->size());
    const std::string item = text->substr(begin, comma - begin);
    const auto rows = parse_whole(item, 0, kMostCount);
    if (!rows) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("--sizes: item {} of '{}' {}", sizes.size() + 1, *text, not_whole(item, 0, kMostCount)));
    }
    sizes.push_back(static_cast<std::int64_t>(*rows));
    begin = comma + 1;
  }
  return sizes;
}

// What no kernel can do the host does not do either: the two executors take the same problems.
Problem parse_legal(const std::string& text) {
  const Problem problem = Problem::parse(text);
  const Explanation explanation = explain(problem);
  if (explanation.refused) throw Error(explanation.refused->code, explanation.refused->message);
  return problem;
}

// The kernel that was asked for by its config; empty when the cost model is to choose.
std::optional<Spec> asked_spec(const Problem& problem, const Request& request) {
  if (request.wish.config.empty()) return std::nullopt;
  if (request.device == "reference") {
    throw Error(ErrorCode::invalid_argument, "--config: the reference has no kernels to choose from; leave it out");
  }
  return choose_spec(problem, {}, request.wish);
}

// Short and easy to type again.
std::uint64_t fresh_seed() { return std::random_device{}() % 1000000; }

Verdict execute(const Case& run, Device device, const Effort& effort) {
  switch (run.problem.op) {
    case Operation::gemm:
    case Operation::wgrad:
      return run_gemm(run, device, effort);
    case Operation::quantize:
    case Operation::activation:
      return run_quantize(run, device, effort);
    case Operation::dequantize:
    case Operation::convert:
      return run_convert(run, device, effort);
  }
  throw Error(ErrorCode::no_kernel, fmt::format("run: no executor for {}", to_string(run.problem.op)));
}

std::string failure_of(const Verdict& verdict) {
  if (!verdict.fault.empty()) return verdict.fault;
  const int worst = verdict.worst_group();
  const GroupResult& group = verdict.groups.at(static_cast<std::size_t>(worst));
  return fmt::format("group {} ({} rows): {} is {:.3g}, over its limit of {:.3g}", worst, group.rows, verdict.measure,
                     group.error, group.limit);
}

// -- As text ---------------------------------------------------------------------------------------------------------

void print_groups(const Verdict& verdict) {
  std::vector<std::size_t> shown;
  for (std::size_t g = 0; g < verdict.groups.size(); ++g) shown.push_back(g);
  if (shown.size() > kGroupsShown) {
    std::stable_sort(shown.begin(), shown.end(),
                     [&](std::size_t x, std::size_t y) { return verdict.groups[x].error > verdict.groups[y].error; });
    shown.resize(kGroupsShown);
    fmt::print("the {} groups with the largest errors, of {}:\n", kGroupsShown, verdict.groups.size());
  }
  fmt::print("group     rows   checked      error      limit\n");
  for (const std::size_t g : shown) {
    const GroupResult& group = verdict.groups[g];
    fmt::print("{:>5} {:>8} {:>9} {:>10.3g} {:>10.3g}\n", g, group.rows, group.checked, group.error, group.limit);
  }
}

void print_time(const Verdict& verdict) {
  const double us = verdict.median_us();
  if (verdict.execution.times_us.empty() || us <= 0) {
    fmt::print("time     not measured: only the checked elements were computed\n");
    return;
  }
  fmt::print("time     {:.1f} us (median of {})", us, verdict.execution.times_us.size());
  if (verdict.flops > 0) fmt::print(", {:.1f} TFLOPS", verdict.flops / us * 1e-6);
  fmt::print(", {:.1f} GB/s\n", verdict.bytes / us * 1e-3);
}

void print_text(const Case& run, const Verdict& verdict) {
  const Execution& execution = verdict.execution;
  fmt::print("problem  {}\n", run.problem.to_string());
  fmt::print("device   {}\n", execution.device);
  if (!execution.kernel.empty()) {
    fmt::print("kernel   {} ({}), {}\n", execution.kernel, execution.config,
               execution.compiled ? "compiled now" : "from the cache");
  }
  fmt::print("rows     {} in {} groups, room for {}\nseed     {}\n", run.rows, run.sizes.size(), run.capacity,
             run.seed);
  fmt::print("error    {}\n", verdict.measure);
  print_groups(verdict);
  if (const int worst = verdict.worst_group(); worst >= 0) {
    const GroupResult& group = verdict.groups[static_cast<std::size_t>(worst)];
    fmt::print("worst    group {}: {:.3g}, limit {:.3g}\n", worst, group.error, group.limit);
  }
  print_time(verdict);
  fmt::print("{}\n", verdict.passed() ? "passed" : "FAILED");
}

// -- As JSON
// -----------------------------------------------------------------------------------------------------------

Json to_json(const GroupResult& group) {
  return {{"rows", group.rows}, {"checked", group.checked}, {"error", group.error}, {"limit", group.limit}};
}

Json to_json(const Case& run, const Verdict& verdict) {
  const Execution& execution = verdict.execution;
  const double us = verdict.median_us();
  const int worst = verdict.worst_group();
  Json json = {{"problem", run.problem.to_string()},
               {"device", execution.device},
               {"kernel", execution.kernel.empty() ? Json(nullptr) : Json(execution.kernel)},
               {"config", execution.config.empty() ? Json(nullptr) : Json(execution.config)},
               {"compiled", execution.compiled},
               {"seed", run.seed},
               {"sizes", run.sizes},
               {"rows", run.rows},
               {"capacity", run.capacity},
               {"measure", verdict.measure},
               {"groups", Json::array()},
               {"worst_group", worst < 0 ? Json(nullptr) : Json(worst)},
               {"error", worst < 0 ? Json(0.0) : Json(verdict.groups[static_cast<std::size_t>(worst)].error)},
               {"us", us > 0 ? Json(us) : Json(nullptr)},
               {"tflops", us > 0 && verdict.flops > 0 ? Json(verdict.flops / us * 1e-6) : Json(nullptr)},
               {"gbps", us > 0 ? Json(verdict.bytes / us * 1e-3) : Json(nullptr)},
               {"passed", verdict.passed()},
               {"failure", verdict.passed() ? Json(nullptr) : Json(failure_of(verdict))}};
  for (const GroupResult& group : verdict.groups) json["groups"].push_back(to_json(group));
  return json;
}

int run(const Request& request) {
  const Problem problem = parse_legal(request.problem);
  const Case run = make_case(problem, parse_sizes(request.sizes), request.seed.value_or(fresh_seed()));
  require_memory(run);
  Effort effort;
  effort.spec = asked_spec(problem, request);
  const Device device = parse_device(request.device);
  effort.repeat = request.repeat > 0 ? request.repeat : device ? 20 : 1;
  const std::int64_t expected_m = request.wish.expected_m;
  effort.expected_m = expected_m > 0 ? expected_m : run.rows / std::max<std::int64_t>(1, problem.g);
  effort.no_workspace = request.wish.no_workspace;
  const Verdict verdict = execute(run, device, effort);
  if (request.json) {
    print_json(to_json(run, verdict));
  } else {
    print_text(run, verdict);
  }
  if (verdict.passed()) return kSuccess;
  fmt::print(stderr, "octet: {}\n", failure_of(verdict));
  return kFailure;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  const auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("run", "Run a problem on random data and check the result");
  command->add_option("problem", request->problem, "A problem, in quotes")->required();
  command->add_option("--sizes", request->sizes, "Rows of each group, for example 100,0,28");
  command->add_option("--device", request->device, "gpu, a GPU's number, or reference (the host)");
  require_whole(
      command->add_option("--seed", request->seed, "Seed of the data; default: a fresh one, which is printed"), 0,
      std::numeric_limits<std::uint64_t>::max());
  require_whole(command->add_option("--repeat", request->repeat, "Timed executions"), 1);
  require_whole(command->add_option("--expected-m", request->wish.expected_m,
                                    "Rows per group to expect; default: the mean of the sizes"),
                1);
  add_config(*command, request->wish.config);
  add_no_workspace(*command, request->wish.no_workspace);
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([&action, request] { action = [request] { return run(*request); }; });
}

}  // namespace octet::cli
