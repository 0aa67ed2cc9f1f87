// The items of a plan's text, in canonical order.
#pragma once

#include <vector>

#include "octet/plan_facts.h"
#include "runtime/text_items.h"

namespace octet {

const std::vector<TextItem<PlanFacts>>& plan_items();

}  // namespace octet
