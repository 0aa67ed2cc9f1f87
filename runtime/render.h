// Spec -> one self-contained source file.
#pragma once

#include <map>
#include <string>

#include "octet/spec.h"

namespace octet {

// Template files by name ("gemm.cuh"): those embedded in the library at build time, or a directory's.
using TemplateSet = std::map<std::string, std::string, std::less<>>;
const TemplateSet& embedded_templates();
TemplateSet load_templates(const std::string& directory);  // throws Error{invalid_argument}

// The text that NVRTC sees: a header comment with the spec and the command that reproduces it, the rendered Config, and
// the template parts that this spec uses, each once, in include order. No include directive is left in it. The same
// Spec and templates give the same bytes. Locale-independent.
std::string render(const Spec& spec, const TemplateSet& templates);

}  // namespace octet
