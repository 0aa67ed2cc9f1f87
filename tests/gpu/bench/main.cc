// octet-bench: the speed of Octet's kernels against the yardsticks of the same run.
#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tests/gpu/bench/empty_kernel.h"
#include "tests/gpu/bench/gemm_run.h"
#include "tests/gpu/bench/host.h"
#include "tests/gpu/bench/plan.h"
#include "tests/gpu/bench/quantize.h"
#include "tests/gpu/parallel.h"

namespace octet::bench {
namespace {

struct Arguments {
  std::string json_file, filter;
  std::string config_sweep;  // "", "wgmma" or "all"
  bool quick = false;

  bool wants(const std::string& table, const std::string& name) const {
    return filter.empty() || (table + " " + name).find(filter) != std::string::npos;
  }
};

struct Report {
  Yardsticks yardsticks;
  HostTimes host;
  std::vector<Row> rows, sweep;
  std::string nvrtc;  // "13.0.88"
};

template <typename Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json to_json(const Row& row, const Yardsticks& yardsticks) {
  nlohmann::ordered_json json = {{"table", row.table},  {"name", row.name},     {"g", row.g},
                                 {"m", or_null(row.m)}, {"n", or_null(row.n)},  {"k", row.k},
                                 {"rows", row.rows},    {"us", row.us},         {"tflops", row.tflops},
                                 {"gbps", row.gbps},    {"config", row.config}, {"bar", or_null(row.bar)}};
  if (row.peer_us) {
    json["peer_us"] = scaled_peer_us(row, yardsticks);
    json["limit"] = or_null(row.limit);
  }
  if (row.tflops_bar) json["tflops_bar"] = *row.tflops_bar;
  if (row.fixed_us) json["allowed_us"] = allowed_us(row, yardsticks);
  json["pass"] = passes(row, yardsticks);
  if (!row.fault.empty()) json["fault"] = row.fault;
  return json;
}

nlohmann::ordered_json to_json(const Report& report) {
  char name[256] = {};
  int version = 0;
  check(Driver::get().cuDeviceGetName(name, sizeof name, 0), "cuDeviceGetName");
  check(Driver::get().cuDriverGetVersion(&version), "cuDriverGetVersion");
  nlohmann::ordered_json json = {{"device", name},
                                 {"driver", fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10)},
                                 {"nvrtc", report.nvrtc},
                                 {"yardsticks",
                                  {{"copy_gbps", report.yardsticks.copy_gbps},
                                   {"cublaslt_fp8_8192_tflops", or_null(report.yardsticks.cublaslt_fp8_8192_tflops)}}},
                                 {"host",
                                  {{"launch_us", report.host.launch_us},
                                   {"bare_launch_us", report.host.bare_launch_us},
                                   {"prepare_us", report.host.prepare_us}}}};
  json["bench"] = nlohmann::ordered_json::array();
  for (const Row& row : report.rows) json["bench"].push_back(to_json(row, report.yardsticks));
  if (!report.sweep.empty()) json["sweep"] = nlohmann::ordered_json::array();
  for (const Row& row : report.sweep) json["sweep"].push_back(to_json(row, report.yardsticks));
  return json;
}

void say(const Row& row) {
  std::cout << fmt::format("{} [{}] {:.1f} us {}\n", label(row), row.config, row.us,
                           row.fault.empty() ? "" : "WRONG: " + row.fault)
            << std::flush;
}

// "nvrtc 13.0.88" without its first word.
std::string nvrtc_version(const std::string& toolchain) { return toolchain.substr(toolchain.find(' ') + 1); }

// Compiling takes longer than measuring: all kernels of a problem list first, on several threads.
std::vector<Gemm> prepare_all(Runtime& runtime, const std::vector<Spec>& specs) {
  std::vector<Gemm> kernels(specs.size());
  test::parallel_for(
      specs.size(), [&](std::size_t i) { kernels[i] = runtime.prepare_gemm(specs[i], 0); }, 8);
  return kernels;
}

class Bench {
 public:
  explicit Bench(const Arguments& arguments)
      : arguments_(arguments),
        timer_(arguments.quick ? Protocol{1, 5} : Protocol{}),
        operands_(random_),
        facts_(Runtime::device_facts(0)) {}

