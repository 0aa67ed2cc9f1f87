// Operands that lie in another way: groups by pointer, many of them, and wgrad of DeepGEMM's blocks.
#include <algorithm>

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

// Groups of 0 to 4 rows, by pointers on the host and on the device, against one tensor.
std::string pointers_fault(const std::string& line, Random& random) {
  Problem problem = Problem::parse(line);
  problem.weights_by_pointer = true;
  Sizes sizes(size(problem.g));
  for (std::size_t g = 0; g < sizes.size(); ++g) sizes[g] = static_cast<std::int64_t>((g * 7 + 3) % 5);
  FamilyCase by_pointer = family_case(problem, sizes, 11, random);
  FamilyCase single = by_pointer;
  single.problem.weights_by_pointer = false;
  const Spec chosen = select(by_pointer.problem, Runtime::device_facts(0), 2);
  for (const bool on_device : {false, true}) {
    by_pointer.pointers_on_device = on_device;
    const std::string text = difference(by_pointer, single, chosen.config, random);
    if (!text.empty()) return fmt::format("pointers on the {}: {}", on_device ? "device" : "host", text);
  }
  return "";
}

// The arrays of a launch's pointers, on the host, where the caller may change them, and without a workspace.
class HostArrays {
 public:
  HostArrays(const GemmArgs& args, const FamilyCase& gemm_case)
      : good_(args), wgrad_(gemm_case.is_wgrad()), groups_(gemm_case.problem.g) {
    restore();
  }
  void restore() {
    matrices_ = copy(wgrad_ ? good_.d_data : good_.b_data);
    if (!wgrad_) scales_ = copy(good_.b_sf);
  }
  // What would be read too late is null.
  void forget() {
    std::fill(matrices_.begin(), matrices_.end(), nullptr);
    std::fill(scales_.begin(), scales_.end(), nullptr);
  }
  void turn_round() {
    restore();
    std::reverse(matrices_.begin(), matrices_.end());
    std::reverse(scales_.begin(), scales_.end());
  }
  GemmArgs args() const {
    GemmArgs args = with(Pointers{matrices_.data(), nullptr}, Pointers{scales_.data(), nullptr});
    args.workspace = nullptr;
    return args;
  }
  // The same pointers in arrays on the device.
  GemmArgs on_device() {
    device_matrices_ = Buffer(matrices_);
    if (!wgrad_) device_scales_ = Buffer(scales_);
    return with(Pointers{nullptr, static_cast<const void* const*>(device_matrices_.at())},
                Pointers{nullptr, static_cast<const void* const*>(device_scales_.at())});
  }

 private:
  // Parentheses: in braces the two ends of the array would be its elements.
  std::vector<const void*> copy(const Pointers& from) const {
    return std::vector<const void*>(from.host, from.host + groups_);
  }
  GemmArgs with(const Pointers& matrices, const Pointers& scales) const {
    GemmArgs args = good_;
    if (wgrad_) {
      args.d_data = matrices;
    } else {
      args.b_data = matrices, args.b_sf = scales;
    }
    return args;
  }

  GemmArgs good_;
  bool wgrad_;
  std::int64_t groups_;
  std::vector<const void*> matrices_, scales_;
  Buffer device_matrices_, device_scales_;
};

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
  for (const char* pair : {"a=e4m3:1x128 b=e4m3:128x128", "a=e4m3:1x128 b=e4m3:1x128", "a=e4m3:tensor b=e4m3:tensor"}) {
    for (const char* op : {"gemm", "wgrad"}) {
      CAPTURE(pair, op);
      REQUIRE(pointers_fault(fmt::format("{}.packed g1024 n64 k128 {} d=bf16", op, pair), random) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "groups by pointers equal one tensor: one, and up to and past what the parameters hold") {
  INFO(random.note());
  struct Row {
    const char *op, *rest;
    int most;  // groups whose pointers on the host take no pass
  };
  const Row rows[] = {
      {"gemm", "a=e4m3:1x128 b=e4m3:128x128 d=bf16", 69}, {"gemm", "a=e4m3:1x128 b=e4m3:128x128 d=bf16 dir=col", 69},
      {"gemm", "a=e4m3:1x128 b=e4m3:1x128 d=f32", 37},    {"gemm", "a=e4m3:row b=e4m3:row d=bf16 +acc", 69},
      {"wgrad", "a=e4m3:1x128 b=e4m3:1x128 d=bf16", 74},  {"wgrad", "a=e4m3:1x128 b=e4m3:1x128 d=f32 +acc", 69}};
  for (const Row& row : rows) {
    for (const int groups : {1, 8, row.most, row.most + 1}) {
      CAPTURE(row.op, row.rest, groups);
      REQUIRE(pointers_fault(fmt::format("{}.packed g{} n80 k272 {}", row.op, groups, row.rest), random) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "pointers on the host are read before the launch returns, and captured by value") {
  INFO(random.note());
  for (const char* line : {"gemm.packed g4 n264 k400 a=e4m3:1x128 b=e4m3:128x128 d=bf16 w=pointers",
                           "gemm.packed g4 n264 k400 a=e4m3:1x128 b=e4m3:1x128 d=bf16 w=pointers",
                           "wgrad.packed g4 n272 k400 a=e4m3:1x128 b=e4m3:1x128 d=bf16 w=pointers +acc"}) {
    CAPTURE(line);
    const FamilyCase gemm_case = family_case(line, {100, 0, 129, 3}, 9, random);
    for (const Spec& spec : legal_specs(gemm_case.problem)) {
      CAPTURE(to_string(spec.config));
      const Gemm gemm = runtime().prepare_gemm(spec, 0);
      FamilyBuffers buffers(gemm_case);
      const Bytes wanted = buffers.run(gemm);
      REQUIRE(judge(gemm_case, wanted, random, 64) == "");
      HostArrays arrays(buffers.args(gemm), gemm_case);
      const OwnedStream stream;
      const auto read = [&] {
        stream.synchronize();
        return buffers.read();
      };
      buffers.reset();
      gemm.launch(arrays.args(), stream);
      arrays.forget();
      REQUIRE((read() == wanted));

      arrays.restore();
      const Graph graph = Graph::record(stream, [&] { gemm.launch(arrays.args(), stream); });
      arrays.forget();
      for (int replay = 0; replay < 2; ++replay) {
        buffers.reset();
        graph.replay(stream);
        REQUIRE((read() == wanted));
      }

      // Others at the next launch; the device's array, which a pass reads, says what they mean.
      arrays.turn_round();
      buffers.reset();
      gemm.launch(arrays.on_device(), stream);
      const Bytes turned = read();
      buffers.reset();
      gemm.launch(arrays.args(), stream);
      REQUIRE((read() == turned));
      REQUIRE((turned != wanted));
    }
  }
}

}  // namespace octet::test
