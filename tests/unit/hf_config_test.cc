// Expected shapes are the models' published ones, written out by hand.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "octet/error.h"
#include "octet/model.h"
#include "tests/support/catch.h"
#include "tests/support/paths.h"

namespace {

using Lines = std::vector<std::string>;

octet::ExpertShape example(const std::string& file) {
  return octet::read_hf_config(octet::test::source_path("examples/models/" + file));
}

Lines problems(const octet::ExpertShape& shape, std::int64_t ep, std::int64_t tp) {
  Lines lines;
  for (const octet::Problem& problem : octet::expert_problems(shape, {ep, tp})) lines.push_back(problem.to_string());
  return lines;
}

// The one line that a user sees.
template <typename Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const octet::Error& error) {
    CHECK(error.code() == octet::ErrorCode::invalid_argument);
    const std::string message = error.what();
    CHECK(message.find('\n') == std::string::npos);
    return message;
  }
  return "not refused";
}

std::string refused_text(const std::string& json) {
  return refusal([&] { octet::parse_hf_config(json, "m.json"); });
}

void check_shape(const octet::ExpertShape& shape, std::int64_t hidden, std::int64_t intermediate, std::int64_t experts,
                 std::int64_t per_token) {
  CHECK(shape.hidden == hidden);
  CHECK(shape.intermediate == intermediate);
  CHECK(shape.experts == experts);
  CHECK(shape.experts_per_token == per_token);
}

}  // namespace

TEST_CASE("the shipped models have their published expert shapes") {
  check_shape(example("deepseek-v3.json"), 7168, 2048, 256, 8);
  check_shape(example("qwen3-235b-a22b.json"), 4096, 1536, 128, 8);
  check_shape(example("mixtral-8x7b.json"), 4096, 14336, 8, 2);
  check_shape(example("gpt-oss-120b.json"), 2880, 2880, 128, 4);
}

TEST_CASE("DeepSeek-V3 over 32 devices asks for two GEMMs and what feeds them") {
  CHECK(problems(example("deepseek-v3.json"), 32, 1) ==
        Lines{"gemm.packed g8 n4096 k7168 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
              "gemm.packed g8 n7168 k2048 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
              "quantize.packed g8 c7168 in=bf16 out=e4m3:1x128", "quantize.packed g8 c2048 in=bf16 out=e4m3:1x128",
              "quantize.uniform g8 n4096 k7168 in=bf16 out=e4m3:128x128",
              "quantize.uniform g8 n7168 k2048 in=bf16 out=e4m3:128x128"});
}

TEST_CASE("tensor parallelism divides the inner columns of each expert") {
  CHECK(problems(example("mixtral-8x7b.json"), 2, 4) ==
        Lines{"gemm.packed g4 n7168 k4096 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
              "gemm.packed g4 n4096 k3584 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
              "quantize.packed g4 c4096 in=bf16 out=e4m3:1x128", "quantize.packed g4 c3584 in=bf16 out=e4m3:1x128",
              "quantize.uniform g4 n7168 k4096 in=bf16 out=e4m3:128x128",
              "quantize.uniform g4 n4096 k3584 in=bf16 out=e4m3:128x128"});
}

TEST_CASE("a problem that two layers share is asked for once") {
  // gpt-oss: hidden and inner are both 2880, so one token quantizer feeds both GEMMs.
  CHECK(problems(example("gpt-oss-120b.json"), 128, 1) ==
        Lines{"gemm.packed g1 n5760 k2880 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
              "gemm.packed g1 n2880 k2880 a=e4m3:1x128 b=e4m3:128x128 d=bf16",
              "quantize.packed g1 c2880 in=bf16 out=e4m3:1x128",
              "quantize.uniform g1 n5760 k2880 in=bf16 out=e4m3:128x128",
              "quantize.uniform g1 n2880 k2880 in=bf16 out=e4m3:128x128"});
}

