// The same bits every time.
#include "tests/gpu/gemm_case.h"
#include "tests/gpu/quantize_case.h"
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
                           "out=e4m3:tensor +amax dir=row,col", "out=e4m3:row dir=row,col"}) {
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

}  // namespace octet::test