  Report run() {
    std::cout << random_.note() << '\n';
    Report report;
    const Yardsticks before = measure_yardsticks(timer_, operands_);
    run_gemms(report);
    run_quantize(report);
    run_plans(report);
    if (!arguments_.config_sweep.empty()) run_sweep(report);
    report.host = measure_host(runtime_);
    // The chip is hotter now than it was: the rows lie between the two.
    report.yardsticks = mean(before, measure_yardsticks(timer_, operands_));
    return report;
  }

 private:
  static Yardsticks mean(const Yardsticks& x, const Yardsticks& y) {
    Yardsticks both{(x.copy_gbps + y.copy_gbps) / 2, std::nullopt};
    if (x.cublaslt_fp8_8192_tflops && y.cublaslt_fp8_8192_tflops) {
      both.cublaslt_fp8_8192_tflops = (*x.cublaslt_fp8_8192_tflops + *y.cublaslt_fp8_8192_tflops) / 2;
    }
    return both;
  }

  std::vector<GemmBenchmark> wanted_gemms() const {
    std::vector<GemmBenchmark> wanted;
    for (GemmBenchmark& benchmark : gemm_benchmarks()) {
      if (arguments_.wants(benchmark.table, benchmark.label())) wanted.push_back(std::move(benchmark));
    }
    return wanted;
  }

  void run_gemms(Report& report) {
    const std::vector<GemmBenchmark> wanted = wanted_gemms();
    std::vector<Spec> specs;
    for (const GemmBenchmark& benchmark : wanted) {
      specs.push_back(select(benchmark.problem, facts_, benchmark.expected_m, benchmark.no_workspace));
    }
    const std::vector<Gemm> kernels = prepare_all(runtime_, specs);
    std::vector<std::vector<Row>> rounds(wanted.size());
    for (int round = 0; round < rounds_to_run(); ++round) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        rounds[i].push_back(GemmRun(wanted[i], operands_).measure(kernels[i], timer_, random_));
        say(rounds[i].back());
      }
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      report.rows.push_back(typical(rounds[i]));
      report.nvrtc = nvrtc_version(runtime_.build(specs[i]).toolchain);
    }
  }

  // A GPU that others used a moment ago has slow spells of a second or so; rounds spread a row's samples over the run.
  int rounds_to_run() const { return arguments_.quick ? 1 : 3; }

  // The round with the middle time, or one that was wrong.
  static Row typical(std::vector<Row> rounds) {
    std::sort(rounds.begin(), rounds.end(), [](const Row& x, const Row& y) { return x.us < y.us; });
    for (const Row& row : rounds) {
      if (!row.fault.empty()) return row;
    }
    return rounds[rounds.size() / 2];
  }

  QuantizeBench quantize_bench() {
    EmptyKernel empty(runtime_.options());
    const double empty_us = timer_.median_us([&] { empty.launch(timer_.stream()); });
    return {runtime_, operands_, timer_, random_, empty_us};
  }

  // Compiled on several threads, as all of them are: the bench' own loop then finds them in the runtime's map.
  void prepare_quantizers(const std::vector<QuantizeBenchmark>& wanted) {
    test::parallel_for(
        wanted.size(),
        [&](std::size_t i) {
          runtime_.prepare_quantize(wanted[i].problem, {0, 0});
        },
        8);
  }

  std::vector<QuantizeBenchmark> wanted_quantizers() const {
    std::vector<QuantizeBenchmark> wanted;
    for (QuantizeBenchmark& benchmark : quantize_benchmarks()) {
      if (arguments_.wants("quantize", benchmark.name())) wanted.push_back(std::move(benchmark));
    }
    return wanted;
  }

  void run_quantize(Report& report) {
    const std::vector<QuantizeBenchmark> wanted = wanted_quantizers();
    prepare_quantizers(wanted);
    const QuantizeBench bench = quantize_bench();
    for (const QuantizeBenchmark& benchmark : wanted) {
      const Quantize kernel = runtime_.prepare_quantize(benchmark.problem);
      std::vector<Row> rounds;
      for (int round = 0; round < rounds_to_run(); ++round) {
        rounds.push_back(bench.measure(benchmark, kernel));
        say(rounds.back());
      }
      report.rows.push_back(typical(rounds));
    }
  }

  void run_plans(Report& report) {
    std::vector<PlanBenchmark> wanted = plan_benchmarks();
    std::erase_if(wanted, [&](const PlanBenchmark& one) { return !arguments_.wants("mlp", one.line); });
    test::parallel_for(
        wanted.size(), [&](std::size_t i) { prepare(wanted[i], runtime_); }, 8);
    for (const PlanBenchmark& benchmark : wanted) {
      std::vector<Row> rounds;
      for (int round = 0; round < rounds_to_run(); ++round) {
        rounds.push_back(octet::bench::measure(benchmark, runtime_, operands_, timer_));
        say(rounds.back());
      }
      report.rows.push_back(typical(rounds));
    }
  }

  std::vector<Spec> legal_specs(const Problem& problem, std::int64_t expected_m, bool no_workspace = false) const {
    std::vector<Spec> specs;
    for (const Candidate& candidate : explain(problem, facts_, expected_m, no_workspace).candidates) {
      if (!candidate.refused) specs.push_back(candidate.spec);
    }
    return specs;
  }

  std::vector<Spec> gemm_sweep(const GemmBenchmark& benchmark) const {
    std::vector<Spec> specs = legal_specs(benchmark.problem, benchmark.expected_m, benchmark.no_workspace);
    const auto is_portable = [](const Spec& spec) { return std::holds_alternative<PortableConfig>(spec.config); };
    if (arguments_.config_sweep != "all") std::erase_if(specs, is_portable);
    return specs;
  }

  static void add_sorted(Report& report, std::vector<Row> rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) { return x.us < y.us; });
    report.sweep.insert(report.sweep.end(), rows.begin(), rows.end());
  }

  void run_sweep(Report& report) {
    for (const GemmBenchmark& benchmark : wanted_gemms()) {
      GemmRun run(benchmark, operands_);
      std::vector<Row> rows;
      for (const Gemm& gemm : prepare_all(runtime_, gemm_sweep(benchmark))) {
        rows.push_back(run.measure(gemm, timer_, random_));
        std::cout << fmt::format("{} | {} | {:.1f}\n", label(rows.back()), rows.back().config, rows.back().us)
                  << std::flush;
      }
      add_sorted(report, std::move(rows));
    }
    const QuantizeBench bench = quantize_bench();
    for (const QuantizeBenchmark& benchmark : wanted_quantizers()) {
      std::vector<Row> rows;
      for (const Spec& spec : legal_specs(benchmark.problem, 0)) {
        rows.push_back(bench.measure(benchmark, runtime_.prepare_quantize(spec, 0)));
      }
      add_sorted(report, std::move(rows));
    }
  }

  const Arguments& arguments_;
  test::Random random_;
  Timer timer_;
  Operands operands_;
  DeviceFacts facts_;
  Runtime runtime_;
};

