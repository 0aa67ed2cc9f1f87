// Scratch folders, shared libraries built on the spot, and a fresh process of the running test program.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace octet::test {

// Its name has a space: no code may trip over that. Removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "octet test XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a folder like " + pattern);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

struct Finished {
  int exit_code = -1;  // -1: ended by a signal
  std::string output;  // stdout and stderr
};

inline Finished run_command(const std::string& command) {
  Finished finished;
  FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::array<char, 4096> buffer;
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    finished.output.append(buffer.data(), count);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) finished.exit_code = WEXITSTATUS(status);
  return finished;
}

// Runs one, usually hidden, test case of this program in a process of its own. `environment`: "A=b C=d", shell syntax.
inline Finished run_test_case(const std::string& name, const std::string& environment) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  return run_command("env " + environment + " '" + program + "' '" + name + "'");
}

// Compiles C source to the shared library `path` with the given soname.
inline void build_library(const std::string& path, const std::string& source, const std::string& soname) {
  const std::string file = path + ".c";
  std::ofstream(file) << source;
  const char* compiler = std::getenv("CC");
  const Finished built = run_command(std::string(compiler == nullptr ? "cc" : compiler) +
                                     " -shared -fPIC -w -Wl,-soname," + soname + " -o '" + path + "' '" + file + "'");
  if (built.exit_code != 0) throw std::runtime_error("cannot build a library for the test:\n" + built.output);
}

}  // namespace octet::test
