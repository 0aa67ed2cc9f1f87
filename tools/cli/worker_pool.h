// Numbered jobs in child processes. Processes, because a compiler library scales better over them than over threads,
// gives its memory back only at exit, and can then crash without taking the whole build with it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace octet::cli {

// Runs in a child; its result is one line of text. It must not throw.
using Job = std::function<std::string(std::size_t index)>;

// How a job ended, told in the parent.
struct Outcome {
  bool died = false;  // the child did not live to tell
  std::string text;   // the job's line, or how its child died: "killed by signal 11 (Segmentation fault)"
};
using Report = std::function<void(std::size_t index, const Outcome&)>;

// Every index in [0, count) is run once and reported once, in the order in which they end. A child takes one job after
// the other; one that dies fails the job that it was doing and is replaced. Call it from a process with one thread.
void run_in_workers(std::size_t count, int workers, const Job& job, const Report& report);

}  // namespace octet::cli
