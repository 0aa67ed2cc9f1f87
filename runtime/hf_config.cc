#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/error.h"
#include "octet/model.h"

namespace octet {
namespace {

using Json = nlohmann::json;
using Keys = std::initializer_list<const char*>;

// In order of preference: a model that also has dense layers gives their width as intermediate_size.
constexpr Keys kHidden = {"hidden_size"};
constexpr Keys kIntermediate = {"moe_intermediate_size", "intermediate_size"};
constexpr Keys kExperts = {"n_routed_experts", "num_experts", "num_local_experts"};
constexpr Keys kExpertsPerToken = {"num_experts_per_tok", "experts_per_token"};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_argument, message); }

std::string join(Keys keys) {
  std::string text;
  for (const char* key : keys) text += (text.empty() ? "" : " | ") + std::string(key);
  return text;
}

// JSON null is how some files spell "not set".
const char* first_present(const Json& object, Keys keys) {
  for (const char* key : keys) {
    const auto found = object.find(key);
    if (found != object.end() && !found->is_null()) return key;
  }
  return nullptr;
}

std::int64_t positive(const Json& object, const char* key, const std::string& name) {
  const Json& value = object.at(key);
  // Sizes beyond 2^31 are damage, and would overflow the products made of them.
  if (!value.is_number_integer() || value < 1 || value > std::numeric_limits<std::int32_t>::max()) {
    refuse(fmt::format("{}: {} is {}; a positive integer is expected", name, key,
                       value.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }
  return value.get<std::int64_t>();
}

std::int64_t required(const Json& object, Keys keys, const std::string& name) {
  const char* key = first_present(object, keys);
  if (key == nullptr) refuse(fmt::format("{}: no key {}", name, join(keys)));
  return positive(object, key, name);
}

std::int64_t optional(const Json& object, Keys keys, const std::string& name) {
  const char* key = first_present(object, keys);
  return key == nullptr ? 0 : positive(object, key, name);
}

Json parse(const std::string& text, const std::string& name) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const auto at = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    refuse(fmt::format("{}: not valid JSON, line {}", name, 1 + std::count(text.begin(), at, '\n')));
  }
}

// Multimodal models keep the language model's keys one level down.
const Json& language_model(const Json& config) {
  const auto nested = config.find("text_config");
  const bool is_nested = nested != config.end() && nested->is_object() && first_present(*nested, kExperts) != nullptr;
  return is_nested ? *nested : config;
}

std::int64_t divide(std::int64_t total, std::int64_t parts, const char* what, const char* setting) {
  if (parts < 1) refuse(fmt::format("{}={}: must be at least 1", setting, parts));
  if (total % parts != 0) {
    refuse(fmt::format("{}={}: does not divide the {} {}; choose a divisor of {}", setting, parts, total, what, total));
  }
  return total / parts;
}

void add(std::vector<Problem>& problems, const Problem& problem) {
  if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(problem);
}

Problem gemm(std::int64_t groups, std::int64_t n, std::int64_t k) {
  GemmProblem problem;
  problem.groups = groups;
  problem.n = n;
  problem.k = k;
  return problem.to_problem();
}

Problem quantize_tokens(std::int64_t groups, std::int64_t columns) {
  QuantizeProblem problem;
  problem.groups = groups;
  problem.columns = columns;
  return problem.to_problem();
}

Problem quantize_weights(std::int64_t groups, std::int64_t n, std::int64_t k) {
  QuantizeProblem problem;
  problem.layout = Layout::uniform;
  problem.groups = groups;
  problem.rows_per_group = n;
  problem.columns = k;
  problem.out = e4m3_128x128();
  return problem.to_problem();
}

}  // namespace

ExpertShape parse_hf_config(const std::string& json, const std::string& name) {
  const Json config = parse(json, name);
  if (!config.is_object()) refuse(fmt::format("{}: not a JSON object", name));
  const Json& model = language_model(config);
  if (first_present(model, kExperts) == nullptr) {
    refuse(fmt::format("{}: no key {}; is this a mixture-of-experts model?", name, join(kExperts)));
  }
  ExpertShape shape;
  shape.experts = required(model, kExperts, name);
  shape.hidden = required(model, kHidden, name);
  shape.intermediate = required(model, kIntermediate, name);
  shape.experts_per_token = optional(model, kExpertsPerToken, name);
  return shape;
}

ExpertShape read_hf_config(const std::string& path) {
  std::error_code ignored;
  const std::string file =
      std::filesystem::is_directory(path, ignored) ? (std::filesystem::path(path) / "config.json").string() : path;
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.is_open() || stream.bad()) refuse(fmt::format("{}: cannot be read; give a model's config.json", file));
  return parse_hf_config(text, file);
}

std::vector<Problem> expert_problems(const ExpertShape& shape, const Parallelism& parallelism) {
  const std::int64_t groups = divide(shape.experts, parallelism.expert, "experts", "ep");
  const std::int64_t inner = divide(shape.intermediate, parallelism.tensor, "columns of an expert", "tp");
  const std::int64_t gate_and_up = 2 * inner;
  std::vector<Problem> problems;
  add(problems, gemm(groups, gate_and_up, shape.hidden));
  add(problems, gemm(groups, shape.hidden, inner));
  add(problems, quantize_tokens(groups, shape.hidden));
  add(problems, quantize_tokens(groups, inner));
  add(problems, quantize_weights(groups, gate_and_up, shape.hidden));
  add(problems, quantize_weights(groups, shape.hidden, inner));
  return problems;
}

}  // namespace octet
