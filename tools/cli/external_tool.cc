#include "tools/cli/external_tool.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <glob.h>

#include "octet/error.h"

namespace octet::cli {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void add_path_folders(std::vector<std::string>& folders) {
  std::string rest = variable("PATH");
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    if (end != 0) folders.push_back(rest.substr(0, end));
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
}

void add_wheel_folders(std::vector<std::string>& folders) {
  for (const std::string& prefix :
       {variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), variable("HOME") + "/.local", std::string("/usr/local")}) {
    if (prefix.empty() || prefix[0] != '/') continue;
    glob_t found{};
    const std::string pattern = prefix + "/lib*/python3*/*-packages/triton/backends/nvidia/bin";
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
      folders.insert(folders.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    ::globfree(&found);
  }
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char character : text) result += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return result + "'";
}

}  // namespace

std::string find_tool(const std::string& name) {
  std::vector<std::string> folders;
  add_path_folders(folders);
  if (const std::string home = variable("CUDA_HOME"); !home.empty()) folders.push_back(home + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  add_wheel_folders(folders);
  for (const std::string& folder : folders) {
    std::string candidate = folder + "/" + name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(candidate, ignored) && ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return "";
}

ToolResult run_tool(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : " ") + quoted(word);
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return {};
  ToolResult result;
  std::array<char, 65536> chunk;
  while (const std::size_t read = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    result.output.append(chunk.data(), read);
  }
  const int status = ::pclose(pipe);
  if (status >= 0 && WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

TemporaryFile::TemporaryFile(const std::string& bytes) {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
  path_ = ((failed ? "/tmp" : folder) / "octet-XXXXXX").string();
  const int fd = ::mkstemp(path_.data());
  std::FILE* file = fd < 0 ? nullptr : ::fdopen(fd, "wb");
  const bool written = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file != nullptr && std::fclose(file) == 0 && written) return;
  if (fd >= 0) ::unlink(path_.c_str());
  throw Error(ErrorCode::invalid_argument, fmt::format("cannot write a temporary file in {}; set TMPDIR to a folder "
                                                       "with room",
                                                       std::filesystem::path(path_).parent_path().string()));
}

TemporaryFile::~TemporaryFile() { ::unlink(path_.c_str()); }

}  // namespace octet::cli
