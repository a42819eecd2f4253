//===- NaNSearch.cpp - Find the node that creates the first NaN -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "NaNSearch.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

using namespace bppsa::runtime;

void bppsa::runtime::requireNaNSearch(const Model &model) {
  if (model.tracedNodes.empty())
    fail("--check-nan: this program cannot name nodes; compile the model with bppsa-compile "
         "--check-nan");
}

static std::string describe(const TracedNode &node, int64_t position) {
  std::string name = node.name.empty() ? "the computation of the loss"
                                       : text("node ", quote(node.name),
                                              node.op == node.name ? "" : " (" + node.op + ")");
  std::string step = node.isInLoop ? text(" at step ", std::abs(position)) : "";
  return text("the first NaN comes from ", node.isBackward ? "the backward pass of " : "", name,
              step);
}

static std::string findParameter(const Session &session) {
  const std::vector<ParameterInfo> &infos = session.program.model.parameters;
  for (size_t i = 0; i < infos.size(); ++i) {
    const float *values = session.parameters.values(i);
    if (std::any_of(values, values + infos[i].elements, [](float v) { return std::isnan(v); }))
      return infos[i].name;
  }
  return "";
}

std::string bppsa::runtime::describeFirstNaN(Session &session, const std::string &function,
                                             Batch &batch) {
  if (std::string name = findParameter(session); !name.empty())
    return text("initializer ", quote(name), " holds a NaN");
  const std::vector<TracedNode> &nodes = session.program.model.tracedNodes.at(function);
  std::vector<int64_t> found(nodes.size());
  ViewTable views;
  views["output:first_nans"] = {
      found.data(), {static_cast<int64_t>(found.size())}, sizeof found[0], Access::Write};
  float loss = session.loss;
  session.prepare("nans." + function, &batch, views)();
  session.loss = loss;
  auto key = [&](size_t i) { return std::tuple(nodes[i].group, found[i], i); };
  size_t first = nodes.size();
  for (size_t i = 0; i < nodes.size(); ++i)
    if (found[i] != std::numeric_limits<int64_t>::max() &&
        (first == nodes.size() || key(i) < key(first)))
      first = i;
  return first < nodes.size() ? describe(nodes[first], found[first])
                              : "no node produces a NaN: values are infinite";
}
