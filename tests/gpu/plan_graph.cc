// Plans under CUDA graph capture.
#include "octet/error.h"
#include "tests/gpu/plan_case.h"
#include "tests/support/catch.h"

namespace octet::test {
namespace {

// Other tokens and gradients, the sizes given.
PlanData next_batch(PlanData data, const std::vector<std::int64_t>& sizes, Random& random) {
  for (const char* name : {"x", "dy", "probs"}) {
    if (!data.has(name)) continue;
    const PlanBuffer& buffer = data.plan.buffers[data.index(name)];
    for (std::int64_t i = 0; i < data.capacity * buffer.columns; ++i) {
      set_plan_element(data.at(name), buffer.type, i, static_cast<float>(random.integer(-512, 512)) / 128.0f);
    }
  }
  data.set_sizes(sizes);
  return data;
}

void check_replays(const std::string& line, std::int64_t capacity, Random& random) {
  CAPTURE(line);
  const PlanData first(line, {capacity / 2, 0, capacity / 4, 1}, capacity);
  DevicePlan captured(first), eager(first);
  captured.run();  // loads every kernel
  const OwnedStream stream;
  const Graph graph = Graph::record(stream, [&] { captured.launch_all(stream); });
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{
           {capacity / 2, 0, capacity / 4, 1}, {0, 0, 0, 0}, {1, 127, 3, 0}, {0, capacity, 0, 0}, {7, 7, 7, 7}}) {
    CAPTURE(sizes);
    const PlanData batch = next_batch(first, sizes, random);
    captured.upload(batch);
    eager.upload(batch);
    graph.replay(stream);
    eager.run();
    stream.synchronize();
    const bool same = captured.outputs() == eager.outputs();
    REQUIRE(same);
    REQUIRE(captured.guards_intact());
  }
}

}  // namespace

TEST_CASE_METHOD(GpuTest, "graph-replay-new-splits: C03: a whole training step, captured once, equals eager calls",
                 "[plan][named]") {
  INFO(random.note());
  check_replays("mlp.packed g4 h272 i144 act=swiglu +bias +probs +acc", 300, random);
  check_replays("mlp.packed g4 h272 i144 act=srelu recipe=mxfp8 w=pointers", 300, random);
  check_replays("linear.packed g4 n144 k272 recipe=tensor splits=i64/ends +bias", 300, random);
}

TEST_CASE_METHOD(GpuTest, "plan: splits on the host are copied, and refused during a capture, which stays valid",
                 "[plan]") {
  const PlanData data("linear.packed g3 n144 k272 +inference", {5, 0, 130}, 150);
  const DevicePlan plan(data);
  plan.run();
  const std::vector<std::uint8_t> wanted = plan.read("y");
  const GroupedLinearPlan uploader(runtime(), data.plan.facts);
  const Buffer splits(data.splits.size());
  LinearTensors tensors = plan.linear();
  tensors.rows.splits = splits.at();
  const OwnedStream stream;
  uploader.upload_splits(data.splits.data(), data.capacity, splits.at(), stream);
  const Graph graph = Graph::record(stream, [&] {
    const std::string fault =
        refusal_fault([&] { uploader.upload_splits(data.splits.data(), data.capacity, splits.at(), stream); },
                      ErrorCode::invalid_argument, {"while the stream is being captured", "before each replay"});
    CHECK(fault == "");
    uploader.forward(tensors, stream);
  });
  graph.replay(stream);
  stream.synchronize();
  const bool same = plan.read("y") == wanted;
  REQUIRE(same);
}

}  // namespace octet::test
