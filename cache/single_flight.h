// One build per key in a process: concurrent callers of the same key wait for the first one's result.
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>

namespace octet::cache {

// A flight lasts as long as its build: nothing is remembered, the caller keeps results in a map of its own. A call that
// fails throws its exception to every waiter of that flight and is forgotten: the next call tries again.
// `build` runs without a lock held, so it may start flights of other keys, but not of its own.
template <typename Value>
class SingleFlight {
 public:
  Value run(const std::string& key, const std::function<Value()>& build) {
    std::promise<Value> promise;
    std::shared_future<Value> flight = promise.get_future().share();
    if (!join(key, flight)) land(key, promise, build);
    return flight.get();
  }

 private:
  // True when a flight of the key is under way: then `flight` becomes that one. Otherwise `flight` is entered as it.
  bool join(const std::string& key, std::shared_future<Value>& flight) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [entered, first] = flights_.try_emplace(key, flight);
    flight = entered->second;
    return !first;
  }

  // The result is set before the flight is forgotten: whoever comes in between gets it and does not build again.
  void land(const std::string& key, std::promise<Value>& promise, const std::function<Value()>& build) {
    try {
      promise.set_value(build());
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    flights_.erase(key);
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_future<Value>> flights_;
};

}  // namespace octet::cache
