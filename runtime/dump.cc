#include "runtime/dump.h"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace octet {
namespace {

void write(const std::string& directory, const std::string& name, const std::string& content) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::create_directories(directory, ignored);
  std::ofstream file(fs::path(directory) / name, std::ios::binary);
  file << content;
  file.close();
  static std::atomic<bool> warned{false};
  if (!file && !warned.exchange(true)) {
    std::fprintf(stderr, "octet: cannot write \"%s/%s\"; check OCTET_DUMP_DIR\n", directory.c_str(), name.c_str());
  }
}

}  // namespace

void dump_source(const std::string& directory, const std::string& entry_name, const std::string& source) {
  if (!directory.empty()) write(directory, entry_name + ".cu", source);
}

void dump_binaries(const std::string& directory, const std::string& entry_name, const std::string& ptx,
                   const std::string& cubin) {
  if (directory.empty()) return;
  write(directory, entry_name + ".ptx", ptx);
  write(directory, entry_name + ".cubin", cubin);
}

}  // namespace octet
