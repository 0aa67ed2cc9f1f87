// Resources of a kernel, read from the report that ptxas writes with -v.
#pragma once

#include <string_view>

#include "octet/runtime.h"

namespace octet {

// Of the entry point `entry_name`; zeros when the log has no report of it. `wgmma_serialized` is set by a warning about
// any function of the log: a source has one kernel.
Resources parse_resources(std::string_view log, std::string_view entry_name);

}  // namespace octet
