// What two kernels differ in: problem, config, resources, source.
#pragma once

#include "octet/runtime.h"
#include "tools/cli/json.h"

namespace octet::cli {

// {"a": …, "b": …, "problem": [items only in a, items only in b], "config": likewise, "resources": {name: [a, b]},
// "source": a unified diff, "" when equal}. Throws Error{invalid_argument} where there is no diff program.
Json difference(const Built& a, const Built& b);
// The same for a person.
std::string difference_text(const Json& difference);

}  // namespace octet::cli
