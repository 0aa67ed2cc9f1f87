// Progress on stderr: a bar that is redrawn on a terminal, one line per finished step elsewhere.
#pragma once

#include <cstddef>
#include <string>

namespace octet::cli {

class Progress {
 public:
  explicit Progress(std::size_t total);
  ~Progress();  // takes the bar away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `line` is one step; `is_notable` keeps it on a terminal too, above the bar.
  void step(const std::string& line, bool is_notable);

 private:
  void draw(const std::string& line) const;

  std::size_t total_, done_ = 0;
  bool terminal_;
};

}  // namespace octet::cli
