// What the launch of a GEMM hands to the driver, by pointer and without a workspace: which kernels, with which
// parameters. In a child process whose libcuda accepts every call and computes nothing
// (tests/support/accepting_libcuda.cc).
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "octet/error.h"
#include "octet/octet.h"
#include "templates/abi.h"
#include "tests/compile/kernels.h"
#include "tests/support/catch.h"
#include "tests/support/paths.h"
#include "tests/support/scratch.h"

namespace {

using octet::Gemm;
using octet::GemmArgs;
using octet::Pointers;
using octet::Problem;
using octet::Spec;
using octet::abi::GemmParams;
using octet::abi::MapParams;
using octet::abi::MxGemmParams;
using octet::abi::PortableGemmParams;

// Addresses that nothing is read from, each its own.
const void* address(std::uintptr_t index) { return reinterpret_cast<const void*>((index + 1) * 4096); }
constexpr std::uintptr_t kScales = 5000, kArray = 9000, kOthers = 20000, kLater = 30000;

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

struct Launch {
  std::string kernel;
  std::vector<unsigned char> parameters;
  bool is_pass() const { return kernel.size() > 9 && kernel.compare(kernel.size() - 9, 9, "_pointers") == 0; }
};
std::vector<Launch> launches;
std::size_t parameter_bytes = 0;  // of the kernel under test

void note(const char* kernel, const void* parameters) {
  Launch& launch = launches.emplace_back(Launch{kernel, {}});
  const auto* bytes = static_cast<const unsigned char*>(parameters);
  launch.parameters.assign(bytes, bytes + (launch.is_pass() ? sizeof(MapParams) : parameter_bytes));
}

// Launches of this runtime's kernels are noted from now on. `bytes`: of the parameters of the kernel under test.
octet::Runtime& noted_runtime(std::size_t bytes) {
  auto* hook =
      reinterpret_cast<void (**)(const char*, const void*)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "octet_on_launch"));
  REQUIRE(hook != nullptr);
  *hook = note;
  parameter_bytes = bytes;
  static octet::Runtime runtime(octet::test::memory_only());
  return runtime;
}

template <typename Call>
bool says_workspace_is_null(Call&& call) {
  try {
    call();
  } catch (const octet::Error& error) {
    return launches.empty() && std::string(error.what()).find("workspace is null") != std::string::npos;
  }
  return false;
}

template <typename Value>
Value value_at(const Launch& launch, std::size_t offset) {
  Value value;
  REQUIRE(offset + sizeof(Value) <= launch.parameters.size());
  std::memcpy(static_cast<void*>(&value), launch.parameters.data() + offset, sizeof value);
  return value;
}
template <typename Params>
Params params_of(const Launch& launch) {
  return value_at<Params>(launch, 0);
}

// The first legal config of the kind.
Spec spec_of(const Problem& problem, bool portable, bool swapped) {
  for (const Spec& spec : octet::test::legal_specs(problem)) {
    const auto* wgmma = std::get_if<octet::GemmConfig>(&spec.config);
    if (wgmma == nullptr ? portable : !portable && wgmma->swapped == swapped) return spec;
  }
  FAIL("no such config");
  return {};
}

class ByPointer {
 public:
  ByPointer(const std::string& line, std::size_t bytes, bool portable = false, bool swapped = false)
      : problem_(Problem::parse(line + " w=pointers")) {
    gemm_ = noted_runtime(bytes).prepare_gemm(spec_of(problem_, portable, swapped), 0);
    wgrad_ = problem_.op == octet::Operation::wgrad;
    point_at(0);
  }
  void point_at(std::uintptr_t first) {
    matrices_.clear(), scales_.clear();
    for (std::int64_t g = 0; g < problem_.g; ++g) {
      matrices_.push_back(address(first + size(g)));
      scales_.push_back(address(first + kScales + size(g)));
    }
  }
  Pointers matrices(bool on_device) const { return pointers(matrices_, kArray, on_device); }
  Pointers scales(bool on_device) const { return pointers(scales_, kArray + 100, on_device); }

