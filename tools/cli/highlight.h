// CUDA C++ and PTX in colours, for a person at a terminal.
#pragma once

#include <string>

namespace octet::cli {

// Whether standard output is a terminal that shows colours: NO_COLOR is not set (no-color.org) and TERM is not "dumb".
bool wants_colours();

// The same text with ANSI escapes around comments, strings, preprocessor lines, keywords and numbers.
std::string highlight(const std::string& text);

}  // namespace octet::cli
