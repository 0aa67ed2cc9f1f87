// Why a kernel was chosen, or why none was: a value that the library returns and the command line prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "octet/device.h"
#include "octet/error.h"
#include "octet/export.h"
#include "octet/spec.h"

namespace octet {

// A rule that said no. `message` is one line: what was got, why that is not possible, and what to do.
struct OCTET_API Refusal {
  std::string rule;     // "gemm.k-multiple-of-16"
  std::string message;  // "K=7100: not a multiple of 16 (rule gemm.k-multiple-of-16); pad K to 7104"
  // invalid_problem: it can never be; no_kernel: it is legal, but no kernel of this build does it on this arch.
  ErrorCode code = ErrorCode::invalid_problem;
};

struct OCTET_API Candidate {
  Spec spec;
  std::optional<Refusal> refused;  // set when a rule removed it
  double cost_us = 0;              // the cost model's estimate, meaningful when not refused
};

struct OCTET_API Explanation {
  Problem problem;
  DeviceFacts device;
  std::int64_t expected_m = 0;        // rows per group that the caller expects; 0: not said
  bool no_workspace = false;          // configs that need a workspace are refused
  std::optional<Refusal> refused;     // the problem itself is refused: no candidates
  std::vector<Candidate> candidates;  // in table order
  int chosen = -1;                    // index into candidates; -1 when there is none
  // Expected rows per group at which the choice changes: choice[i] holds for expected_m in [from, next from).
  struct Breakpoint {
    std::int64_t from;
    std::string spec_name;
  };
  std::vector<Breakpoint> breakpoints;
};

// Pure functions of their arguments: no GPU, no driver, no environment. Thread-safe.
// expected_m: rows per group, a hint to the cost model only; 0 stands for "unknown". no_workspace: as in Hints.
OCTET_API Explanation explain(const Problem& problem, const DeviceFacts& device = {}, std::int64_t expected_m = 0,
                              bool no_workspace = false);
OCTET_API std::string to_text(const Explanation& explanation);

// The one spec that the path uses. Throws Error{invalid_problem|no_kernel} with the refusal's message.
OCTET_API Spec select(const Problem& problem, const DeviceFacts& device = {}, std::int64_t expected_m = 0,
                      bool no_workspace = false);

// Every spec that select can return for any expected_m in [1, max_m] or unknown: a closed set, each member once.
OCTET_API std::vector<Spec> variants(const Problem& problem, std::int64_t max_m, const DeviceFacts& device = {},
                                     bool no_workspace = false);

// The rule table, for `octet rules` and the docs page.
struct OCTET_API RuleDescription {
  std::string id;     // "gemm.k-multiple-of-16"
  std::string scope;  // "problem", "config" or "plan"
  std::string why;    // one line
};
OCTET_API std::vector<RuleDescription> rule_descriptions();

}  // namespace octet
