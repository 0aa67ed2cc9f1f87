#include "tools/cli/disassemble.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "octet/error.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> search_folders() {
  std::vector<std::string> folders;
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    if (end != 0) folders.push_back(rest.substr(0, end));
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  if (const char* cuda_home = std::getenv("CUDA_HOME")) folders.push_back(std::string(cuda_home) + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  return folders;
}

std::string find_nvdisasm() {
  for (const std::string& folder : search_folders()) {
    const std::string candidate = folder + "/nvdisasm";
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw Error(ErrorCode::compile_failed,
              "--sass: nvdisasm not found in PATH, CUDA_HOME/bin or /usr/local/cuda/bin; install it, or use --ptx");
}

// A file that nobody else can name or read, gone with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes) : path_((fs::temp_directory_path() / "octet-XXXXXX").string()) {
    const int fd = ::mkstemp(path_.data());
    std::FILE* file = fd < 0 ? nullptr : ::fdopen(fd, "wb");
    const bool written = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    if (file == nullptr || std::fclose(file) != 0 || !written) {
      ::unlink(path_.c_str());
      throw Error(ErrorCode::compile_failed, fmt::format("--sass: cannot write {}; set TMPDIR", path_));
    }
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char character : text) result += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return result + "'";
}

}  // namespace

std::string disassemble(const std::string& cubin) {
  const std::string tool = find_nvdisasm();
  const TemporaryFile file(cubin);
  std::FILE* pipe = ::popen(fmt::format("{} {}", quoted(tool), quoted(file.path())).c_str(), "r");
  std::string text;
  std::array<char, 65536> chunk;
  while (pipe != nullptr) {
    const std::size_t read = std::fread(chunk.data(), 1, chunk.size(), pipe);
    if (read == 0) break;
    text.append(chunk.data(), read);
  }
  if (pipe == nullptr || ::pclose(pipe) != 0) {
    throw Error(ErrorCode::compile_failed, fmt::format("--sass: {} failed on this cubin", tool));
  }
  return text;
}

}  // namespace octet::cli
