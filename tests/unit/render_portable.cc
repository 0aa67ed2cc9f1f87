// Which parts of the templates the source of a portable GEMM holds.
#include <string>

#include "octet/explain.h"
#include "tests/support/catch.h"
#include "tests/unit/render_specs.h"

namespace {

using octet::Direction;
using octet::DType;
using octet::Flag;
using octet::Granularity;
using octet::Layout;
using octet::Operation;
using octet::Problem;
using octet::Spec;
using octet::test::contains;
using octet::test::source_of;

struct Arch {
  const char* problem;
  const char* arch;
};
const Arch kSpecs[] = {
    {"gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16", "sm_90a"},
    {"gemm.padded g8 n7168 k2048 al16 a=e5m2:1x128@k_major b=e4m3:1x128 d=fp16 +bias splits=i64/ends", "sm_89"},
    {"gemm.masked g8 m300 n7168 k2048 a=e4m3:row b=e5m2:row d=f32 +acc +checked w=pointers", "sm_100a"},
    {"gemm.dense g1 n7168 k2048 a=e4m3:tensor b=e4m3:tensor d=bf16 +fastacc", "sm_120a"},
    {"gemm.packed g8 n7168 k2048 a=e4m3:1x32@swizzled b=e4m3:32x32 d=bf16 splits=i32/starts", "sm_89"},
    {"wgrad.packed g8 n7168 k2048 a=e5m2:1x32 b=e4m3:1x32@swizzled d=f32 +acc w=pointers", "sm_90a"},
    {"wgrad.masked g8 m300 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=fp16 +acc", "sm_89"},
    {"wgrad.dense g1 n7168 k2048 a=e4m3:row b=e4m3:row d=bf16", "sm_120a"},
};

Spec spec_of(const Arch& row) {
  const Problem problem = Problem::parse(row.problem);
  return {problem, octet::PortableConfig{64, 64, 2, 2, 4}, row.arch};
}

bool is_wgrad(const Spec& spec) { return spec.problem.op == Operation::wgrad; }
bool is_mx(const Spec& spec) { return spec.problem.a->granularity == Granularity::mx_1x32; }
bool has_whole_scales(const Spec& spec) {
  return spec.problem.a->granularity == Granularity::tensor || spec.problem.a->granularity == Granularity::row;
}
bool varies(const Spec& spec) { return spec.problem.layout == Layout::packed || spec.problem.layout == Layout::padded; }

struct Part {
  const char* text;
  bool (*used)(const Spec&);
};
const Part kParts[] = {
    {"griddepcontrol.wait", [](const Spec& s) { return s.arch != "sm_89"; }},
    {"static_cast<const i64*>(splits)", [](const Spec& s) { return s.problem.splits.is_i64; }},
    {"split_at(", [](const Spec& s) { return s.problem.layout != Layout::dense; }},
    {"struct GroupTable", [](const Spec& s) { return varies(s) || !is_wgrad(s); }},
    {"class TileWalk", [](const Spec& s) { return !is_wgrad(s); }},
    {"find_entry(", [](const Spec& s) { return varies(s) && is_wgrad(s); }},
    {"struct ScaleLoader", [](const Spec& s) { return !has_whole_scales(s); }},
    {"copy_async_4(shared_address", [](const Spec& s) { return !has_whole_scales(s) && !is_mx(s); }},
    {"0x7f7f7f7f", is_mx},
    {"struct TiledScales", [](const Spec&) { return true; }},
    {"Sums products;", [](const Spec& s) { return !s.problem.has(Flag::fastacc) && !is_mx(s); }},
    {"params.bias", [](const Spec& s) { return s.problem.has(Flag::bias); }},
    {"params.beta", [](const Spec& s) { return s.problem.has(Flag::acc); }},
    {"check_splits(", [](const Spec& s) { return s.problem.has(Flag::checked); }},
    {"OCTET_POINTERS_ENTRY(", [](const Spec&) { return false; }},  // the launch passes them by value
    {"struct TableParams", [](const Spec& s) { return s.problem.weights_by_pointer; }},
    {"params.b_pointers", [](const Spec& s) { return s.problem.weights_by_pointer && !is_wgrad(s); }},
    {"params.d_pointers", [](const Spec& s) { return s.problem.weights_by_pointer && is_wgrad(s); }},
    {"cvt.rn.bf16x2.f32", [](const Spec& s) { return s.problem.d == DType::bf16; }},
    {"cvt.rn.f16x2.f32", [](const Spec& s) { return s.problem.d == DType::fp16; }},
    {"cvt.f32.f16", [](const Spec& s) { return s.problem.d == DType::fp16; }},  // each of them reads D or bias
    {"wgmma", [](const Spec&) { return false; }},
    {"cp.async.bulk", [](const Spec&) { return false; }},
};

}  // namespace

TEST_CASE("render: the source of a portable GEMM holds the parts that its spec uses and no other") {
  for (const Arch& row : kSpecs) {
    const Spec spec = spec_of(row);
    const std::string source = source_of(spec);
    for (const Part& part : kParts) {
      INFO(part.text << " in " << spec.name());
      CHECK(contains(source, part.text) == part.used(spec));
    }
    CHECK_FALSE(contains(source, "#if"));
    CHECK_FALSE(contains(source, "#include"));
    CHECK(source_of(spec) == source);
  }
}
