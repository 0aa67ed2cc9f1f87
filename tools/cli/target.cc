#include <CLI/CLI.hpp>

#include "tools/cli/command.h"
#include "tools/cli/numbers.h"

namespace octet::cli {

DeviceFacts Target::facts() const {
  DeviceFacts facts = DeviceFacts::for_arch(arch);
  if (sms > 0) facts.sm_count = sms;
  return facts;
}

void add_target(CLI::App& app, Target& target) {
  app.add_option("--arch", target.arch, "Architecture to compile for")->capture_default_str();
  require_whole(
      app.add_option("--sms", target.sms, "Multiprocessors of the device; default: the arch's reference part"), 1);
}

}  // namespace octet::cli
