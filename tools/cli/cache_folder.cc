#include "tools/cli/cache_folder.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "octet/error.h"

namespace octet::cli {
namespace {

[[noreturn]] void refuse(const std::string& directory, const std::string& why, const std::string& advice) {
  throw Error(ErrorCode::cache, fmt::format("the kernel cache {} cannot be used: {}; {}", directory, why, advice));
}

// A new name in the directory, as an entry will be; access(2) would not know about quotas and odd file systems.
std::string write_fault(const cache::Fd& root) {
  std::string name = fmt::format("{}probe-{}", cache::kTemporaryPrefix, ::getpid());
  if (::mkdirat(root.get(), name.c_str(), 0700) != 0) return cache::error_text(errno);
  ::unlinkat(root.get(), name.c_str(), AT_REMOVEDIR);
  return "";
}

// The folder that keeps a missing one from being made, and why.
std::string making_fault(std::string path) {
  while (true) {
    const std::size_t slash = path.find_last_of('/', path.find_last_not_of('/'));
    path = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    if (::access(path.c_str(), F_OK) == 0 || path == "." || path == "/") break;
  }
  const bool writable = ::access(path.c_str(), W_OK | X_OK) == 0;
  return fmt::format("it cannot be made in {}{}", path, writable ? "" : " (" + cache::error_text(errno) + ")");
}

}  // namespace

void require_writable_cache(const std::string& directory) {
  const std::string advice = "set OCTET_CACHE_DIR or give --cache-dir";
  if (directory.empty()) throw Error(ErrorCode::cache, "there is no cache directory here; " + advice);
  cache::make_directories(directory);
  const auto root = cache::open_directory(AT_FDCWD, directory, cache::Owner::user);
  if (!root.value) refuse(directory, root.fault.empty() ? making_fault(directory) : root.fault, advice);
  if (const std::string fault = write_fault(*root.value); !fault.empty()) refuse(directory, fault, advice);
}

bool cache_exists(const std::string& directory, cache::Owner owner) {
  const auto root = cache::open_directory(AT_FDCWD, directory, owner);
  if (root.value || root.fault.empty()) return root.value.has_value();
  refuse(directory, root.fault, "mend it, or name another one");
}

}  // namespace octet::cli
