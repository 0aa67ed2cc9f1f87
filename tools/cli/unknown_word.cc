#include "tools/cli/unknown_word.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "runtime/words.h"

namespace octet::cli {
namespace {

// Groups of options are nameless subcommands to CLI11.
std::vector<const CLI::App*> children(const CLI::App& app, bool named) {
  return app.get_subcommands([named](const CLI::App* child) { return child->get_name().empty() != named; });
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  for (const CLI::App* group : children(app, false)) {
    for (std::string& name : option_names(*group)) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* child : children(app, true)) names.push_back(child->get_name());
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "--jobs" of "--jobs=4", "-j" of "-j4"; "" for what is no option.
std::string option_in(const std::string& word) {
  if (word.size() < 2 || word[0] != '-' || word == "--") return "";
  return word[1] == '-' ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

std::string message(const std::string& kind, const std::string& word, const std::vector<std::string>& known,
                    const std::string& command) {
  const std::string_view nearest = nearest_word(word, {known.begin(), known.end()});
  const std::string list = kind == "subcommand" ? fmt::format(" known are {}", fmt::join(known, ", ")) : "";
  return fmt::format("unknown {} {} of {}; did you mean '{}'?{} (see {} --help)", kind, octet::quoted(word), command,
                     nearest, list, command);
}

}  // namespace

std::string unknown_word_message(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  std::string command = app.get_name();
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::vector<const CLI::App*> nested = children(*at, true);
    const std::vector<std::string> options = option_names(*at), subcommands = subcommand_names(*at);
    if (const std::string option = option_in(word); !option.empty()) {
      if (!has(options, option)) return message("option", word.substr(0, word.find('=')), options, command);
    } else if (!subcommands.empty()) {
      if (!has(subcommands, word)) return message("subcommand", word, subcommands, command);
      at =
          *std::find_if(nested.begin(), nested.end(), [&](const CLI::App* child) { return child->get_name() == word; });
      command += " " + word;
    }
  }
  return "";
}

}  // namespace octet::cli
