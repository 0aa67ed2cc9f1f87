#include "cache/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdio>

namespace octet::cache {
namespace {

using Clock = std::chrono::steady_clock;
constexpr char kLocks[] = "locks";

// The folder of the lock files; made only inside a directory that may be believed.
Fd open_locks(const std::string& directory, bool make) {
  if (make) make_directories(directory);
  const auto root = open_directory(AT_FDCWD, directory, Owner::user);
  if (!root.value) return Fd();
  if (make) ::mkdirat(root.value->get(), kLocks, 0700);
  auto locks = open_directory(root.value->get(), kLocks, Owner::user);
  return locks.value ? std::move(*locks.value) : Fd();
}

// Opens the file that has the name now.
Fd open_lock(const Fd& locks, const std::string& name) {
  return Fd(
      retry([&] { return ::openat(locks.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600); }));
}

// Whether the name still leads to the open file. If not, somebody tidied it away between our open and our lock, and
// the next process would lock another file.
bool is_current(const Fd& locks, const std::string& name, const Fd& fd) {
  struct stat opened {
  }, named{};
  return ::fstat(fd.get(), &opened) == 0 && ::fstatat(locks.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Reports a long wait once.
class Patience {
 public:
  Patience(const std::string& path, double timeout_seconds) : path_(path), timeout_(std::max(timeout_seconds, 0.0)) {}

  // Sleeps a little. False when the time is up.
  bool wait() {
    const std::chrono::duration<double> waited = Clock::now() - start_;
    if (waited.count() >= timeout_) return false;
    if (waited.count() >= 1 && !said_) {
      said_ = true;
      std::fprintf(stderr, "octet: another process builds this kernel; waiting at most %.0f s for %s\n", timeout_,
                   path_.c_str());
    }
    const std::chrono::duration<double> left(timeout_ - waited.count());
    std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(pause_, left));
    pause_ = std::min<std::chrono::duration<double>>(pause_ * 2, std::chrono::milliseconds(50));
    return true;
  }

 private:
  std::string path_;
  double timeout_;
  Clock::time_point start_ = Clock::now();
  std::chrono::duration<double> pause_ = std::chrono::milliseconds(1);
  bool said_ = false;
};

// The locked file, or nothing when locks do not work here or the time is up.
Fd acquire(const Fd& locks, const std::string& name, Patience patience) {
  Fd fd = open_lock(locks, name);
  while (fd) {
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      if (is_current(locks, name, fd)) return fd;
      fd = open_lock(locks, name);
    } else if (errno == EWOULDBLOCK) {
      if (!patience.wait()) return Fd();
    } else if (errno != EINTR) {
      return Fd();
    }
  }
  return fd;
}

}  // namespace

BuildLock::BuildLock(const std::string& directory, const std::string& key, double timeout_seconds) {
  if (directory.empty()) return;
  const Fd locks = open_locks(directory, true);
  if (!locks) return;
  fd_ = acquire(locks, key, Patience(directory + "/" + kLocks + "/" + key, timeout_seconds));
  if (!fd_) return;
  owner_ = ::getpid();
  ::futimens(fd_.get(), nullptr);  // for remove_idle_locks
}

BuildLock::~BuildLock() {
  // Explicitly, since closing alone leaves the lock with a child that was forked meanwhile.
  if (fd_ && owner_ == ::getpid()) ::flock(fd_.get(), LOCK_UN);
}

void remove_idle_locks(const std::string& directory, std::chrono::seconds age) {
  const Fd locks = open_locks(directory, false);
  if (!locks) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const std::string& name : names_in(locks)) {
    const Fd fd(::openat(locks.get(), name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || now - std::chrono::seconds(status.st_mtime) <= age) continue;
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && is_current(locks, name, fd)) {
      ::unlinkat(locks.get(), name.c_str(), 0);
    }
  }
}

}  // namespace octet::cache
