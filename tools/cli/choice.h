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

// `config` as to_string(Config) writes it, "" for the cost model's choice. Throws Error with one line: the refusal of a
// config that a rule removed, or the texts of the legal ones.
Spec choose_spec(const Problem& problem, const DeviceFacts& facts, std::int64_t expected_m, const std::string& config);

}  // namespace octet::cli