  // Without a workspace where `workspace` is null.
  std::vector<Launch> launch(bool matrices_on_device, bool scales_on_device, const void* workspace) const {
    GemmArgs args;
    args.a = {address(kOthers), address(kOthers + 1), gemm_.a_layout()};
    args.b = {nullptr, nullptr, gemm_.b_layout()};
    args.splits = address(kOthers + 2);
    args.capacity = 256;
    args.workspace = const_cast<void*>(workspace);
    if (wgrad_) {
      args.b.data = address(kOthers + 3), args.b.sf = address(kOthers + 4);
      args.d_data = matrices(matrices_on_device);
    } else {
      args.d = const_cast<void*>(address(kOthers + 5));
      args.b_data = matrices(matrices_on_device);
      args.b_sf = scales(scales_on_device);
    }
    launches.clear();
    gemm_.launch(args, nullptr);
    return launches;
  }
  // One launch, and maps and pointers as they must lie: tables of maps at 768, of pointers after them.
  void check_alone(int map_tables, int pointer_tables) const {
    const std::vector<Launch> made = launch(false, false, nullptr);
    REQUIRE(made.size() == 1);
    CHECK(made[0].kernel == gemm_.spec().name());
    const auto params = params_of<GemmParams>(made[0]);
    for (const auto* maps : {params.left_maps, params.right_maps, params.sf_maps, params.d_maps})
      CHECK(maps == nullptr);
    CHECK(params.pointers == nullptr);
    const std::size_t groups = size(problem_.g);
    for (std::size_t g = 0; g < groups; ++g) {
      REQUIRE(value_at<const void*>(made[0], 768 + 128 * g) == matrices_[g]);
      if (map_tables == 2) REQUIRE(value_at<const void*>(made[0], 768 + 128 * (groups + g)) == scales_[g]);
      if (pointer_tables == 0) continue;
      const std::size_t pointers = 768 + 128 * groups * size(map_tables);
      REQUIRE(value_at<const void*>(made[0], pointers + 8 * g) == (wgrad_ ? matrices_ : scales_)[g]);
    }
    // All but the address is what one group's matrix has.
    const auto same = [&](std::size_t map, const octet::abi::TensorMap& base) {
      return std::memcmp(made[0].parameters.data() + 768 + 128 * map + 8, base.bytes + 8, 120) == 0;
    };
    const octet::abi::TensorMap& base = wgrad_ ? params.d : swapped() ? params.left : params.right;
    CHECK((same(0, base) && same(groups - 1, base)));
    if (map_tables == 2) CHECK(same(groups, swapped() ? params.left_sf : params.right_sf));
  }
  bool swapped() const {
    const auto* config = std::get_if<octet::GemmConfig>(&gemm_.spec().config);
    return config != nullptr && config->swapped;
  }
  bool refuses_null_workspace(bool matrices_on_device, bool scales_on_device) const {
    return says_workspace_is_null([&] { launch(matrices_on_device, scales_on_device, nullptr); });
  }
  const Gemm& gemm() const { return gemm_; }
  const std::vector<const void*>& matrix_addresses() const { return matrices_; }
  const std::vector<const void*>& scale_addresses() const { return scales_; }

 private:
  static Pointers pointers(const std::vector<const void*>& host, std::uintptr_t array, bool on_device) {
    return on_device ? Pointers{nullptr, static_cast<const void* const*>(address(array))}
                     : Pointers{host.data(), nullptr};
  }

  Problem problem_;
  Gemm gemm_;
  bool wgrad_ = false;
  std::vector<const void*> matrices_, scales_;
};

void run_children(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const octet::test::Finished child = octet::test::run_test_case(
        "launches: child: " + name,
        "LD_LIBRARY_PATH=\"" + octet::test::build_path("tests/accepting") + ":$LD_LIBRARY_PATH\"");
    INFO(child.output);
    CHECK(child.exit_code == 0);
  }
}

const std::string kBlocks = " n64 k128 a=e4m3:1x128 b=e4m3:128x128 d=bf16";
const std::string kVectors = " n64 k128 a=e4m3:1x128 b=e4m3:1x128 d=bf16";

}  // namespace

