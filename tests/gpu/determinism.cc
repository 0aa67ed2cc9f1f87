// The same bits every time.
#include "tests/gpu/gemm_case.h"
#include "tests/gpu/quantize_case.h"
#include "tests/gpu/quantize_judge.h"
#include "tests/support/catch.h"

namespace octet::test {

TEST_CASE_METHOD(GpuTest, "determinism: 200 repetitions of a ragged GEMM are bit-identical") {
  INFO(random.note());
  const GemmData data = random_gemm(packed_gemm(8, 2112, 1152), {300, 0, 1, 127, 128, 129, 77, 260}, 100, random);
  const Gemm gemm = runtime().prepare(data.problem);
  GemmBuffers buffers(data);
  const Bf16 first = buffers.run(gemm);
  REQUIRE(fault(data, first, random) == "");
  for (int run = 1; run < 200; ++run) {
    CAPTURE(run);
    const bool same = buffers.run(gemm) == first;
    REQUIRE(same);
  }
}

TEST_CASE_METHOD(GpuTest, "determinism: launches that follow each other without a wait do not disturb each other") {
  INFO(random.note());
  const GemmData data = random_gemm(packed_gemm(8, 2112, 1152), {300, 0, 1, 127, 128, 129, 77, 260}, 100, random);
  const Gemm gemm = runtime().prepare(data.problem);
  GemmBuffers buffers(data);
  const Bf16 first = buffers.run(gemm);
  const OwnedStream stream;
  buffers.d.poison();
  for (int run = 0; run < 200; ++run) gemm.launch(buffers.args(gemm), stream);
  stream.synchronize();
  const bool same = buffers.read_d() == first;
  REQUIRE(same);
}

TEST_CASE_METHOD(GpuTest, "determinism: 200 repetitions of a quantizer are bit-identical") {
  INFO(random.note());
  const QuantizeCase quantize = awkward_case(token_problem(8, 2880), {300, 0, 1, 127, 128, 129, 77, 260}, 100, random);
  const Quantize kernel = runtime().prepare_quantize(quantize.problem);
  QuantizeBuffers buffers(quantize);
  const Results wanted = expected(quantize);
  for (int run = 0; run < 200; ++run) {
    CAPTURE(run);
    REQUIRE(difference(wanted, buffers.run(kernel)) == "");
  }
}

// Sums over rows and over columns, and a maximum over a whole group: what an order of arrival would show in.
TEST_CASE_METHOD(GpuTest, "determinism: 100 repetitions of every reduction are bit-identical") {
  INFO(random.note());
  for (const char* rest : {"act=swiglu out=e4m3:1x128 dir=row,col +probs +grad +dbias",
                           "act=swiglu out=e4m3:1x32 dir=row,col +probs +grad +dbias",
                           "out=e4m3:tensor +amax dir=row,col", "out=e4m3:tensor +amax", "out=e4m3:row dir=row,col"}) {
    CAPTURE(rest);
    const Problem problem = Problem::parse(std::string("quantize.packed g8 c576 in=bf16 ") + rest);
    const QuantizeCase quantize = ordinary_case(problem, {300, 0, 1, 127, 128, 129, 77, 260}, 100, random);
    const Quantize kernel = runtime().prepare_quantize(problem);
    QuantizeBuffers buffers(quantize);
    const Results first = buffers.run(kernel);
    for (int run = 1; run < 100; ++run) {
      CAPTURE(run);
      REQUIRE(difference(first, buffers.run(kernel)) == "");
    }
  }
}

// Its blocks wait for one another, whoever runs: with few of them, each does many chunks; on two streams, each launch
// in its own workspace.
TEST_CASE_METHOD(GpuTest, "determinism: tensor scales of the data, many chunks to a block, on two streams at once") {
  INFO(random.note());
  const Problem problem = Problem::parse("quantize.packed g8 c1536 in=bf16 out=e4m3:tensor +amax");
  const Spec few{problem, QuantizeConfig{64, 8, 1}};  // 132 blocks, 8 KB a chunk
  const QuantizeCase quantize = ordinary_case(problem, {900, 0, 1, 127, 128, 1129, 77, 638}, 100, random);
  const Quantize kernel = runtime().prepare_quantize(few);
  QuantizeBuffers one(quantize), other(quantize);
  REQUIRE(judge(quantize, one.run(kernel)) == "");
  const Results first = one.run(kernel);
  for (int run = 0; run < 20; ++run) {
    CAPTURE(run);
    one.launch(kernel);
    other.launch(kernel);
    REQUIRE(difference(first, one.read()) == "");
    REQUIRE(difference(first, other.read()) == "");
  }
}

}  // namespace octet::test
