// CUDA graphs: capture, replay with other splits, first calls inside a capture.
#include "tests/gpu/gemm_case.h"
#include "tests/gpu/quantize_case.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

constexpr std::int64_t kCapacity = 1024;

// The same buffers seen with other group sizes: operands of all rows are valid.
GemmData with_sizes(GemmData data, const Sizes& sizes) {
  data.groups = reference::extents(sizes);
  return data;
}

GemmData full_gemm(Random& random) { return random_gemm(packed_gemm(4, 576, 512), {kCapacity, 0, 0, 0}, 0, random); }

}  // namespace

TEST_CASE_METHOD(GpuTest, "graph-replay-new-splits: C03: each replay equals an eager call with the new sizes",
                 "[named]") {
  INFO(random.note());
  const GemmData data = full_gemm(random);
  const Gemm gemm = runtime().prepare(data.problem);
  GemmBuffers buffers(data);
  buffers.set_splits(Sizes{128, 0, 384, 512});
  const OwnedStream stream;
  const GemmArgs args = buffers.args(gemm);
  const Graph graph = Graph::record(stream, [&] { gemm.launch(args, stream); });

  const std::vector<Sizes> draws = {{128, 0, 384, 512}, {512, 0, 0, 128}, {0, 0, 0, 0},
                                    {1, 127, 129, 0},   {0, 0, 0, 1024},  {256, 256, 256, 256}};
  for (const Sizes& sizes : draws) {
    CAPTURE(sizes);
    buffers.set_splits(sizes);
    const Bf16 eager = buffers.run(gemm);
    REQUIRE(fault(with_sizes(data, sizes), eager, random) == "");
    buffers.d.poison();
    graph.replay(stream);
    stream.synchronize();
    REQUIRE(buffers.read_d() == eager);
  }
}

TEST_CASE_METHOD(GpuTest, "graph-replay-new-splits: a captured quantizer reads the new sizes", "[named]") {
  INFO(random.note());
  for (const char* kind : {"out=e4m3:1x128", "out=e4m3:1x128 dir=row,col", "out=e4m3:1x32@swizzled dir=row,col",
                           "out=e4m3:tensor", "out=e4m3:row dir=col"}) {
    CAPTURE(kind);
    const Problem problem = Problem::parse(std::string("quantize.packed g4 c576 in=bf16 ") + kind);
    QuantizeCase quantize = awkward_case(problem, {kCapacity, 0, 0, 0}, 0, random);
    const Quantize kernel = runtime().prepare_quantize(problem);
    QuantizeBuffers buffers(quantize);
    const OwnedStream stream;
    const QuantizeArgs args = buffers.args(kernel);
    const Graph graph = Graph::record(stream, [&] { kernel.launch(args, stream); });
    for (const Sizes& sizes : std::vector<Sizes>{{1, 0, 300, 2}, {0, 0, 0, 0}, {100, 200, 300, 400}}) {
      CAPTURE(sizes);
      quantize.groups = reference::extents(sizes);
      const std::vector<std::int32_t> device_sizes(sizes.begin(), sizes.end());
      buffers.splits.upload(device_sizes.data(), device_sizes.size() * sizeof(std::int32_t));
      buffers.poison();
      graph.replay(stream);
      stream.synchronize();
      REQUIRE(difference(expected(quantize), buffers.read()) == "");
    }
  }
}

TEST_CASE_METHOD(GpuTest, "graph: two graphs and eager calls in turn, many times") {
  INFO(random.note());
  const GemmData data = full_gemm(random);
  const Gemm gemm = runtime().prepare(data.problem);
  GemmBuffers one(data), other(data);
  one.set_splits(Sizes{128, 0, 384, 512});
  other.set_splits(Sizes{3, 1, 0, 700});
  const Bf16 first = one.run(gemm), second = other.run(gemm);
  const OwnedStream stream;
  const GemmArgs one_args = one.args(gemm), other_args = other.args(gemm);
  const Graph one_graph = Graph::record(stream, [&] { gemm.launch(one_args, stream); });
  const Graph other_graph = Graph::record(stream, [&] { gemm.launch(other_args, stream); });
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    one.d.poison();
    other.d.poison();
    one_graph.replay(stream);
    other_graph.replay(stream);
    stream.synchronize();
    const bool replays_same = one.read_d() == first && other.read_d() == second;
    REQUIRE(replays_same);
    if (round % 10 == 0) {
      const bool eager_same = one.run(gemm) == first;
      REQUIRE(eager_same);
    }
  }
}

TEST_CASE_METHOD(GpuTest, "C01: a first call inside a capture works or names prepare, and the capture stays valid") {
  INFO(random.note());
  const GemmData data = random_gemm(packed_gemm(3, 264, 144), {70, 0, 129}, 0, random);
  const TemporaryDirectory cache;
  const Gemm known = runtime().prepare(packed_gemm(4, 256, 256));
  const GemmData known_data = random_gemm(packed_gemm(4, 256, 256), {64, 1, 0, 9}, 0, random);
  // The first round finds the cache cold, the others find it warm; each has a Runtime that never loaded the kernel.
  for (const CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_GLOBAL}) {
    CAPTURE(static_cast<int>(mode));
    Runtime fresh(options_with_cache(cache.path() / "cache"));
    const GemmBuffers buffers(data), known_buffers(known_data);
    GemmArgs args = buffers.args(known);  // both kernels take the same layouts
    const OwnedStream stream;
    std::optional<Gemm> first;
    check(Driver::get().cuStreamBeginCapture(stream, mode), "cuStreamBeginCapture");
    const std::optional<Error> error = error_of([&] {
      first = fresh.prepare(data.problem);
      first->launch(args, stream);
    });
    known.launch(known_buffers.args(known), stream);
    const Graph graph = Graph::end_capture(stream);
    if (error) {
      CAPTURE(error->what());
      REQUIRE(error->code() == ErrorCode::not_prepared);
      REQUIRE(contains(error->what(), "prepare"));
    }
    graph.replay(stream);
    stream.synchronize();
    REQUIRE(fault(known_data, known_buffers.read_d(), random) == "");
    if (!error) REQUIRE(fault(data, buffers.read_d(), random) == "");
    // And outside a capture it works in any case.
    REQUIRE(fault(fresh.prepare(data.problem), data, random) == "");
  }
}

}  // namespace octet::test
