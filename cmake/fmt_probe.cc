// Uses of fmt like ours: links only when cmake/fmt_once.cc fits the installed fmt.
#include <fmt/format.h>

#include <string>
#include <vector>

int main() {
  const std::vector<std::string> words = {"a", "b"};
  const std::string text = fmt::format("{} {:>5} {:.2f} {:.3g} {:#x} {} {}", 1, "x", 2.5, 1e30f, 255u,
                                       fmt::join(words, ","), static_cast<const void*>(nullptr));
  fmt::print(stderr, "{}\n", text);
}
