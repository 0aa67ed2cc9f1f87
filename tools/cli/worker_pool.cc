#include "tools/cli/worker_pool.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <list>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace octet::cli {
namespace {

// MSG_NOSIGNAL: a peer that died is an answer, not a signal.
bool send_line(int fd, std::string line) {
  line += '\n';
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n = ::send(fd, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

// Appends what has come; false at the end of the stream.
bool receive(int fd, std::string& buffer) {
  std::array<char, 4096> chunk;
  ssize_t n = 0;
  do {
    n = ::recv(fd, chunk.data(), chunk.size(), 0);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  buffer.append(chunk.data(), static_cast<std::size_t>(n));
  return true;
}

std::optional<std::string> take_line(std::string& buffer) {
  const std::size_t end = buffer.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = buffer.substr(0, end);
  buffer.erase(0, end + 1);
  return line;
}

// A child's life: an index comes in, the job's line goes out, until the parent hangs up or is gone.
[[noreturn]] void serve(int fd, const Job& job) {
  std::string buffer;
  while (true) {
    if (const auto line = take_line(buffer)) {
      if (!send_line(fd, job(std::stoul(*line)))) break;
    } else if (!receive(fd, buffer)) {
      break;
    }
  }
  std::fflush(nullptr);
  ::_exit(0);  // the parent's destructors and exit handlers are not ours to run
}

std::string cause_of_death(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

struct Worker {
  pid_t pid = -1;
  int fd = -1;
  std::string buffer;
  std::optional<std::size_t> job;  // what it is doing
};

class Pool {
 public:
  Pool(std::size_t count, const Job& job, const Report& report) : count_(count), job_(job), report_(report) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (Worker& worker : workers_) hang_up(worker);
  }

  void run(std::size_t size) {
    while (true) {
      while (workers_.size() < size && next_ < count_) start();
      if (workers_.empty()) return;
      wait();
    }
  }

 private:
  void start() {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    std::fflush(nullptr);  // or the child would print it again
    const pid_t pid = ::fork();
    if (pid < 0) fail("fork");
    if (pid == 0) {
      // Siblings' sockets must not stay open here: they tell each of them that the parent is gone.
      ::close(ends[0]);
      for (const Worker& sibling : workers_) ::close(sibling.fd);
      serve(ends[1], job_);
    }
    ::close(ends[1]);
    workers_.push_back({pid, ends[0], {}, {}});
    assign(workers_.back());
  }

  // A failed send shows as the end of its stream in wait().
  void assign(Worker& worker) {
    worker.job.reset();
    if (next_ == count_) {
      ::shutdown(worker.fd, SHUT_WR);
      return;
    }
    worker.job = next_++;
    send_line(worker.fd, std::to_string(*worker.job));
  }

  void wait() {
    std::vector<pollfd> polled;
    for (const Worker& worker : workers_) polled.push_back({worker.fd, POLLIN, 0});
    if (::poll(polled.data(), polled.size(), -1) < 0) {
      if (errno == EINTR) return;
      fail("poll");
    }
    std::size_t i = 0;
    for (auto worker = workers_.begin(); worker != workers_.end(); ++i) {
      const bool alive = polled[i].revents == 0 || hear(*worker);
      worker = alive ? std::next(worker) : bury(worker);
    }
  }

  bool hear(Worker& worker) {
    if (!receive(worker.fd, worker.buffer)) return false;
    if (const auto line = take_line(worker.buffer)) {
      report_(worker.job.value(), {false, *line});
      assign(worker);
    }
    return true;
  }

  std::list<Worker>::iterator bury(std::list<Worker>::iterator worker) {
    const std::string cause = hang_up(*worker);
    const std::optional<std::size_t> job = worker->job;
    const auto following = workers_.erase(worker);
    if (job) report_(*job, {true, cause});
    return following;
  }

  static std::string hang_up(Worker& worker) {
    ::close(worker.fd);
    return cause_of_death(worker.pid);
  }

  [[noreturn]] static void fail(const char* call) { throw std::system_error(errno, std::generic_category(), call); }

  std::size_t count_, next_ = 0;
  const Job& job_;
  const Report& report_;
  std::list<Worker> workers_;
};

}  // namespace

void run_in_workers(std::size_t count, int workers, const Job& job, const Report& report) {
  Pool(count, job, report).run(static_cast<std::size_t>(std::max(workers, 1)));
}

}  // namespace octet::cli
