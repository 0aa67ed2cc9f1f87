// One build per key across processes: an advisory lock file per key, released by the kernel when its holder dies.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "cache/file.h"

namespace octet::cache {

// flock on <directory>/locks/<key>. Two locks exclude each other within one process too.
class BuildLock {
 public:
  // Waits at most `timeout_seconds`, saying so once on stderr after the first second. Never throws: where locks do not
  // work, or the wait ran out, held() is false and the caller builds anyway (duplicate work, never wrong work).
  // After a wait the caller looks in the cache again: the holder has most likely published.
  BuildLock(const std::string& directory, const std::string& key, double timeout_seconds);
  ~BuildLock();
  BuildLock(const BuildLock&) = delete;
  BuildLock& operator=(const BuildLock&) = delete;
  bool held() const { return static_cast<bool>(fd_); }

 private:
  Fd fd_;
  pid_t owner_ = -1;  // the process that took it: a forked child shares the lock but may not release it
};

// Removes lock files that nobody holds and that were last used longer ago than `age`. Each is removed under its own
// lock, and BuildLock notices a removed file, so exclusion holds all the time.
void remove_idle_locks(const std::string& directory, std::chrono::seconds age);

}  // namespace octet::cache
