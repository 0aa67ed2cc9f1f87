// Which kernel of a problem a command is about: the cost model's choice, or the candidate whose config was typed.
#pragma once

#include <cstdint>
#include <string>

#include "octet/device.h"
#include "octet/spec.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace octet::cli {

// `--config TEXT`; "" when it is not given.
CLI::Option* add_config(CLI::App& app, std::string& config);
// `--no-workspace`
CLI::Option* add_no_workspace(CLI::App& app, bool& no_workspace);

// What the choice depends on besides the problem and the device.
struct Wish {
  std::int64_t expected_m = 0;
  std::string config;  // as to_string(Config) writes it, "" for the cost model's choice
  bool no_workspace = false;
};

// Throws Error with one line: the refusal of a config that a rule removed, or the texts of the legal ones.
Spec choose_spec(const Problem& problem, const DeviceFacts& facts, const Wish& wish);

}  // namespace octet::cli
