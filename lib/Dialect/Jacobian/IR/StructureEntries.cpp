//===- StructureEntries.cpp - entries of structures -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::jacobian;

SparsityPattern StructureAttr::computePattern(int64_t rows, int64_t cols) const {
  switch (getKind()) {
  case StructureKind::Zero:
    return SparsityPattern::getZero(rows, cols);
  case StructureKind::Identity:
  case StructureKind::Diagonal:
    return SparsityPattern::getIdentity(rows);
  case StructureKind::CSR:
    return getPattern().getValue();
  case StructureKind::BlockDiagonal:
    return SparsityPattern::getBlockDiagonal(
        getParts().front().computePattern(rows / getCount(), cols / getCount()), getCount());
  case StructureKind::Blocks: {
    size_t width = getColSizes().size();
    SmallVector<SparsityPattern> blocks;
    for (auto [i, part] : llvm::enumerate(getParts()))
      blocks.push_back(part.computePattern(getRowSizes()[i / width], getColSizes()[i % width]));
    return SparsityPattern::getGrid(blocks, width);
  }
  case StructureKind::Sum: {
    SparsityPattern pattern = SparsityPattern::getZero(rows, cols);
    for (StructureAttr part : getParts())
      pattern = pattern.unite(part.computePattern(rows, cols));
    return pattern;
  }
  default:
    return SparsityPattern::getDense(rows, cols);
  }
}

bool StructureAttr::isShared() const {
  switch (getKind()) {
  case StructureKind::Zero:
  case StructureKind::Identity:
  case StructureKind::SharedDense:
    return true;
  case StructureKind::BlockDiagonal:
  case StructureKind::Blocks:
  case StructureKind::Sum:
    return llvm::all_of(getParts(), [](StructureAttr part) { return part.isShared(); });
  default:
    return false;
  }
}
