// A plan as a picture: steps are boxes, what the caller gives and takes are rounded, and every other buffer is an edge
// from the step that writes it to those that read it.
#include <set>

#include <fmt/format.h>

#include "octet/plan.h"
#include "runtime/plan_memory.h"

namespace octet {
namespace {

struct Edge {
  std::string from, to, label;  // the label is empty where one end is the buffer itself
};

struct Node {
  std::string id, text;
  bool is_step;
};

struct Diagram {
  std::vector<std::pair<PlanPass, std::vector<Node>>> passes;
  std::vector<Node> outside;  // of the caller
  std::vector<Edge> edges;
};

// Names of buffers have dots, and those of steps may be names of buffers.
std::string buffer_id(const PlanBuffer& buffer) {
  std::string id = "b_" + buffer.name;
  for (char& c : id) c = c == '.' ? '_' : c;
  return id;
}
std::string step_id(const PlanStep& step) { return "s_" + step.name; }

// Which step writes each buffer.
std::vector<const PlanStep*> writers_of(const Plan& plan) {
  std::vector<const PlanStep*> writers(plan.buffers.size());
  for (const std::vector<PlanStep>& steps : plan.passes) {
    for (const PlanStep& step : steps) {
      for (std::size_t i = 0; i < kPlanArguments; ++i) {
        if (step.buffers[i] >= 0 && is_written(static_cast<PlanArgument>(i))) {
          writers[static_cast<std::size_t>(step.buffers[i])] = &step;
        }
      }
    }
  }
  return writers;
}

void add_edges(const Plan& plan, const PlanStep& step, const std::vector<const PlanStep*>& writers, Diagram& diagram) {
  for (std::size_t i = 0; i < kPlanArguments; ++i) {
    if (step.buffers[i] < 0) continue;
    const auto index = static_cast<std::size_t>(step.buffers[i]);
    const PlanBuffer& buffer = plan.buffers[index];
    const bool written = is_written(static_cast<PlanArgument>(i));
    if (written && is_of_caller(buffer)) diagram.edges.push_back({step_id(step), buffer_id(buffer), ""});
    if (written) continue;
    if (writers[index] == nullptr) {
      diagram.edges.push_back({buffer_id(buffer), step_id(step), ""});
    } else {
      diagram.edges.push_back({step_id(*writers[index]), step_id(step), buffer.name});
    }
  }
}

Diagram diagram_of(const Plan& plan) {
  Diagram diagram;
  const std::vector<const PlanStep*> writers = writers_of(plan);
  for (const PlanPass pass : kPlanPasses) {
    std::vector<Node> nodes;
    for (const PlanStep& step : plan.steps(pass)) {
      nodes.push_back({step_id(step), step.name, true});
      add_edges(plan, step, writers, diagram);
    }
    if (!nodes.empty()) diagram.passes.emplace_back(pass, std::move(nodes));
  }
  std::set<std::string> touched;
  for (const Edge& edge : diagram.edges) {
    touched.insert(edge.from);
    touched.insert(edge.to);
  }
  for (const PlanBuffer& buffer : plan.buffers) {
    const std::string id = buffer_id(buffer);
    if (is_of_caller(buffer) && touched.count(id) != 0) diagram.outside.push_back({id, buffer.name, false});
  }
  return diagram;
}

}  // namespace

std::string to_mermaid(const Plan& plan) {
  const Diagram diagram = diagram_of(plan);
  std::string text = fmt::format("%% {}\nflowchart TD\n", plan.facts.to_string());
  for (const Node& node : diagram.outside) text += fmt::format("  {}([{}])\n", node.id, node.text);
  for (const auto& [pass, nodes] : diagram.passes) {
    text += fmt::format("  subgraph {}\n", to_string(pass));
    for (const Node& node : nodes) text += fmt::format("    {}[{}]\n", node.id, node.text);
    text += "  end\n";
  }
  for (const Edge& edge : diagram.edges) {
    const std::string arrow = edge.label.empty() ? "-->" : fmt::format("-->|{}|", edge.label);
    text += fmt::format("  {} {} {}\n", edge.from, arrow, edge.to);
  }
  return text;
}

std::string to_dot(const Plan& plan) {
  const Diagram diagram = diagram_of(plan);
  std::string text = fmt::format("// {}\ndigraph plan {{\n  node [shape=box];\n", plan.facts.to_string());
  for (const Node& node : diagram.outside) {
    text += fmt::format("  {} [label=\"{}\", shape=ellipse];\n", node.id, node.text);
  }
  for (const auto& [pass, nodes] : diagram.passes) {
    text += fmt::format("  subgraph cluster_{0} {{\n    label=\"{0}\";\n", to_string(pass));
    for (const Node& node : nodes) text += fmt::format("    {} [label=\"{}\"];\n", node.id, node.text);
    text += "  }\n";
  }
  for (const Edge& edge : diagram.edges) {
    const std::string label = edge.label.empty() ? "" : fmt::format(" [label=\"{}\"]", edge.label);
    text += fmt::format("  {} -> {}{};\n", edge.from, edge.to, label);
  }
  return text + "}\n";
}

}  // namespace octet
