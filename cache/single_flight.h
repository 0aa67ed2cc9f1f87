// One build per key in a process: concurrent callers of the same key wait for the first one's result.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>

namespace octet::cache {

// A call that fails throws its exception to every waiter of that flight and is forgotten: the next call tries again.
template <typename Value>
class SingleFlight {
 public:
  Value run(const std::string& key, const std::function<Value()>& build);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_future<Value>> flights_;
};

}  // namespace octet::cache


