#include "tests/gpu/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "tests/gpu/gemm_case.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr auto kLimit = std::chrono::minutes(2);
constexpr const char* kFolder = "OCTET_TEST_CHILD_FOLDER";  // where a child finds its orders and leaves its report
constexpr const char* kNumber = "OCTET_TEST_CHILD_NUMBER";

bool wait_for(const std::function<bool()>& done) {
  for (const auto end = Clock::now() + kLimit; Clock::now() < end;) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

GemmProblem to_gemm_problem(const std::string& line) {
  const Problem problem = Problem::parse(line);
  GemmProblem gemm = packed_gemm(problem.g, problem.n, problem.k);
  gemm.layout = problem.layout;
  gemm.alignment = problem.al;
  gemm.splits = problem.splits;
  return gemm;
}

pid_t start_child(const fs::path& folder, std::size_t number) {
  std::vector<std::string> environment = {std::string(kFolder) + "=" + folder.string(),
                                          std::string(kNumber) + "=" + std::to_string(number)};
  std::vector<char*> variables;
  for (std::string& variable : environment) variables.push_back(variable.data());
  for (char** inherited = environ; *inherited != nullptr; ++inherited) variables.push_back(*inherited);
  variables.push_back(nullptr);
  std::string program = fs::read_symlink("/proc/self/exe").string(), test = "child: run the problems of a folder";
  char* arguments[] = {program.data(), test.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string log = (folder / ("log" + std::to_string(number))).string();
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, variables.data());
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? pid : -1;
}

int exit_code(pid_t pid) {
  if (pid < 0) return -1;
  int status = 0;
  if (!wait_for([&] { return waitpid(pid, &status, WNOHANG) == pid; })) {
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

ChildReport read_report(const fs::path& file) {
  ChildReport report;
  std::ifstream in(file);
  in >> report.compiled;
  for (std::string key, line; in >> key && std::getline(in >> std::ws, line);) report.keys[line] = key;
  return report;
}

std::string read_text(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

std::vector<ChildReport> run_children(const fs::path& cache, const std::vector<std::vector<std::string>>& problems) {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "cache") << cache.string();
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    std::ofstream orders(folder.path() / ("orders" + std::to_string(i)));
    for (const std::string& line : problems[i]) orders << line << '\n';
    orders.close();
    children.push_back(start_child(folder.path(), i));
  }
  // All are past their start-up before any of them looks at the cache.
  wait_for([&] {
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (!fs::exists(folder.path() / ("ready" + std::to_string(i)))) return false;
    }
    return true;
  });
  std::ofstream(folder.path() / "go").flush();
  std::vector<ChildReport> reports;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const int code = exit_code(children[i]);
    if (code != 0) WARN("child " << i << ": " << read_text(folder.path() / ("log" + std::to_string(i))));
    reports.push_back(read_report(folder.path() / ("report" + std::to_string(i))));
    reports.back().exit_code = code;
  }
  return reports;
}

TEST_CASE("child: run the problems of a folder", "[.child]") {
  const char* folder_name = std::getenv(kFolder);
  const char* number = std::getenv(kNumber);
  REQUIRE((folder_name != nullptr && number != nullptr));
  const fs::path folder = folder_name;
  use_device();
  Random random;
  INFO(random.note());
  Runtime own(options_with_cache(read_text(folder / "cache")));
  std::ofstream(folder / (std::string("ready") + number)).flush();
  REQUIRE(wait_for([&] { return fs::exists(folder / "go"); }));

  std::ostringstream keys;
  std::ifstream orders(folder / (std::string("orders") + number));
  for (std::string line; std::getline(orders, line);) {
    CAPTURE(line);
    const GemmProblem problem = to_gemm_problem(line);
    const Gemm gemm = own.prepare(problem);
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(problem.groups), 3);
    sizes[0] = 130;
    REQUIRE(fault(gemm, random_gemm(problem, sizes, 5, random), random) == "");
    keys << own.build(gemm.spec()).key << ' ' << line << '\n';
  }
  const Statistics statistics = own.statistics();
  std::ofstream(folder / (std::string("report") + number)) << statistics.compiled << '\n' << keys.str();
}

}  // namespace octet::test
