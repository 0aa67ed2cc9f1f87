#include "tools/cli/highlight.h"

#include <cctype>
#include <cstdlib>
#include <set>
#include <string_view>

#include <unistd.h>

namespace octet::cli {
namespace {

constexpr const char *kComment = "\033[2m", *kDirective = "\033[35m", *kKeyword = "\033[34m", *kLiteral = "\033[32m",
                     *kPlain = "\033[0m";

bool is_keyword(std::string_view word) {
  static const std::set<std::string_view> words = {"__device__",
                                                   "__forceinline__",
                                                   "__global__",
                                                   "__grid_constant__",
                                                   "__launch_bounds__",
                                                   "__restrict__",
                                                   "__shared__",
                                                   "alignas",
                                                   "asm",
                                                   "auto",
                                                   "bool",
                                                   "break",
                                                   "char",
                                                   "const",
                                                   "constexpr",
                                                   "continue",
                                                   "do",
                                                   "double",
                                                   "else",
                                                   "enum",
                                                   "extern",
                                                   "false",
                                                   "float",
                                                   "for",
                                                   "if",
                                                   "inline",
                                                   "int",
                                                   "long",
                                                   "namespace",
                                                   "private",
                                                   "public",
                                                   "return",
                                                   "short",
                                                   "sizeof",
                                                   "static",
                                                   "static_assert",
                                                   "struct",
                                                   "switch",
                                                   "template",
                                                   "true",
                                                   "typename",
                                                   "union",
                                                   "unsigned",
                                                   "using",
                                                   "void",
                                                   "volatile",
                                                   "while"};
  return words.count(word) != 0;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The token at the start of `text`: its length and its colour, null for none.
struct Token {
  std::size_t length;
  const char* colour;
};

std::size_t up_to(std::string_view text, std::string_view end, std::size_t from) {
  const std::size_t found = text.find(end, from);
  return found == std::string_view::npos ? text.size() : found + end.size();
}

std::size_t string_length(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && text[at] != text[0] && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

std::size_t word_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && (is_word(text[length]) || (text[length] == '\'' && length > 0))) ++length;
  return length;
}

Token next_token(std::string_view text, bool starts_line) {
  if (text.substr(0, 2) == "//") return {std::min(text.find('\n'), text.size()), kComment};
  if (text.substr(0, 2) == "/*") return {up_to(text, "*/", 2), kComment};
  if (text[0] == '"') return {string_length(text), kLiteral};
  if (text[0] == '#' && starts_line) return {std::min(text.find('\n'), text.size()), kDirective};
  if (!is_word(text[0])) return {1, nullptr};
  const std::size_t length = word_length(text);
  if (std::isdigit(static_cast<unsigned char>(text[0])) != 0) return {length, kLiteral};
  return {length, is_keyword(text.substr(0, length)) ? kKeyword : nullptr};
}

}  // namespace

bool wants_colours() {
  const char *no_colour = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  const bool refused = no_colour != nullptr && *no_colour != '\0';
  return ::isatty(STDOUT_FILENO) == 1 && !refused && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string highlight(const std::string& text) {
  std::string result;
  bool starts_line = true;
  for (std::string_view rest = text; !rest.empty();) {
    const Token token = next_token(rest, starts_line);
    const std::string_view part = rest.substr(0, token.length);
    if (token.colour != nullptr) result += token.colour;
    result += part;
    if (token.colour != nullptr) result += kPlain;
    starts_line = part.back() == '\n' || (starts_line && part == " ");
    rest.remove_prefix(part.size());
  }
  return result;
}

}  // namespace octet::cli
