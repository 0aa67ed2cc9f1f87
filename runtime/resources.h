// Resources of a kernel, read from the report that ptxas writes with -v.
#pragma once

#include <string_view>

#include "octet/runtime.h"

namespace octet {

// Of the entry point `entry_name` and of the passes beside it, whose names are that one, '_' and more: the largest of
// each figure, so that a pass that spills shows. Zeros when the log has no report of them. `wgmma_serialized` is set by
// a warning about any function of the log: a source that has wgmma has one kernel.
Resources parse_resources(std::string_view log, std::string_view entry_name);

}  // namespace octet
