// The problems of a model: what its mixture-of-experts layers ask of a device, read from the config.json that comes
// with a Hugging Face checkpoint.
//
//   octet::ExpertShape shape = octet::read_hf_config("DeepSeek-V3/config.json");
//   for (const octet::Problem& problem : octet::expert_problems(shape, {32, 1})) ...
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "octet/export.h"
#include "octet/problem.h"

namespace octet {

// The routed experts of one layer, before they are divided among devices.
struct OCTET_API ExpertShape {
  std::int64_t hidden = 0;             // columns of a token
  std::int64_t intermediate = 0;       // columns between the two GEMMs of one expert
  std::int64_t experts = 0;            // routed experts of the layer
  std::int64_t experts_per_token = 0;  // top-k; 0 when the file does not say
};

// How a layer is divided among devices: whole experts by `expert`, the inner columns of each expert by `tensor`.
struct OCTET_API Parallelism {
  std::int64_t expert = 1;
  std::int64_t tensor = 1;
};

// Keys, the first one present: moe_intermediate_size | intermediate_size, and n_routed_experts | num_experts |
// num_local_experts; all of them under text_config where the experts are described there (Llama-4).
// `name` is what messages call the text. Throws Error{invalid_argument} with one line naming it and the key.
OCTET_API ExpertShape parse_hf_config(const std::string& json, const std::string& name);
// A file, or a checkpoint's directory that holds a config.json.
OCTET_API ExpertShape read_hf_config(const std::string& path);

// Forward in block FP8, on one device: both GEMMs, the quantizers of their tokens and those of their weights; each
// problem once. Throws Error{invalid_argument} when the experts or their columns do not divide.
OCTET_API std::vector<Problem> expert_problems(const ExpertShape& shape, const Parallelism& parallelism = {});

}  // namespace octet
