// What the tests of cache/ share: a scratch directory, sample entries, children, and stderr as text.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "cache/store.h"

namespace octet::cache::test {

namespace fs = std::filesystem;

inline constexpr uid_t kNobody = 65534;

// A directory of its own for one test, removed at its end.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (fs::temp_directory_path() / "octet-cache-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + pattern);
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Catches what a piece of code writes to stderr.
inline std::string stderr_of(const std::function<void()>& code) {
  std::FILE* file = std::tmpfile();
  std::fflush(stderr);
  const int saved = ::dup(2);
  ::dup2(::fileno(file), 2);
  code();
  std::fflush(stderr);
  ::dup2(saved, 2);
  ::close(saved);
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// A child process that runs `code` and exits with its result; 99 when it throws.
inline pid_t start_child(const std::function<int()>& code) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int result = 99;
  try {
    result = code();
  } catch (...) {
  }
  std::fflush(stderr);
  ::_exit(result);
}

// The exit code, or 128 + the signal that ended it.
inline int wait_for(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

inline int run_child(const std::function<int()>& code) { return wait_for(start_child(code)); }

// Runs `code` where permission bits count: root becomes nobody, everybody else stays what they are. The paths are
// given to that user first.
inline int run_unprivileged(const std::vector<fs::path>& paths, const std::function<int()>& code) {
  const bool is_root = ::geteuid() == 0;
  for (const fs::path& path : paths) {
    if (is_root && ::lchown(path.c_str(), kNobody, kNobody) != 0) return -1;
  }
  return run_child([&] {
    if (is_root && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) return 98;
    return code();
  });
}

// The directory and everything below it.
inline std::vector<fs::path> all_of(const fs::path& root) {
  std::vector<fs::path> paths{root};
  for (const auto& item : fs::recursive_directory_iterator(root)) paths.push_back(item.path());
  return paths;
}

inline Key sample_key(const std::string& name = "kernel", const std::string& arch = "sm_90a") {
  return Key().add("format", "1").add("arch", arch).add("source", name);
}

inline Entry sample_entry(const std::string& name = "kernel", const std::string& toolchain = "nvrtc 13.0.88") {
  return {{{"spec", name}, {"toolchain", toolchain}},
          "source of " + name,
          "\x7f"
          "ELF cubin of " +
              name};
}

inline Store store_at(const fs::path& directory) { return Store({directory.string(), {}}); }

inline std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// Where the only entry of a cache is.
inline fs::path only_entry(const fs::path& directory) {
  const auto listings = store_at(directory).list();
  if (listings.size() != 1) throw std::runtime_error("expected one entry, found " + std::to_string(listings.size()));
  return listings.front().path;
}

// Every name below a directory that is neither an entry nor a directory.
inline std::vector<std::string> leftovers(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& item : fs::recursive_directory_iterator(directory)) {
    if (!item.is_directory() && item.path().extension() != ".octet") names.push_back(item.path().string());
  }
  return names;
}

// "hit", "miss", or what is wrong with the hit.
inline std::string look(Store& store, const std::string& name = "kernel", const std::string& toolchain = "nvrtc 13.0") {
  const auto entry = store.find(sample_key(name), toolchain);
  if (!entry) return "miss";
  const Entry expected = sample_entry(name, entry->get("toolchain"));
  if (entry->source != expected.source || entry->cubin != expected.cubin) return "another content";
  return entry->get("spec") == name ? "hit" : "another spec";
}

}  // namespace octet::cache::test
