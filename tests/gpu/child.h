// Tests that need processes of their own run this program again with one hidden test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace octet::test {

// What one child did, by problem line.
struct ChildReport {
  int exit_code = -1;
  std::uint64_t compiled = 0;
  std::map<std::string, std::string> keys;  // problem line -> content key
};

// Starts one child per list of problem lines, all with this cache; they begin together, each prepares, runs and judges
// its problems in order. Waits for all. A child that runs for more than two minutes is killed and reports exit code -1.
std::vector<ChildReport> run_children(const std::filesystem::path& cache,
                                      const std::vector<std::vector<std::string>>& problems);

}  // namespace octet::test
