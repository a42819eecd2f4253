//===- SupportTable.cpp - supported ops and attributes --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportTable.h"
#include "SupportRows.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace bppsa;

static std::vector<OpRule> makeTable() {
  std::vector<OpRule> table;
  for (auto *addRows :
       {addActivationRows, addControlRows, addElementwiseRows, addIndexRows, addRecurrentRows,
        addReductionRows, addSequenceRows, addShapeRows, addTransformRows, addWindowRows})
    addRows(table);
  llvm::sort(table, [](const OpRule &a, const OpRule &b) { return a.name < b.name; });
  return table;
}

const std::vector<OpRule> &bppsa::getSupportTable() {
  static const std::vector<OpRule> table = makeTable();
  return table;
}

const OpRule *bppsa::findOp(StringRef name) {
  const std::vector<OpRule> &table = getSupportTable();
  auto it = llvm::find_if(table, [&](const OpRule &rule) { return rule.name == name; });
  return it == table.end() ? nullptr : &*it;
}
