// Resources as one line of text, as a cache entry keeps them: "registers=168 spill_stores=0 ...".
#pragma once

#include <string>
#include <string_view>

#include "octet/runtime.h"

namespace octet {

std::string to_text(const Resources& resources);
// Labels that are missing or unknown are left at zero: an entry of another version is still good to launch.
Resources resources_from_text(std::string_view text);

}  // namespace octet
