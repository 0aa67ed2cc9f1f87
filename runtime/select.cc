#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "octet/explain.h"
#include "runtime/candidates.h"
#include "runtime/cost.h"
#include "runtime/gemm_traits.h"
#include "runtime/rules.h"

namespace octet {
namespace {

// Whether the configs of the kernel that is made for sm_90a are among the candidates, in front of the portable ones.
bool has_wgmma_configs(const Problem& problem, const DeviceFacts& device) {
  return is_gemm(problem) && device.arch == "sm_90a";
}

// The same of its MXFP8 kernel.
bool has_mx_configs(const Problem& problem, const DeviceFacts& device) {
  return has_wgmma_configs(problem, device) && problem.a && problem.a->granularity == Granularity::mx_1x32;
}

std::vector<Candidate> candidates_of(const Problem& problem, const DeviceFacts& device, bool no_workspace) {
  std::vector<Candidate> candidates;
  const auto add = [&](const auto& table) {
    for (const auto& row : table) {
      candidates.push_back(
          {{problem, row.config, device.arch}, refuse_config(problem, row.config, device, no_workspace)});
    }
  };
  if (is_gemm(problem)) {
    if (has_mx_configs(problem, device)) add(mx_candidates());
    if (has_wgmma_configs(problem, device)) add(gemm_candidates());
    add(portable_candidates());
  } else {
    add(quantize_candidates(problem));
  }
  return candidates;
}

// `row` is the candidate's place among all of them.
double cost_us(const Problem& problem, const DeviceFacts& device, std::size_t row, int index) {
  if (!is_gemm(problem)) return quantize_cost_us(problem, quantize_candidates(problem)[row], device, index);
  if (has_mx_configs(problem, device)) {
    if (row < mx_candidates().size()) return mx_cost_us(problem, mx_candidates()[row], device, index);
    row -= mx_candidates().size();
  }
  const std::size_t made_for_arch = has_wgmma_configs(problem, device) ? gemm_candidates().size() : 0;
  if (row < made_for_arch) return gemm_cost_us(problem, gemm_candidates()[row], device, index);
  return portable_cost_us(problem, portable_candidates()[row - made_for_arch], device, index);
}

// Of the legal candidates, in table order.
std::vector<std::optional<double>> costs_of(const Problem& problem, const DeviceFacts& device,
                                            const std::vector<Candidate>& candidates, int index) {
  std::vector<std::optional<double>> costs(candidates.size());
  for (std::size_t row = 0; row < candidates.size(); ++row) {
    if (!candidates[row].refused) costs[row] = cost_us(problem, device, row, index);
  }
  return costs;
}

// The choice for every bucket: choices[b] for b in 1 ... kBuckets, each an index into candidates; -1 when none is
// legal. Buckets are decided from the largest down, so a choice depends on the bucket and on nothing else.
std::vector<int> choices_of(const Problem& problem, const DeviceFacts& device,
                            const std::vector<Candidate>& candidates) {
  std::vector<int> choices(kBuckets + 1, -1);
  for (int index = kBuckets, kept = -1; index >= 1; --index) {
    kept = choose(costs_of(problem, device, candidates, index), kept);
    choices[static_cast<std::size_t>(index)] = kept;
  }
  return choices;
}

// Legal candidates of a legal problem, or the error that select and variants throw.
std::vector<Candidate> checked_candidates(const Problem& problem, const DeviceFacts& device, bool no_workspace) {
  if (const std::optional<Refusal> refused = refuse(problem, device)) throw_refusal(*refused, problem);
  std::vector<Candidate> candidates = candidates_of(problem, device, no_workspace);
  for (const Candidate& candidate : candidates) {
    if (!candidate.refused) return candidates;
  }
  const Candidate& last = candidates.back();
  throw Error(ErrorCode::no_kernel, fmt::format("no config can do '{}'; the last one tried, {}: {}; run: octet explain "
                                                "'{}' to see them all",
                                                problem.to_string(), to_string(last.spec.config), last.refused->message,
                                                problem.to_string()));
}

// The bucket that a choice is made for: a masked group has at most max_m rows, whatever is said or not.
int asked_bucket(const Problem& problem, std::int64_t expected_m) {
  if (problem.layout != Layout::masked) return bucket(expected_m);
  return bucket(std::min(expected_m > 0 ? expected_m : kUnknownRows, problem.m));
}

}  // namespace

Explanation explain(const Problem& problem, const DeviceFacts& device, std::int64_t expected_m, bool no_workspace) {
  Explanation explanation;
  explanation.problem = problem;
  explanation.device = device;
  explanation.expected_m = expected_m;
  explanation.no_workspace = no_workspace;
  explanation.refused = refuse(problem, device);
  if (explanation.refused) return explanation;

  explanation.candidates = candidates_of(problem, device, no_workspace);
  const int asked = asked_bucket(problem, expected_m);
  const std::vector<std::optional<double>> costs = costs_of(problem, device, explanation.candidates, asked);
  for (std::size_t row = 0; row < costs.size(); ++row) explanation.candidates[row].cost_us = costs[row].value_or(0);
  const std::vector<int> choices = choices_of(problem, device, explanation.candidates);
  explanation.chosen = choices[static_cast<std::size_t>(asked)];
  const int last = problem.layout == Layout::masked ? asked_bucket(problem, problem.m) : kBuckets;
  for (int index = 1, before = -1; index <= last; ++index) {
    const int choice = choices[static_cast<std::size_t>(index)];
    if (choice == before) continue;
    explanation.breakpoints.push_back(
        {first_rows(index), explanation.candidates[static_cast<std::size_t>(choice)].spec.name()});
    before = choice;
  }
  return explanation;
}

Spec select(const Problem& problem, const DeviceFacts& device, std::int64_t expected_m, bool no_workspace) {
  std::vector<Candidate> candidates = checked_candidates(problem, device, no_workspace);
  const int choice =
      choices_of(problem, device, candidates)[static_cast<std::size_t>(asked_bucket(problem, expected_m))];
  return std::move(candidates[static_cast<std::size_t>(choice)].spec);
}

std::vector<Spec> variants(const Problem& problem, std::int64_t max_m, const DeviceFacts& device, bool no_workspace) {
  if (max_m < 1) {
    throw Error(ErrorCode::invalid_argument, fmt::format("max_m={}: give at least 1 row per group", max_m));
  }
  const std::vector<Candidate> candidates = checked_candidates(problem, device, no_workspace);
  const std::vector<int> choices = choices_of(problem, device, candidates);
  std::vector<bool> used(candidates.size());
  for (int index = 1; index <= asked_bucket(problem, max_m); ++index) {
    used[static_cast<std::size_t>(choices[static_cast<std::size_t>(index)])] = true;
  }
  used[static_cast<std::size_t>(choices[static_cast<std::size_t>(asked_bucket(problem, 0))])] = true;  // M unknown
  std::vector<Spec> specs;
  for (std::size_t row = 0; row < candidates.size(); ++row) {
    if (used[row]) specs.push_back(candidates[row].spec);
  }
  return specs;
}

}  // namespace octet
