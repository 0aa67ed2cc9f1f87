// Programs of other packages that the command line uses where they are there: nvdisasm, cuobjdump, diff.
#pragma once

#include <string>
#include <vector>

namespace octet::cli {

// The path of an executable: in PATH, $CUDA_HOME/bin, /usr/local/cuda/bin, or in PyPI's triton wheel, which brings
// nvdisasm and cuobjdump along. "" when it is in none of them.
std::string find_tool(const std::string& name);

struct ToolResult {
  int exit_code = -1;  // -1: it could not be started, or a signal ended it
  std::string output;  // its standard output; standard error is the user's
};
// `words`: the path, then the arguments, as they are.
ToolResult run_tool(const std::vector<std::string>& words);

// A file that nobody else can read, gone with the object. Throws Error{invalid_argument} that says to set TMPDIR.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace octet::cli
