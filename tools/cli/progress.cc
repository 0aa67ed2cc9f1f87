#include "tools/cli/progress.h"

#include <algorithm>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace octet::cli {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr const char* kEraseLine = "\r\x1b[K";

std::size_t terminal_columns() {
  winsize size = {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace

Progress::Progress(std::size_t total) : total_(total), terminal_(::isatty(STDERR_FILENO) == 1) {
  if (terminal_) draw("");
}

Progress::~Progress() {
  if (terminal_) std::fputs(kEraseLine, stderr);
}

void Progress::step(const std::string& line, bool is_notable) {
  ++done_;
  const std::string total = std::to_string(total_);
  if (!terminal_ || is_notable) {
    fmt::print(stderr, "{}[{:>{}}/{}] {}\n", terminal_ ? kEraseLine : "", done_, total.size(), total, line);
  }
  if (terminal_) draw(line);
}

void Progress::draw(const std::string& line) const {
  const std::size_t filled = total_ == 0 ? kBarWidth : kBarWidth * done_ / total_;
  std::string text = fmt::format("[{:#<{}}{:-<{}}] {}/{} ", "", filled, "", kBarWidth - filled, done_, total_);
  text += line.substr(0, line.find('\n'));
  // One column short of the edge: some terminals wrap when the last one is written.
  fmt::print(stderr, "{}{}", kEraseLine, text.substr(0, terminal_columns() - 1));
  std::fflush(stderr);
}

}  // namespace octet::cli