TEST_CASE("launches: child: tables behind the parameters", "[.child]") {
  ByPointer("gemm.packed g1" + kBlocks, 960).check_alone(1, 1);
  ByPointer("gemm.packed g69" + kBlocks, 768 + 69 * 136 + 24).check_alone(1, 1);
  ByPointer("gemm.packed g37" + kVectors, 768 + 37 * 256).check_alone(2, 0);
  ByPointer("gemm.packed g37" + kVectors, 768 + 37 * 256, false, true).check_alone(2, 0);
  ByPointer("gemm.packed g8 n64 k128 a=e4m3:row b=e4m3:row d=bf16", 768 + 8 * 136, false, true).check_alone(1, 1);
  ByPointer("wgrad.packed g74" + kVectors, 768 + 74 * 128).check_alone(1, 0);
  ByPointer("wgrad.packed g69" + kVectors + " +acc", 768 + 69 * 136 + 24).check_alone(1, 1);
  // Read at each launch.
  ByPointer changing("gemm.packed g8" + kBlocks, 768 + 8 * 136);
  changing.check_alone(1, 1);
  changing.point_at(kLater);
  changing.check_alone(1, 1);
  CHECK(changing.gemm().workspace_bytes(256) == 8 * 256);  // where the arrays will lie it does not know
}

TEST_CASE("launches: child: a pass where tables do not fit", "[.child]") {
  const auto check = [](const ByPointer& gemm, std::size_t groups, std::size_t arrays) {
    CHECK(gemm.refuses_null_workspace(false, false));
    const std::vector<Launch> made = gemm.launch(false, false, address(kLater));
    const std::size_t passes = (groups + 447) / 448;
    REQUIRE(made.size() == passes * arrays + 1);
    for (std::size_t i = 0; i < passes * arrays; ++i) {
      REQUIRE(made[i].is_pass());
      const auto pass = params_of<MapParams>(made[i]);
      CHECK(pass.pointers == nullptr);
      CHECK(size(pass.first) == i % passes * 448);
      const auto& wanted = i < passes ? gemm.matrix_addresses() : gemm.scale_addresses();
      for (int p = 0; p < pass.count; ++p) REQUIRE(pass.values[p] == wanted[size(pass.first + p)]);
    }
    CHECK(made.back().kernel == gemm.gemm().spec().name());
    return params_of<GemmParams>(made.back());
  };
  const GemmParams blocks = check(ByPointer("gemm.packed g70" + kBlocks, 768), 70, 2);
  CHECK(blocks.right_maps == address(kLater));
  CHECK((blocks.pointers == static_cast<const void*>(static_cast<const char*>(address(kLater)) + 70 * 128)));
  CHECK(check(ByPointer("gemm.packed g38" + kVectors, 768), 38, 2).sf_maps != nullptr);
  CHECK(check(ByPointer("gemm.packed g449" + kVectors, 768, false, true), 449, 2).left_maps == address(kLater));
  const GemmParams wgrad = check(ByPointer("wgrad.packed g75" + kVectors, 768), 75, 1);
  CHECK(wgrad.d_maps == address(kLater));
  CHECK(wgrad.pointers == nullptr);  // nothing reads what D held
}

TEST_CASE("launches: child: arrays on the device", "[.child]") {
  const ByPointer blocks("gemm.packed g8" + kBlocks, 768 + 8 * 136);
  CHECK(blocks.refuses_null_workspace(true, true));
  std::vector<Launch> made = blocks.launch(true, true, address(kLater));
  REQUIRE(made.size() == 2);
  CHECK(params_of<MapParams>(made[0]).pointers == blocks.matrices(true).device);
  CHECK(params_of<GemmParams>(made[1]).right_maps == address(kLater));
  CHECK(params_of<GemmParams>(made[1]).pointers == blocks.scales(true).device);  // read where it is
  // Each array on its own.
  made = blocks.launch(false, true, nullptr);
  REQUIRE(made.size() == 1);
  CHECK(params_of<GemmParams>(made[0]).pointers == blocks.scales(true).device);
  CHECK(value_at<const void*>(made[0], 768) == blocks.matrix_addresses()[0]);
  CHECK(blocks.refuses_null_workspace(true, false));

  const ByPointer vectors("gemm.packed g8" + kVectors, 768 + 8 * 256);
  CHECK(vectors.launch(true, true, address(kLater)).size() == 3);
  CHECK(vectors.launch(false, true, address(kLater)).size() == 2);
  CHECK(vectors.refuses_null_workspace(false, true));
  const ByPointer wgrad("wgrad.packed g8" + kVectors + " +acc", 768 + 8 * 136);
  made = wgrad.launch(true, true, address(kLater));
  REQUIRE(made.size() == 2);
  CHECK(params_of<GemmParams>(made[1]).pointers == wgrad.matrices(true).device);
}

