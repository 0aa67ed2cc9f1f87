// Operands that lie in another way: groups by pointer, many of them, and wgrad of DeepGEMM's blocks.
#include <fmt/format.h>

#include "octet/layout.h"
#include "tests/gpu/family_cells.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

// What a quantizer wrote, as DeepGEMM packs it: a block [columns][rows] for each group, end to end.
void pack_blocks(const FamilyCase& gemm_case, Problem producer, Bytes& data, Bytes& sf) {
  producer.op = Operation::convert;
  producer.a = producer.out;
  producer.in.reset();
  producer.to = Packing::deepgemm;
  const QuantizedBytes bytes = quantize_shape(producer, gemm_case.capacity).col;
  Bytes packed(size(bytes.data), 0xFF), packed_sf(size(bytes.sf), 0xFF);
  reference::convert(producer, data.data(), sf.data(), gemm_case.groups, gemm_case.capacity, packed.data(),
                     packed_sf.data());
  data = std::move(packed);
  sf = std::move(packed_sf);
}

FamilyCase in_blocks(const FamilyCase& own) {
  FamilyCase blocks = own;
  blocks.problem.from = Packing::deepgemm;
  pack_blocks(own, a_producer(own.problem), blocks.a, blocks.a_sf);
  pack_blocks(own, b_producer(own.problem), blocks.b, blocks.b_sf);
  return blocks;
}

// The same config reads both.
std::string difference(const FamilyCase& one, const FamilyCase& other, const Config& config, Random& random) {
  const std::string arch = Runtime::device_facts(0).arch;
  const Bytes d = FamilyBuffers(one).run(runtime().prepare_gemm(Spec{one.problem, config, arch}, 0));
  const std::string wrong = judge(one, d, random);
  if (!wrong.empty()) return wrong;
  const Bytes again = FamilyBuffers(other).run(runtime().prepare_gemm(Spec{other.problem, config, arch}, 0));
  return d == again ? "" : "the two differ";
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "wgrad of DeepGEMM's blocks equals that of our packing, bit for bit, in every config") {
  INFO(random.note());
  for (const std::string text : {"d=f32", "d=f32 +acc", "d=bf16 splits=i64/ends", "d=fp16 +acc splits=i32/starts",
                                 "d=f32 w=pointers +acc", "d=bf16 w=pointers"}) {
    CAPTURE(text);
    const FamilyCase own = family_case("wgrad.packed g6 n272 k400 a=e5m2:1x128 b=e4m3:1x128 " + text,
                                       {256, 0, 128, 1152, 0, 384}, 128, random);
    FamilyCase blocks = in_blocks(own);
    for (const Spec& spec : legal_specs(blocks.problem)) {
      CAPTURE(to_string(spec.config));
      REQUIRE(difference(blocks, own, spec.config, random) == "");
      blocks.pointers_on_device = !blocks.pointers_on_device;  // looked at with w=pointers alone
    }
  }
}

TEST_CASE_METHOD(GpuTest, "wgrad of DeepGEMM's blocks: one group, none with rows, and many") {
  INFO(random.note());
  const auto check = [&](const std::string& line, const Sizes& sizes, std::int64_t spare) {
    CAPTURE(line, sizes.size(), spare);
    const FamilyCase own = family_case(line + " a=e4m3:1x128 b=e4m3:1x128 d=f32", sizes, spare, random);
    const FamilyCase blocks = in_blocks(own);
    REQUIRE(fault(blocks, random) == "");
  };
  check("wgrad.packed g1 n576 k512", {1024}, 0);
  check("wgrad.packed g3 n256 k128", {0, 0, 0}, 128);
  check("wgrad.packed g3 n256 k128", {0, 0, 0}, 0);
  Sizes many(300, 128);
  for (std::size_t g = 0; g < many.size(); g += 3) many[g] = 0;
  check("wgrad.packed g300 n64 k80", many, 256);
}

TEST_CASE_METHOD(GpuTest, "1024 groups by pointers, on the host and on the device, equal one tensor") {
  INFO(random.note());
  Sizes sizes(1024);
  for (std::size_t g = 0; g < sizes.size(); ++g) sizes[g] = static_cast<std::int64_t>(g * 7 % 5);
  for (const char* pair : {"a=e4m3:1x128 b=e4m3:128x128", "a=e4m3:1x128 b=e4m3:1x128", "a=e4m3:tensor b=e4m3:tensor"}) {
    for (const char* op : {"gemm", "wgrad"}) {
      CAPTURE(pair, op);
      FamilyCase by_pointer =
          family_case(fmt::format("{}.packed g1024 n64 k128 {} d=bf16 w=pointers", op, pair), sizes, 11, random);
      FamilyCase single = by_pointer;
      single.problem.weights_by_pointer = false;
      const Spec chosen = select(by_pointer.problem, Runtime::device_facts(0), 2);
      for (const bool on_device : {false, true}) {
        CAPTURE(on_device);
        by_pointer.pointers_on_device = on_device;
        REQUIRE(difference(by_pointer, single, chosen.config, random) == "");
      }
    }
  }
}

}  // namespace octet::test
