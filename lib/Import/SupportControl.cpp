//===- SupportControl.cpp - rows of control flow --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportRows.h"

using namespace mlir;
using namespace bppsa;

void bppsa::addControlRows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  table.push_back(
      Row("If", importIf)
          .in("cond", Bool)
          .variadicOut("outputs")
          .attr("else_branch", Kind::Graph)
          .required()
          .attr("then_branch", Kind::Graph)
          .required()
          .note("`cond` must follow from constants, sizes and bound inputs (`--bind`)."));
}
