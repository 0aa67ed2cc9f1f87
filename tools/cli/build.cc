// octet build: compiles into the cache whatever of the asked kernels is missing there. Needs no GPU.
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cache/store.h"
#include "octet/error.h"
#include "octet/runtime.h"
#include "tools/cli/build_list.h"
#include "tools/cli/cache_folder.h"
#include "tools/cli/choice.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/cli/numbers.h"
#include "tools/cli/progress.h"
#include "tools/cli/worker_pool.h"

namespace octet::cli {
namespace {

struct Request {
  BuildRequest what;
  Target target;
  std::string cache_dir;
  bool dry_run = false;
  int jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  bool json = false;
};

struct Summary {
  std::size_t kernels = 0, compiled = 0, hits = 0, failed = 0;
  double seconds = 0;       // of the whole build
  std::uint64_t bytes = 0;  // of the cubins
};

Options options_of(const Request& request) {
  Options options = Options::from_environment();
  if (!request.cache_dir.empty()) options.cache_dir = request.cache_dir;
  options.cache_mode =
      CacheMode::build;  // whatever the programs of this environment may do: building is what was asked
  return options;
}

Json failure(const std::string& message) { return {{"status", "failed"}, {"error", message}}; }

Json build_one(Runtime& runtime, const Spec& spec) {
  const Built built = runtime.build(spec);
  return {{"status", built.compiled ? "compiled" : "hit"},
          {"seconds", built.seconds},
          {"bytes", built.cubin.size()},
          {"key", built.key},
          {"toolchain", built.toolchain},
          {"resources", to_json(built.resources)}};
}

// The child's side. Its runtime is made at its first job, after the fork, and serves all of its jobs.
Job make_job(const std::vector<Spec>& specs, const Options& options) {
  const auto runtime = std::make_shared<std::optional<Runtime>>();
  return [&specs, options, runtime](std::size_t index) {
    Json result;
    try {
      if (!runtime->has_value()) runtime->emplace(options);
      result = build_one(**runtime, specs[index]);
    } catch (const std::exception& error) {
      result = failure(error.what());
    }
    return result.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
}

Json result_of(const Spec& spec, const Outcome& outcome) {
  Json result = to_json(spec);
  result.update(outcome.died ? failure(fmt::format("{}: the compiling process was {}", spec.name(), outcome.text))
                             : Json::parse(outcome.text));
  return result;
}

// What the lines on stderr say of each kernel. A reason that holds for many, such as a missing compiler, is told once.
class Report {
 public:
  std::string line(const Json& result) {
    const std::string status = result["status"], spec = result["spec"];
    if (status == "hit") return fmt::format("hit       {}", spec);
    if (status == "compiled") return fmt::format("compiled  {} in {:.2f} s", spec, result["seconds"].get<double>());
    const std::string error = result["error"];
    const auto [first, is_new] = first_with_.try_emplace(without_name(error, spec), spec);
    if (is_new) return fmt::format("failed    {}\n{}", spec, error);
    return fmt::format("failed    {}, as {}", spec, first->second);
  }

 private:
  static std::string without_name(std::string error, const std::string& spec) {
    if (error.rfind(spec, 0) == 0) error.erase(0, spec.size());
    return error;
  }

  std::map<std::string, std::string> first_with_;  // reason -> the first kernel that it failed
};

// What was compiled but did not reach the disk, because it is full for example, is no success of `build`.
void confirm_stored(std::vector<Json>& results, const std::string& directory, Report& report) {
  std::set<std::string> stored;
  for (const auto& listing : cache::Store({directory, {}}).list()) {
    if (listing.entry) stored.insert(listing.entry->get("key"));
  }
  for (Json& result : results) {
    if (result["status"] != "compiled" || stored.count(result["key"].get<std::string>()) != 0) continue;
    result.update(failure(fmt::format("compiled, but could not be stored in {}", directory)));
    fmt::print(stderr, "{}\n", report.line(result));
  }
}

std::vector<Json> build_all(const std::vector<Spec>& specs, const Options& options, int jobs) {
  std::vector<Json> results(specs.size());
  Report report;
  {
    Progress progress(specs.size());
    run_in_workers(specs.size(), jobs, make_job(specs, options), [&](std::size_t index, const Outcome& outcome) {
      results[index] = result_of(specs[index], outcome);
      progress.step(report.line(results[index]), results[index]["status"] == "failed");
    });
  }
  confirm_stored(results, options.cache_dir, report);
  return results;
}

std::vector<Json> plan_all(const std::vector<Spec>& specs) {
  std::vector<Json> results;
  for (const Spec& spec : specs) {
    results.push_back(to_json(spec));
    results.back()["status"] = "planned";
  }
  return results;
}

Summary summarize(const std::vector<Json>& results) {
  Summary summary;
  summary.kernels = results.size();
  for (const Json& result : results) {
    const std::string status = result["status"];
    summary.compiled += status == "compiled";
    summary.hits += status == "hit";
    summary.failed += status == "failed";
    if (status != "failed") summary.bytes += result.value("bytes", std::uint64_t{0});
  }
  return summary;
}

void print_table(const Summary& summary, const std::string& directory) {
  fmt::print("kernels  compiled   hits  failed  seconds       bytes\n");
  fmt::print("{:>7}  {:>8}  {:>5}  {:>6}  {:>7.2f}  {:>10}\n", summary.kernels, summary.compiled, summary.hits,
             summary.failed, summary.seconds, summary.bytes);
  fmt::print("cache: {}\n", directory);
}

void print_document(const Request& request, const Options& options, const Summary& summary,
                    const std::vector<Wanted>& wanted, const std::vector<Json>& results) {
  Json json = {{"arch", request.target.arch},
               {"max_m", request.what.max_m},
               {"cache_dir", options.cache_dir},
               {"kernels", summary.kernels},
               {"compiled", summary.compiled},
               {"hits", summary.hits},
               {"failed", summary.failed},
               {"seconds", summary.seconds},
               {"bytes", summary.bytes},
               {"problems", Json::array()},
               {"results", results}};
  for (const Wanted& one : wanted) json["problems"].push_back(one.problem.to_string());
  print_json(json);
}

int build(const Request& request) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Wanted> wanted = requested_problems(request.what, request.target.facts());
  const std::vector<Spec> specs = requested_specs(wanted, request.what, request.target.facts());
  const Options options = options_of(request);
  if (!request.dry_run) require_writable_cache(options.cache_dir);
  const std::vector<Json> results = request.dry_run ? plan_all(specs) : build_all(specs, options, request.jobs);
  Summary summary = summarize(results);
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (request.json) {
    print_document(request, options, summary, wanted, results);
  } else if (request.dry_run) {
    for (const Spec& spec : specs) fmt::print("{}  {}\n", spec.problem.to_string(), to_string(spec.config));
  } else {
    print_table(summary, options.cache_dir);
  }
  if (summary.failed == 0) return kSuccess;
  fmt::print(stderr, "octet: {} of {} kernels failed\n", summary.failed, summary.kernels);
  return kFailure;
}

void add_what(CLI::App& command, BuildRequest& what) {
  command.add_option("problems", what.problems, "Problems or plans, each in quotes");
  command.add_option("--plan", what.plans, "All kernels of a plan, in quotes; may be given again")
      ->allow_extra_args(false);
  command.add_option("--from", what.from, "File of problems and plans, one a line; - reads standard input");
  CLI::Option* model = command.add_option("--hf-config", what.hf_config, "A model's config.json");
  require_whole(command.add_option("--ep", what.ep, "Devices that share the experts of the model"), 1)
      ->needs(model)
      ->capture_default_str();
  require_whole(command.add_option("--tp", what.tp, "Devices that share the columns of each expert"), 1)
      ->needs(model)
      ->capture_default_str();
  CLI::Option* max_m = command.add_option("--max-m", what.max_m, "Most rows per group that will be seen");
  require_whole(max_m, 1)->capture_default_str();
  add_config(command, what.config)->excludes(max_m)->excludes(model);
  add_no_workspace(command, what.no_workspace);
}

}  // namespace

void add_build(CLI::App& app, Action& action) {
  const auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("build", "Compile kernels into the cache; needs no GPU");
  add_what(*command, request->what);
  add_target(*command, request->target);
  command->add_option("--cache-dir", request->cache_dir, "The cache to fill; default: OCTET_CACHE_DIR");
  require_whole(command->add_option("-j,--jobs", request->jobs, "Compiling processes"), 1)->capture_default_str();
  command->add_flag("--dry-run", request->dry_run, "Say what would be compiled, and do nothing");
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([&action, request] { action = [request] { return build(*request); }; });
}

}  // namespace octet::cli
