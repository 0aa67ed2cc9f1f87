// What the cache asks of POSIX files. Nothing here throws for an I/O error, and no path is walked twice: a directory is
// opened, judged by its descriptor, and used through it, so it cannot be exchanged after the judgement.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace octet::cache {

// What looking for a thing on disk gave: the thing; or a fault, in words; or neither, when nothing is there.
template <typename T>
struct Look {
  std::optional<T> value;
  std::string fault;
};

// Owns a file descriptor.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  // False when the system reports that written bytes were lost, which network file systems do as late as here.
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0 || errno == EINTR;  // the descriptor is gone after EINTR too
  }

 private:
  int fd_;
};

// Makes a system call again while a signal interrupts it, and a few times when a network file system says that its
// handle went stale (the name was renamed over on another host).
template <typename Call>
auto retry(Call call) {
  constexpr int kStaleAttempts = 5;
  for (int stale = 0;;) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno == EINTR) continue;
    if (errno != ESTALE || ++stale == kStaleAttempts) return result;
    std::this_thread::sleep_for(std::chrono::milliseconds(10 * stale));
    errno = ESTALE;
  }
}

// Whose files may be believed. Files that others can write never are.
enum class Owner {
  user,          // this process's effective user
  user_or_root,  // or root's: layers that a system administrator or a container image brought
};

std::string error_text(int error);  // "No space left on device"

// mkdir -p; what it makes has mode 0700. Another process that makes the same directories at the same time is no error.
// The caller finds out by opening the directory.
void make_directories(const std::string& path);

// Opens a directory that may be believed. `parent` is AT_FDCWD or a descriptor that `path` is relative to.
Look<Fd> open_directory(int parent, const std::string& path, Owner owner);

// Names in a directory, sorted, without "." and "..".
std::vector<std::string> names_in(const Fd& directory);

// The whole of a file that may be believed. Anything else of that name (a directory, a dangling link, a pipe) is a
// fault. The length is the file's at opening; a caller that needs all of it checks the content.
Look<std::string> read_file(const Fd& directory, const std::string& name, Owner owner);

// Publishes a file so that a reader sees all of it or none, also after a power cut: temporary file in the directory,
// fsync, rename. Whatever had the name before is replaced, even a directory. Returns the fault, "" when published; then
// nothing is left behind.
std::string write_file(const Fd& directory, const std::string& name, const std::string& bytes);

// Removes what has this name, also a directory with all in it. False when it is still there.
bool remove_name(const Fd& directory, const std::string& name);

// Temporary files are named so that nothing mistakes them for an entry. A crash leaves one behind, so old ones go.
inline constexpr char kTemporaryPrefix[] = ".tmp-";
void remove_stale_temporaries(const Fd& directory, std::chrono::seconds age);

}  // namespace octet::cache
