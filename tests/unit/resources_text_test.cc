// Resources as the line of text that a cache entry keeps.
#include "runtime/resources_text.h"

#include "tests/support/catch.h"

namespace {

octet::Resources sample() {
  octet::Resources resources;
  resources.registers = 168;
  resources.spill_store_bytes = 8;
  resources.spill_load_bytes = 12;
  resources.stack_bytes = 16;
  resources.static_shared_bytes = 400;
  resources.dynamic_shared_bytes = 217088;
  resources.barriers = 5;
  resources.wgmma_serialized = true;
  return resources;
}

const char* const sample_text =
    "registers=168 spill_stores=8 spill_loads=12 stack=16 static_shared=400 dynamic_shared=217088 barriers=5 "
    "wgmma_serialized=1";

}  // namespace

TEST_CASE("resources text: every number stands under its own label") {
  CHECK(octet::to_text(sample()) == sample_text);
  CHECK(octet::to_text(octet::Resources{}) ==
        "registers=0 spill_stores=0 spill_loads=0 stack=0 static_shared=0 dynamic_shared=0 barriers=0 "
        "wgmma_serialized=0");
}

TEST_CASE("resources text: reading gives back what was written") {
  const octet::Resources read = octet::resources_from_text(sample_text);
  CHECK(read.registers == 168);
  CHECK(read.spill_store_bytes == 8);
  CHECK(read.spill_load_bytes == 12);
  CHECK(read.stack_bytes == 16);
  CHECK(read.static_shared_bytes == 400);
  CHECK(read.dynamic_shared_bytes == 217088);
  CHECK(read.barriers == 5);
  CHECK(read.wgmma_serialized);
}

TEST_CASE("resources text: labels in any order, unknown ones passed over, missing ones zero") {
  const octet::Resources read = octet::resources_from_text("wgmma_serialized=0 clusters=4 stack=16 registers=40");
  CHECK(read.registers == 40);
  CHECK(read.stack_bytes == 16);
  CHECK(read.spill_store_bytes == 0);
  CHECK(read.dynamic_shared_bytes == 0);
  CHECK_FALSE(read.wgmma_serialized);
}

TEST_CASE("resources text: a label counts as a whole word only") {
  const octet::Resources read = octet::resources_from_text("max_registers=9 registers_of_producer=8 stackregisters=7");
  CHECK(read.registers == 0);
  CHECK(read.stack_bytes == 0);
}

TEST_CASE("resources text: what is no number is zero, and a cut text is no crash") {
  CHECK(octet::resources_from_text("registers=many").registers == 0);
  CHECK(octet::resources_from_text("registers=99999999999999999999").registers == 0);
  const std::string text = sample_text;
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK(octet::resources_from_text(text.substr(0, size)).registers <= 168);
}
