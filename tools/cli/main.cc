// The octet command line: parses, runs one subcommand, and turns every way to fail into one line and an exit code.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "octet/error.h"
#include "octet/runtime.h"
#include "runtime/nvrtc.h"
#include "tools/cli/command.h"
#include "tools/cli/unknown_word.h"

namespace octet::cli {
namespace {

// One line of the many that the error has: a library that was named is the only place that was tried.
std::string why_not_found(const std::string& library, const Error& error) {
  if (library.empty()) return "OCTET_NVRTC_LIBRARY is not set, and it is in none of the usual places";
  std::istringstream lines(error.what());
  std::string line;
  while (std::getline(lines, line) && line.find(library) == std::string::npos) {
  }
  line.erase(0, line.find_first_not_of(' '));
  return fmt::format("OCTET_NVRTC_LIBRARY={}", line.empty() ? library : line);
}

// The library's version, and the compiler that it would use: a missing one is a fact here, not an error.
std::string version_text() {
  const std::string library = Options::from_environment().nvrtc_library;
  std::string text = fmt::format("octet {}\n", version());
  try {
    const auto nvrtc = Nvrtc::open(library);
    text += fmt::format("nvrtc {}.{} ({})", nvrtc->major(), nvrtc->minor(), nvrtc->path());
  } catch (const Error& error) {
    text += fmt::format("nvrtc not found, so kernels come from the cache only: {}", why_not_found(library, error));
  }
  return text;
}

void print_error(std::string_view message) { fmt::print(stderr, "octet: {}\n", message); }

// Whether the input has to change. A kernel that does not exist is asked for in vain on every machine.
bool is_usage(ErrorCode code) {
  return code == ErrorCode::invalid_problem || code == ErrorCode::invalid_argument || code == ErrorCode::no_kernel;
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);  // --help, --version
  // A value may look like an unknown option, so only where CLI11 stumbled over a word or missed one.
  const bool is_about_words = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                              dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::string unknown = is_about_words ? unknown_word_message(app, words) : "";
  if (unknown.empty() && dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    // CLI11 lists them backwards.
    unknown = fmt::format("not expected: '{}' (see octet --help)", fmt::join(app.remaining(true), "', '"));
  }
  print_error(unknown.empty() ? fmt::format("{} (see octet --help)", error.what()) : unknown);
  return kUsage;
}

int run(const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    print_error(error.what());
    return is_usage(error.code()) ? kUsage : kFailure;
  } catch (const std::bad_alloc&) {
    print_error("there is not enough memory for this; ask for less, for example with smaller --sizes");
    return kFailure;
  } catch (const std::exception& error) {
    print_error(error.what());
    return kFailure;
  }
}

int main(int argc, char** argv) {
  CLI::App app("Octet: FP8 kernels of mixture-of-experts layers, compiled, cached and explained.", "octet");
  app.footer(
      "Exit codes: 0 done, 1 the job failed, 2 the input is wrong.\nSettings: OCTET_CACHE_DIR, "
      "OCTET_CACHE_READONLY_DIRS, OCTET_CACHE_MODE, OCTET_NVRTC_LIBRARY, OCTET_TEMPLATE_DIR, OCTET_DUMP_DIR, "
      "OCTET_LINEINFO.");
  app.set_version_flag("--version", version_text, "Versions of the library and of NVRTC");
  app.require_subcommand(1);
  Action action;
  add_build(app, action);
  add_run(app, action);
  add_show(app, action);
  add_explain(app, action);
  add_variants(app, action);
  add_plan(app, action);
  add_rules(app, action);
  add_cache(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error, {argv + std::min(argc, 1), argv + argc});
  }
  return run(action);
}

}  // namespace
}  // namespace octet::cli

int main(int argc, char** argv) { return octet::cli::main(argc, argv); }
