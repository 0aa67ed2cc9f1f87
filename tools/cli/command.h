// How a subcommand meets main: it describes its options to CLI11 and says what to do once they are parsed.
#pragma once

#include <functional>
#include <string>

#include "octet/device.h"

namespace CLI {
class App;
}

namespace octet::cli {

// Exit codes. Usage covers everything that is wrong with what was typed or handed in: options, problems, files.
inline constexpr int kSuccess = 0, kFailure = 1, kUsage = 2;

// Does the job and returns the exit code. Runs after parsing, so that a wrong option is found before any work.
using Action = std::function<int()>;

void add_build(CLI::App& app, Action& action);
void add_cache(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_rules(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_variants(CLI::App& app, Action& action);

// What kernels are made for, without asking a GPU.
struct Target {
  std::string arch = "sm_90a";
  int sms = 0;  // multiprocessors; 0: the arch's reference part

  DeviceFacts facts() const;
};
void add_target(CLI::App& app, Target& target);

}  // namespace octet::cli