TEST_CASE("a nested text_config is read where the experts are described there") {
  // Llama-4-Maverick's nesting; a top level that names a vision tower's sizes does not mislead.
  check_shape(octet::parse_hf_config(R"({"hidden_size": 1408, "text_config":
      {"hidden_size": 5120, "intermediate_size": 8192, "num_local_experts": 128, "num_experts_per_tok": 1}})",
                                     "llama-4"),
              5120, 8192, 128, 1);
  // A nested dense model does not hide the experts of the top level.
  check_shape(octet::parse_hf_config(R"({"hidden_size": 64, "intermediate_size": 32, "num_experts": 4,
      "text_config": {"hidden_size": 16}})",
                                     "top"),
              64, 32, 4, 0);
}

TEST_CASE("a key that is null counts as absent") {
  check_shape(octet::parse_hf_config(R"({"hidden_size": 64, "moe_intermediate_size": null, "intermediate_size": 32,
      "num_experts": null, "num_local_experts": 4})",
                                     "nulls"),
              64, 32, 4, 0);
}

TEST_CASE("a checkpoint's directory stands for its config.json") {
  const std::filesystem::path directory = octet::test::build_path("hf_config_directory");
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "config.json") << R"({"hidden_size": 64, "intermediate_size": 32, "num_experts": 4})";
  check_shape(octet::read_hf_config(directory.string()), 64, 32, 4, 0);
  std::filesystem::remove_all(directory);
}

TEST_CASE("a bad config is refused with its name and the key") {
  CHECK(refusal([] { octet::read_hf_config("/no/such.json"); }) ==
        "/no/such.json: cannot be read; give a model's config.json");
  CHECK(refused_text("{\n\"hidden_size\": 1,\n!}") == "m.json: not valid JSON, line 3");
  CHECK(refused_text("") == "m.json: not valid JSON, line 1");
  CHECK(refused_text("[]") == "m.json: not a JSON object");
  CHECK(refused_text(R"({"hidden_size": 64, "intermediate_size": 32})") ==
        "m.json: no key n_routed_experts | num_experts | num_local_experts; is this a mixture-of-experts model?");
  CHECK(refused_text(R"({"num_experts": 4, "intermediate_size": 32})") == "m.json: no key hidden_size");
  CHECK(refused_text(R"({"num_experts": 4, "hidden_size": 64})") ==
        "m.json: no key moe_intermediate_size | intermediate_size");
  CHECK(refused_text(R"({"num_experts": "4", "hidden_size": 64, "intermediate_size": 32})") ==
        "m.json: num_experts is \"4\"; a positive integer is expected");
  CHECK(refused_text(R"({"num_experts": 4, "hidden_size": 0, "intermediate_size": 32})") ==
        "m.json: hidden_size is 0; a positive integer is expected");
  CHECK(refused_text(R"({"num_experts": 4, "hidden_size": 64.5, "intermediate_size": 32})") ==
        "m.json: hidden_size is 64.5; a positive integer is expected");
  CHECK(refused_text(R"({"num_experts": 4, "hidden_size": 18446744073709551615, "intermediate_size": 32})") ==
        "m.json: hidden_size is 18446744073709551615; a positive integer is expected");
}

TEST_CASE("experts and columns must divide") {
  const octet::ExpertShape shape{7168, 2048, 256, 8};
  CHECK(refusal([&] {
          octet::expert_problems(shape, {7, 1});
        }) == "ep=7: does not divide the 256 experts; choose a divisor of 256");
  CHECK(refusal([&] {
          octet::expert_problems(shape, {1, 3});
        }) == "tp=3: does not divide the 2048 columns of an expert; choose a divisor of 2048");
  CHECK(refusal([&] { octet::expert_problems(shape, {0, 1}); }) == "ep=0: must be at least 1");
  CHECK(refusal([&] { octet::expert_problems(shape, {1, -2}); }) == "tp=-2: must be at least 1");
}
