// The word of a command line that nothing knows. CLI11's own messages leave out the name, or what is near it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace octet::cli {

// One line about the first subcommand or option among the `words` that does not exist, with the nearest one that does;
// "" when all exist.
std::string unknown_word_message(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace octet::cli