TEST_CASE("launches: child: the portable kernel", "[.child]") {
  const std::size_t groups = 1024;
  const ByPointer gemm("gemm.packed g1024" + kBlocks, 128 + groups * 16, true);
  CHECK(gemm.gemm().workspace_bytes(256) == 0);
  std::vector<Launch> made = gemm.launch(false, false, nullptr);
  REQUIRE(made.size() == 1);
  CHECK(params_of<PortableGemmParams>(made[0]).b_pointers == nullptr);
  CHECK(params_of<PortableGemmParams>(made[0]).b_sf_pointers == nullptr);
  for (std::size_t g = 0; g < groups; ++g) {
    REQUIRE(value_at<const void*>(made[0], 128 + 8 * g) == gemm.matrix_addresses()[g]);
    REQUIRE(value_at<const void*>(made[0], 128 + 8 * (groups + g)) == gemm.scale_addresses()[g]);
  }
  made = gemm.launch(true, true, nullptr);
  REQUIRE(made.size() == 1);
  CHECK(params_of<PortableGemmParams>(made[0]).b_pointers == gemm.matrices(true).device);
  CHECK(params_of<PortableGemmParams>(made[0]).b_sf_pointers == gemm.scales(true).device);

  const ByPointer wgrad("wgrad.packed g8" + kVectors, 128 + 8 * 8, true);
  made = wgrad.launch(false, false, nullptr);
  REQUIRE(made.size() == 1);
  CHECK(params_of<PortableGemmParams>(made[0]).d_pointers == nullptr);
  CHECK(value_at<const void*>(made[0], 128 + 8 * 7) == wgrad.matrix_addresses()[7]);
}

TEST_CASE("launches: child: MXFP8 with and without a workspace", "[.child]") {
  octet::Runtime& runtime = noted_runtime(sizeof(MxGemmParams));
  const Problem problem = Problem::parse("gemm.packed g2 n8192 k8192 a=e4m3:1x32 b=e4m3:1x32 d=bf16");
  constexpr octet::Hints kSome{8192, 0, false}, kNone{8192, 0, true};
  const Gemm with = runtime.prepare_gemm(problem, kSome), without = runtime.prepare_gemm(problem, kNone);
  CHECK(with.workspace_bytes(256) > 0);
  CHECK(without.workspace_bytes(256) == 0);
  // Both are warm now, each for its own hint.
  CHECK(runtime.prepare_gemm(problem, kSome).spec() == with.spec());
  CHECK(runtime.prepare_gemm(problem, kNone).spec() == without.spec());

  const auto launch = [](const Gemm& gemm, const void* workspace) {
    GemmArgs args;
    args.a = {address(kOthers), address(kOthers + 1), gemm.a_layout()};
    args.b = {address(kOthers + 2), address(kOthers + 3), gemm.b_layout()};
    args.splits = address(kOthers + 4);
    args.d = const_cast<void*>(address(kOthers + 5));
    args.capacity = 256;
    args.workspace = const_cast<void*>(workspace);
    launches.clear();
    gemm.launch(args, nullptr);
    return launches;
  };
  CHECK(says_workspace_is_null([&] { launch(with, nullptr); }));
  std::vector<Launch> made = launch(with, address(kLater));
  REQUIRE(made.size() == 2);
  CHECK(made[0].kernel == with.spec().name() + "_dequantize");
  CHECK(made[1].kernel == with.spec().name());
  // The kernel reads A as bf16 where the pass leaves it.
  CHECK(params_of<MxGemmParams>(made[0]).a_wide == address(kLater));
  CHECK(value_at<const void*>(made[1], offsetof(MxGemmParams, right)) == address(kLater));

  made = launch(without, nullptr);
  REQUIRE(made.size() == 1);
  CHECK(made[0].kernel == without.spec().name());
  CHECK(params_of<MxGemmParams>(made[0]).a_wide == nullptr);
  CHECK(value_at<const void*>(made[0], offsetof(MxGemmParams, right)) == address(kOthers));
}

TEST_CASE("launches: the hint for no workspace is part of what is warm, and its kernel is launched alone") {
  if (octet::test::has_nvrtc()) run_children({"MXFP8 with and without a workspace"});
}

TEST_CASE("launches: pointers on the host lie behind the parameters where they fit, else a pass makes tables of them") {
  if (!octet::test::has_nvrtc()) return;
  run_children({"tables behind the parameters", "a pass where tables do not fit", "arrays on the device",
                "the portable kernel"});
}
