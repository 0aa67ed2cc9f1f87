// The template language, over templates that the tests make, and templates read from a folder.
#include <filesystem>
#include <fstream>

#include "octet/error.h"
#include "octet/explain.h"
#include "octet/runtime.h"
#include "runtime/template_parts.h"
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

namespace {

using octet::Error;
using octet::ErrorCode;
using octet::TemplateSet;
using octet::test::ScratchFolder;
using Facts = std::set<std::string>;

const Facts kKnown = {"red", "green", "blue"};

std::string assemble(const std::string& root, const Facts& facts = {}, TemplateSet others = {}) {
  others["root.cu"] = root;
  return octet::assemble_parts(others, "root.cu", facts, kKnown);
}

std::string failure_of(const std::string& root, const TemplateSet& others = {}) {
  try {
    return "assembled: " + assemble(root, {"red"}, others);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
}

octet::Spec weights_spec() {
  return octet::select(octet::Problem::parse("quantize.uniform g2 n128 k256 in=bf16 out=e4m3:128x128"));
}

void write_templates(const std::string& folder, const TemplateSet& templates) {
  for (const auto& [name, text] : templates) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
}

std::string load_failure(const std::string& folder) {
  try {
    octet::load_templates(folder);
    return "loaded";
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("templates: a block is kept when one of its facts holds") {
  const auto keeps = [](const std::string& condition, const Facts& facts) {
    return assemble("#if " + condition + "\nx\n#endif\n", facts) == "x\n";
  };
  CHECK(keeps("OCTET_RED", {"red"}));
  CHECK_FALSE(keeps("OCTET_RED", {"blue"}));
  CHECK(keeps("!OCTET_RED", {}));
  CHECK_FALSE(keeps("!OCTET_RED", {"red"}));
  CHECK(keeps("OCTET_RED || OCTET_GREEN", {"green"}));
  CHECK_FALSE(keeps("OCTET_RED || OCTET_GREEN", {"blue"}));
  CHECK(keeps("OCTET_RED || !OCTET_GREEN", {"blue"}));
  CHECK_FALSE(keeps("OCTET_RED || !OCTET_GREEN", {"green"}));
  CHECK(keeps(" OCTET_RED||OCTET_GREEN ", {"green"}));
}

TEST_CASE("templates: a block inside a dropped one is dropped, whatever its own facts") {
  const std::string text = "1\n  #if OCTET_RED\n2\n    #if OCTET_GREEN\n3\n    #endif\n4\n  #endif\n5\n";
  CHECK(assemble(text, {"red", "green"}) == "1\n2\n3\n4\n5\n");
  CHECK(assemble(text, {"red"}) == "1\n2\n4\n5\n");
  CHECK(assemble(text, {"green"}) == "1\n5\n");
}

TEST_CASE("templates: what a file includes stands once, before the file's own text") {
  const TemplateSet others = {{"a.cuh", "#pragma once\n#include \"b.cuh\"\na\n"},
                              {"b.cuh", "#pragma once\n#include \"a.cuh\"\nb\n"}};
  CHECK(assemble("#include \"a.cuh\"\n#include \"b.cuh\"\nroot\n", {}, others) == "b\n\na\n\nroot\n");
  // A file's head comment stays with its code.
  CHECK(assemble("// root\n#include \"c.cuh\"\nroot\n", {}, {{"c.cuh", "// c\n#pragma once\nc\n"}}) ==
        "// c\nc\n\n// root\nroot\n");
  // In a part that is dropped it has no effect, also not on what follows.
  CHECK(assemble("#if OCTET_RED\n#include \"missing.cuh\"\n#include \"a.cuh\"\n#endif\n#include \"b.cuh\"\n", {},
                 others) == "a\n\nb\n");
}

TEST_CASE("templates: what is dropped leaves at most one empty line, and a last line needs no end") {
  CHECK(assemble("1\n\n#if OCTET_RED\n2\n#endif\n\n3") == "1\n\n3\n");
}

TEST_CASE("templates: a mistake is told with file and line") {
  const TemplateSet others = {{"other.cuh", "x\n#if OCTET_MAUVE\n#endif\n"}};
  CHECK(failure_of("x\n\n#if OCTET_PURPLE\n#endif\n") == "root.cu:3: unknown fact \"OCTET_PURPLE\"");
  CHECK(failure_of("#if OCTET_RED || !OCTET_PURPLE\n#endif\n") == "root.cu:1: unknown fact \"OCTET_PURPLE\"");
  CHECK(failure_of("#if RED\n#endif\n") == "root.cu:1: unknown fact \"RED\"");
  CHECK(contains(failure_of("#if\n#endif\n"), "root.cu:1: \"#if\": templates know only"));
  CHECK(failure_of("#if !OCTET_RED\n#if OCTET_PURPLE\n#endif\n#endif\n") == "root.cu:2: unknown fact \"OCTET_PURPLE\"");
  CHECK(failure_of("#include \"other.cuh\"\n", others) == "other.cuh:2: unknown fact \"OCTET_MAUVE\"");
  CHECK(failure_of("x\n#endif\n") == "root.cu:2: #endif without #if");
  CHECK(failure_of("x\n#if OCTET_RED\n#if OCTET_BLUE\n#endif\n") == "root.cu:2: #if without #endif");
  CHECK(contains(failure_of("x\n#else\n"), "root.cu:2: \"#else\""));
  CHECK(contains(failure_of("x\n#ifdef OCTET_RED\n"), "root.cu:2: \"#ifdef OCTET_RED\""));
  CHECK(failure_of("x\n#include \"missing.cuh\"\n") == "template \"missing.cuh\" not found (included from root.cu:2)");
  CHECK(contains(failure_of("x\n#include <cuda_fp8.h>\n"), "root.cu:2: \"#include <cuda_fp8.h>\""));
}

TEST_CASE("templates: a block does not reach from one file into another") {
  CHECK(failure_of("#include \"open.cuh\"\n#endif\n", {{"open.cuh", "#if OCTET_RED\n"}}) ==
        "open.cuh:1: #if without #endif");
}

TEST_CASE("templates: a missing root is told") {
  try {
    octet::assemble_parts({}, "gone.cu", {}, kKnown);
    FAIL("assembled");
  } catch (const Error& error) {
    CHECK(contains(error.what(), "\"gone.cu\" not found"));
  }
}

TEST_CASE("templates: a folder with the built-in ones gives the same source") {
  const ScratchFolder folder;
  write_templates(folder.string(), octet::embedded_templates());
  CHECK(octet::load_templates(folder.string()) == octet::embedded_templates());
  octet::Options options;
  options.template_dir = folder.string();
  CHECK(octet::Runtime(options).source(weights_spec()) == octet::Runtime(octet::Options{}).source(weights_spec()));
}

TEST_CASE("templates: a folder's templates are used in place of the built-in ones") {
  const ScratchFolder folder;
  write_templates(folder.string(), {{"quantize_tiles.cu", "// mine\n#include \"deep/part.cuh\"\n"},
                                    {"deep/part.cuh", "#if OCTET_QUANTIZE\n// quantizes\n#endif\n"}});
  octet::Options options;
  options.template_dir = folder.string();
  const std::string source = octet::Runtime(options).source(weights_spec());
  CHECK(contains(source, "// quantizes\n\n// mine\n"));
  CHECK_FALSE(contains(source, "__global__"));
}

TEST_CASE("templates: a folder that has none is an error that names the setting") {
  const ScratchFolder folder;
  for (const std::string& place : {folder / "absent", folder.string()}) {
    const std::string message = load_failure(place);
    INFO(message);
    CHECK(contains(message, "\"" + place + "\""));
    CHECK(contains(message, "OCTET_TEMPLATE_DIR"));
  }
  CHECK(contains(load_failure(folder / "absent"), "No such file"));
}
