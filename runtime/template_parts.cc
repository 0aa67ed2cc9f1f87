#include "runtime/template_parts.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "octet/error.h"

namespace octet {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text = trim(text.substr(prefix.size()));
  return true;
}

class Assembler {
 public:
  Assembler(const TemplateSet& templates, const std::set<std::string>& facts, const std::set<std::string>& known)
      : templates_(templates), facts_(facts), known_(known) {}

  void file(const std::string& name, const std::string& from) {
    if (!done_.insert(name).second) return;
    const auto found = templates_.find(name);
    if (found == templates_.end()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("template \"{}\" not found (included from {})", name, from));
    }
    // What it includes comes first, so that a file's own comment stays at the head of its own code.
    std::string own;
    std::vector<Block> open;
    std::string_view rest = found->second;
    for (int number = 1; !rest.empty(); ++number) {
      const auto end = rest.find('\n');
      line(rest.substr(0, end), fmt::format("{}:{}", name, number), open, own);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    if (!open.empty()) throw Error(ErrorCode::invalid_argument, open.back().where + ": #if without #endif");
    text_ += own + "\n";
  }

  // Leaves at most one empty line where dropped parts left several, none at the start, and none at the end.
  std::string text() const {
    std::string result;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const bool empty_line = text_[i] == '\n' && (result.empty() || text_.compare(i, 3, "\n\n\n") == 0);
      if (!empty_line) result += text_[i];
    }
    while (result.size() > 1 && result.compare(result.size() - 2, 2, "\n\n") == 0) result.pop_back();
    return result;
  }

 private:
  struct Block {
    std::string where;  // its #if
    bool kept;          // it and all around it
  };

  void line(std::string_view line, const std::string& where, std::vector<Block>& open, std::string& own) {
    const bool keep = open.empty() || open.back().kept;
    std::string_view text = trim(line);
    if (take_prefix(text, "#if ")) {
      open.push_back({where, holds(text, where) && keep});
    } else if (text == "#endif") {
      if (open.empty()) throw Error(ErrorCode::invalid_argument, where + ": #endif without #if");
      open.pop_back();
    } else if (text.substr(0, 3) == "#if" || text.substr(0, 3) == "#el" || text.substr(0, 6) == "#endif") {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: \"{}\": templates know only #if with facts, and a bare #endif", where, text));
    } else if (!keep || text == "#pragma once") {
      return;
    } else if (take_prefix(text, "#include \"")) {
      file(std::string(text.substr(0, text.find('"'))), where);
    } else if (text.substr(0, 8) == "#include") {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{}: \"{}\": generated source has no include path; use #include \"a template\"", where, text));
    } else {
      own.append(line).push_back('\n');
    }
  }

  // "OCTET_A || !OCTET_B"
  bool holds(std::string_view condition, const std::string& where) const {
    bool any = false;
    for (bool more = true; more;) {
      const auto bar = condition.find("||");
      std::string_view word = trim(condition.substr(0, bar));
      const bool negated = take_prefix(word, "!");
      const std::string fact = fact_of(word);
      if (known_.count(fact) == 0) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{}: unknown fact \"{}\"", where, word));
      }
      any = any || ((facts_.count(fact) != 0) != negated);
      more = bar != std::string_view::npos;
      if (more) condition.remove_prefix(bar + 2);
    }
    return any;
  }

  // "OCTET_CLUSTER_M" speaks of the fact "cluster_m"; "" for any other word.
  static std::string fact_of(std::string_view word) {
    if (!take_prefix(word, "OCTET_")) return "";
    std::string fact;
    for (const char c : word) fact += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return fact;
  }

  const TemplateSet& templates_;
  const std::set<std::string>& facts_;
  const std::set<std::string>& known_;
  std::set<std::string> done_;
  std::string text_;
};

}  // namespace

std::string assemble_parts(const TemplateSet& templates, const std::string& root, const std::set<std::string>& facts,
                           const std::set<std::string>& known) {
  Assembler assembler(templates, facts, known);
  assembler.file(root, "the renderer");
  return assembler.text();
}

}  // namespace octet
