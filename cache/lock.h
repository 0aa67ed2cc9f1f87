// One build per key across processes: an advisory lock file per key, released by the kernel when its holder dies.
#pragma once

#include <string>

namespace octet::cache {

class BuildLock {
 public:
  // Waits at most `timeout_seconds`, saying so once on stderr after the first second. Never throws: where locks do not
  // work, or the wait ran out, held() is false and the caller builds anyway (duplicate work, never wrong work).
  BuildLock(const std::string& directory, const std::string& key, double timeout_seconds);
  ~BuildLock();
  BuildLock(const BuildLock&) = delete;
  BuildLock& operator=(const BuildLock&) = delete;
  bool held() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace octet::cache
