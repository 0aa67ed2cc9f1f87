#include "cache/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

namespace octet::cache {
namespace {

// No cubin with its source comes near. A larger file is not ours, and reading it could exhaust the memory.
constexpr off_t kLargestFile = off_t{1} << 28;

// Why what was opened is not to be believed, "" when it is.
std::string distrust(const struct stat& status, Owner owner) {
  const bool trusted_owner = status.st_uid == ::geteuid() || (owner == Owner::user_or_root && status.st_uid == 0);
  if (!trusted_owner) {
    return "owned by uid " + std::to_string(status.st_uid) + ", and this process runs as uid " +
           std::to_string(::geteuid());
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "writable by others than its owner (run: chmod go-w)";
  return "";
}

// ENOENT from open: nothing of that name, or a link that leads nowhere.
template <typename T>
Look<T> open_failure(int parent, const std::string& path, int error) {
  struct stat status {};
  if (error != ENOENT) return {std::nullopt, error_text(error)};
  if (::fstatat(parent, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode)) {
    return {std::nullopt, "a link that leads nowhere"};
  }
  return {};
}

std::string read_bytes(const Fd& fd, std::size_t size, int& error) {
  std::string bytes(size, '\0');
  std::size_t filled = 0;
  error = 0;
  while (filled < size) {
    const ssize_t got = retry([&] { return ::read(fd.get(), bytes.data() + filled, size - filled); });
    if (got < 0) error = errno;
    if (got <= 0) break;  // the end comes early when somebody truncates the file meanwhile
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

// One attempt at read_file. `stale` is set when the handle went stale halfway and a new look may succeed.
Look<std::string> read_once(const Fd& directory, const std::string& name, Owner owner, bool& stale) {
  // O_NONBLOCK: opening a pipe that stands in the way must not wait for its writer.
  const Fd fd(retry([&] { return ::openat(directory.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!fd) return open_failure<std::string>(directory.get(), name, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    stale = errno == ESTALE;
    return {std::nullopt, error_text(errno)};
  }
  if (S_ISDIR(status.st_mode)) return {std::nullopt, "a directory, not a file"};
  if (!S_ISREG(status.st_mode)) return {std::nullopt, "not a regular file"};
  if (std::string why = distrust(status, owner); !why.empty()) return {std::nullopt, std::move(why)};
  if (status.st_size > kLargestFile) return {std::nullopt, "larger than any entry can be"};
  int error = 0;
  std::string bytes = read_bytes(fd, static_cast<std::size_t>(status.st_size), error);
  stale = error == ESTALE;
  if (error != 0) return {std::nullopt, error_text(error)};
  return {std::move(bytes), ""};
}

// Unique among the threads (the counter), processes (the id) and hosts (the random part) that share the directory.
std::string temporary_name() {
  static std::atomic<std::uint32_t> counter{0};
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, GRND_NONBLOCK) < 0) random = 0;  // O_EXCL still protects
  char name[64];
  std::snprintf(name, sizeof name, "%s%ld-%lu-%016llx", kTemporaryPrefix, static_cast<long>(::getpid()),
                static_cast<unsigned long>(counter++), static_cast<unsigned long long>(random));
  return name;
}

// Writes, flushes and closes. Zero, or the error.
int write_bytes(Fd& fd, const std::string& bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t got = retry([&] { return ::write(fd.get(), bytes.data() + written, bytes.size() - written); });
    if (got < 0) return errno;
    written += static_cast<std::size_t>(got);
  }
  const bool flushed = retry([&] { return ::fsync(fd.get()); }) == 0;
  if (!flushed && errno != EINVAL && errno != ENOSYS) return errno;  // file systems without fsync have nothing to lose
  return fd.close() ? 0 : errno;
}

int rename_over(const Fd& directory, const std::string& from, const std::string& to) {
  const auto rename = [&](const std::string& x, const std::string& y) {
    return ::renameat(directory.get(), x.c_str(), directory.get(), y.c_str()) == 0 ? 0 : errno;
  };
  const int error = rename(from, to);
  if (error != EISDIR && error != ENOTEMPTY && error != EEXIST) return error;
  // A directory has the name. It is moved aside first, so that the name is never missing for longer than two renames.
  const std::string aside = temporary_name();
  if (const int failed = rename(to, aside); failed != 0 && failed != ENOENT) return failed;
  const int again = rename(from, to);
  remove_name(directory, aside);
  return again;
}

}  // namespace

std::string error_text(int error) { return std::generic_category().message(error); }

void make_directories(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno != ENOENT) return;
  const std::size_t last = path.find_last_not_of('/');
  const std::size_t slash = path.find_last_of('/', last);
  if (last == std::string::npos || slash == std::string::npos || slash == 0) return;
  make_directories(path.substr(0, slash));
  ::mkdir(path.c_str(), 0700);
}

Look<Fd> open_directory(int parent, const std::string& path, Owner owner) {
  Fd fd(retry([&] { return ::openat(parent, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd) return open_failure<Fd>(parent, path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return {std::nullopt, error_text(errno)};
  if (std::string why = distrust(status, owner); !why.empty()) return {std::nullopt, std::move(why)};
  return {std::move(fd), ""};
}

std::vector<std::string> names_in(const Fd& directory) {
  std::vector<std::string> names;
  Fd own(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));  // its own position in the listing
  const auto close_stream = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close_stream)> stream(own ? ::fdopendir(own.get()) : nullptr, close_stream);
  if (stream == nullptr) return names;
  own.release();  // the stream closes it
  while (const dirent* item = ::readdir(stream.get())) {
    if (std::strcmp(item->d_name, ".") != 0 && std::strcmp(item->d_name, "..") != 0) names.emplace_back(item->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Look<std::string> read_file(const Fd& directory, const std::string& name, Owner owner) {
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    bool stale = false;
    auto look = read_once(directory, name, owner, stale);
    if (!stale || attempt == kAttempts) return look;
  }
}

std::string write_file(const Fd& directory, const std::string& name, const std::string& bytes) {
  if (bytes.size() > static_cast<std::size_t>(kLargestFile)) return error_text(EFBIG);
  const std::string temporary = temporary_name();
  // In a directory of mode 0700 the file's own mode matters only once somebody opens the directory to others.
  Fd fd(retry(
      [&] { return ::openat(directory.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644); }));
  if (!fd) return error_text(errno);
  int error = write_bytes(fd, bytes);
  if (error == 0) error = rename_over(directory, temporary, name);
  if (error != 0) {
    ::unlinkat(directory.get(), temporary.c_str(), 0);
    return error_text(error);
  }
  // Makes the new name durable. If this fails, a power cut loses the entry, which is a miss and no damage.
  ::fsync(directory.get());
  return "";
}

bool remove_name(const Fd& directory, const std::string& name) {
  if (::unlinkat(directory.get(), name.c_str(), 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  const Fd inner(::openat(directory.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!inner) return false;
  for (const std::string& child : names_in(inner)) remove_name(inner, child);
  return ::unlinkat(directory.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

void remove_stale_temporaries(const Fd& directory, std::chrono::seconds age) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const std::string& name : names_in(directory)) {
    if (name.compare(0, sizeof kTemporaryPrefix - 1, kTemporaryPrefix) != 0) continue;
    struct stat status {};
    if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (now - std::chrono::seconds(status.st_mtime) > age) remove_name(directory, name);
  }
}

}  // namespace octet::cache