bool all_right(const std::vector<Row>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.fault.empty(); });
}

int run(const Arguments& arguments) {
  test::use_device();
  const Report report = Bench(arguments).run();
  if (!report.sweep.empty()) std::cout << "\nEvery legal config:\n" << table_text(report.sweep, report.yardsticks);
  std::cout << '\n' << table_text(report.rows, report.yardsticks);
  std::cout << fmt::format("host: launch {:.2f} us, bare cuLaunchKernelEx {:.2f} us, prepare (warm) {:.2f} us\n",
                           report.host.launch_us, report.host.bare_launch_us, report.host.prepare_us);
  if (!arguments.json_file.empty()) {
    std::ofstream out(arguments.json_file);
    out << to_json(report).dump(2) << '\n';
    if (!out.flush()) throw std::runtime_error("cannot write " + arguments.json_file);
  }
  return all_right(report.rows) && all_right(report.sweep) ? 0 : 1;
}

}  // namespace
}  // namespace octet::bench

int main(int argc, char** argv) {
  octet::bench::Arguments arguments;
  CLI::App app(
      "Times Octet's kernels on device 0 against the yardsticks of the same run.\n"
      "Exit status: 0, or 1 when a result is wrong. A row that misses its bar is marked 'slow'.");
  app.add_option("--json", arguments.json_file, "write the figures to this file");
  app.add_option("--filter", arguments.filter, "only rows whose 'table problem' contains this");
  app.add_flag("--quick", arguments.quick, "median of 5 calls instead of 20");
  app.add_flag("--config-sweep{wgmma}", arguments.config_sweep,
               "also time every legal config of every row; of GEMMs the portable ones only with --config-sweep=all")
      ->check(CLI::IsMember({"wgmma", "all"}));
  CLI11_PARSE(app, argc, argv);
  try {
    return octet::bench::run(arguments);
  } catch (const std::exception& error) {
    std::cerr << "octet-bench: " << error.what() << '\n';
    return 1;
  }
}
