// The template language: which parts of the template files a spec's source consists of.
//
// Template files are CUDA C++ that an editor and nvcc can read as they are. Three kinds of lines mean something more:
//
//   #include "name.cuh"       the file's parts follow here, once
//   #if OCTET_A || !OCTET_B   the lines up to the matching #endif are kept when one of the facts holds (! negates)
//   #endif
//
// For the runtime, facts are what the spec needs; for an editor they are macros of templates/sample/config.h.
#pragma once

#include <set>
#include <string>

#include "runtime/render.h"

namespace octet {

// Text of `root` and what it includes. Throws Error{invalid_argument} with file and line for an include of what is not
// there or not a template, an unbalanced block, another conditional, or a fact that is not among `known` ("cluster_m"
// for OCTET_CLUSTER_M).
std::string assemble_parts(const TemplateSet& templates, const std::string& root, const std::set<std::string>& facts,
                           const std::set<std::string>& known);

}  // namespace octet
