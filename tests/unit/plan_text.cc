#include "octet/plan.h"
#include "tests/support/catch.h"

using namespace octet;

namespace {

Plan linear() { return make_plan(PlanFacts::parse("linear.packed g2 n64 k128 +inference")); }

}  // namespace

TEST_CASE("plan: it prints its facts, buffers and steps", "[plan]") {
  CHECK(to_string(linear()) == R"(linear.packed g2 n64 k128 +inference
buffers
  x           input              bf16 [rows, 128]
  w           weight             bf16 [128, 128]
  w.row       quantized_weights  e4m3:128x128 uniform/block2d
  y           output             bf16 [rows, 64]
  x.row       scratch            e4m3:1x128 packed/mn_major
quantize_weights
  quantize_w    quantize.uniform g2 n64 k128 in=bf16 out=e4m3:128x128
                in=w out=w.row
forward
  quantize_x    quantize.packed g2 c128 in=bf16 out=e4m3:1x128
                in=x out=x.row
  gemm          gemm.packed g2 n64 k128 a=e4m3:1x128 b=e4m3:128x128 d=bf16
                a=x.row b=w.row d=y
)");
}

TEST_CASE("plan: with a capacity it prints bytes", "[plan]") {
  const std::string text = to_string(linear(), 100);
  CHECK(text.find("25600\n") != std::string::npos);        // x: 100 rows of 128 bf16
  CHECK(text.find("12800 + 400\n") != std::string::npos);  // x.row, and a scale for each row
  CHECK(text.find("bytes with room for 100 rows\n") != std::string::npos);
  const Plan masked = make_plan(PlanFacts::parse("linear.masked g4 m64 n64 k128"));
  CHECK(to_string(masked, 100).find("bytes with room for 256 rows\n") != std::string::npos);
  // w.row: 16384 bytes of data and 8 of scales, each in whole 256 bytes.
  CHECK(text.find("  quantized_weights           16640\n") != std::string::npos);
}

TEST_CASE("plan: as a Mermaid flowchart", "[plan]") {
  CHECK(to_mermaid(linear()) == R"(%% linear.packed g2 n64 k128 +inference
flowchart TD
  b_x([x])
  b_w([w])
  b_y([y])
  subgraph quantize_weights
    s_quantize_w[quantize_w]
  end
  subgraph forward
    s_quantize_x[quantize_x]
    s_gemm[gemm]
  end
  b_w --> s_quantize_w
  b_x --> s_quantize_x
  s_quantize_x -->|x.row| s_gemm
  s_quantize_w -->|w.row| s_gemm
  s_gemm --> b_y
)");
}

TEST_CASE("plan: as a Graphviz graph", "[plan]") {
  CHECK(to_dot(linear()) == R"(// linear.packed g2 n64 k128 +inference
digraph plan {
  node [shape=box];
  b_x [label="x", shape=ellipse];
  b_w [label="w", shape=ellipse];
  b_y [label="y", shape=ellipse];
  subgraph cluster_quantize_weights {
    label="quantize_weights";
    s_quantize_w [label="quantize_w"];
  }
  subgraph cluster_forward {
    label="forward";
    s_quantize_x [label="quantize_x"];
    s_gemm [label="gemm"];
  }
  b_w -> s_quantize_w;
  b_x -> s_quantize_x;
  s_quantize_x -> s_gemm [label="x.row"];
  s_quantize_w -> s_gemm [label="w.row"];
  s_gemm -> b_y;
}
)");
}
