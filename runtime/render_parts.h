// What a spec's source is put together from; the steps of render().
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "octet/spec.h"

namespace octet {

// The rendered Config: named constants with their reasons.
class ConfigText {
 public:
  void add(const char* name, std::int64_t value, const char* reason);
  std::string text() const { return "namespace octet::config {\n" + text_ + "}  // namespace octet::config\n"; }

 private:
  std::string text_;
};

struct Parts {
  std::string root;             // template file
  std::set<std::string> facts;  // that hold for the spec
  ConfigText config;
};

// Every fact that a template may ask for.
const std::set<std::string>& known_facts();
// How the device's array of splits is read.
void add_splits_facts(const Problem& problem, std::set<std::string>& facts);

Parts gemm_parts(const Spec& spec, const GemmConfig& config);          // gemm and wgrad
Parts portable_parts(const Spec& spec, const PortableConfig& config);  // gemm and wgrad
Parts mx_parts(const Spec& spec, const MxConfig& config);              // gemm and wgrad
Parts quantize_parts(const Spec& spec, const QuantizeConfig& config);  // quantize and activation
Parts convert_parts(const Spec& spec, const QuantizeConfig& config);   // dequantize and convert

}  // namespace octet
