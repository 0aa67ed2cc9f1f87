// What `octet build` is asked to compile: problems from the command line, from files, from plans and from a
// model's config, expanded to the kernels that any number of rows can select.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "octet/device.h"
#include "octet/spec.h"

namespace octet::cli {

struct BuildRequest {
  std::vector<std::string> problems;  // as typed; a plan stands for the problems of its steps
  std::vector<std::string> plans;     // likewise, plans alone
  std::string from;       // file of problems and plans, one a line, '#' starts a comment; "-" is standard input
  std::string hf_config;  // config.json of a model
  std::int64_t ep = 1, tp = 1;
  std::int64_t max_m = 16384;  // most rows per group
  std::string config;          // of the one kernel to compile for each problem; "": all that max_m can select
  bool no_workspace = false;   // only kernels that need none
};

struct Wanted {
  Problem problem;
  std::string origin;  // where it was asked for, for messages: "trace.txt:3"; "" on the command line
};

// Every problem once, in the order asked; plans are made for the device. Throws Error naming the file and line of what
// it cannot read.
std::vector<Wanted> requested_problems(const BuildRequest& request, const DeviceFacts& facts);

// Every kernel once. A problem that a rule refuses throws, with its origin, before anything is compiled.
std::vector<Spec> requested_specs(const std::vector<Wanted>& wanted, const BuildRequest& request,
                                  const DeviceFacts& facts);

}  // namespace octet::cli
