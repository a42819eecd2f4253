//===- StructureAlgebra.cpp - products and sums of structures -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A table has the products of plain structures; grids and sums are decomposed; otherwise only the
// sparsity pattern is kept.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"
#include "bppsa/Dialect/Jacobian/Sparsity/SymbolicProduct.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::jacobian;

static constexpr size_t kMaxTerms = 8;

/// Plain structures, without parts, come first in the enum.
static constexpr unsigned kNumPlainKinds = unsigned(StructureKind::CSR);

static bool isPlain(StructureAttr structure) {
  return unsigned(structure.getKind()) < kNumPlainKinds;
}

static StructureKind getPlainProduct(StructureKind lhs, StructureKind rhs) {
  constexpr StructureKind Z = StructureKind::Zero, I = StructureKind::Identity,
                          D = StructureKind::Diagonal, F = StructureKind::Dense,
                          S = StructureKind::SharedDense, R = StructureKind::RowScaled,
                          C = StructureKind::ColumnScaled;
  static constexpr StructureKind productTable[kNumPlainKinds][kNumPlainKinds] = {
      /*             Z  I  D  F  S  R  C */
      /* zero */ {Z, Z, Z, Z, Z, Z, Z},
      /* identity */ {Z, I, D, F, S, R, C},
      /* diagonal */ {Z, D, D, F, R, R, F},
      /* dense */ {Z, F, F, F, F, F, F},
      /* shared_dense */ {Z, S, C, F, S, F, C},
      /* row_scaled */ {Z, R, F, F, R, F, F},
      /* column_scaled */ {Z, C, C, F, F, F, F},
  };
  return productTable[unsigned(lhs)][unsigned(rhs)];
}

static std::optional<StructureKind> getPlainKind(const SparsityPattern &pattern) {
  if (pattern.isZero())
    return StructureKind::Zero;
  if (pattern.isIdentity())
    return StructureKind::Diagonal;
  if (pattern.isDense())
    return StructureKind::Dense;
  return std::nullopt;
}

StructureAttr StructureAttr::fromPattern(MLIRContext *context, SparsityPattern pattern) {
  if (std::optional<StructureKind> kind = getPlainKind(pattern))
    return get(context, *kind);
  return getCSR(PatternAttr::get(context, std::move(pattern)));
}

/// Uses `storage` only if the structure has no pattern, which may be large.
static const SparsityPattern &findPattern(StructureAttr structure, int64_t rows, int64_t cols,
                                          SparsityPattern &storage) {
  if (structure.is(StructureKind::CSR))
    return structure.getPattern().getValue();
  storage = structure.computePattern(rows, cols);
  return storage;
}

/// Returns null unless all blocks on the diagonal are diagonal and others are zero.
static StructureAttr joinDiagonals(ArrayRef<int64_t> rowSizes, ArrayRef<int64_t> colSizes,
                                   ArrayRef<StructureAttr> parts) {
  StructureAttr result = parts.front();
  for (auto [i, part] : llvm::enumerate(parts)) {
    bool isOnDiagonal = i / colSizes.size() == i % colSizes.size();
    if (isOnDiagonal ? !part.isDiagonal() : !part.is(StructureKind::Zero))
      return {};
    if (part.is(StructureKind::Diagonal))
      result = part;
  }
  return rowSizes == colSizes ? result : StructureAttr();
}

StructureAttr StructureAttr::getGrid(ArrayRef<int64_t> rowSizes, ArrayRef<int64_t> colSizes,
                                     ArrayRef<StructureAttr> parts) {
  auto areAll = [&](StructureKind kind) {
    return llvm::all_of(parts, [&](StructureAttr part) { return part.is(kind); });
  };
  if (parts.size() == 1 || areAll(StructureKind::Zero) || areAll(StructureKind::Dense))
    return parts.front();
  if (StructureAttr diagonal = joinDiagonals(rowSizes, colSizes, parts))
    return diagonal;
  return getBlocks(rowSizes, colSizes, parts);
}

/// Splits a diagonal; returns a grid unchanged and null for other structures.
static StructureAttr cutSquare(StructureAttr structure, ArrayRef<int64_t> sizes) {
  if (structure.is(StructureKind::Blocks))
    return structure;
  if (!structure.isDiagonal())
    return {};
  SmallVector<StructureAttr> parts(sizes.size() * sizes.size(),
                                   StructureAttr::get(structure.getContext(), StructureKind::Zero));
  for (size_t i = 0; i < sizes.size(); ++i)
    parts[i * sizes.size() + i] = structure;
  return StructureAttr::getBlocks(sizes, sizes, parts);
}

/// Returns null if the blocks do not match.
static StructureAttr multiplyGrids(StructureAttr lhs, StructureAttr rhs) {
  if (!lhs.is(StructureKind::Blocks))
    lhs = cutSquare(lhs, rhs.getRowSizes());
  else
    rhs = cutSquare(rhs, lhs.getColSizes());
  if (!lhs || !rhs || lhs.getColSizes() != rhs.getRowSizes())
    return {};
  ArrayRef<int64_t> rows = lhs.getRowSizes(), inner = lhs.getColSizes(), cols = rhs.getColSizes();
  SmallVector<StructureAttr> parts;
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < cols.size(); ++j) {
      StructureAttr part = StructureAttr::get(lhs.getContext(), StructureKind::Zero);
      for (size_t k = 0; k < inner.size(); ++k)
        part = StructureAttr::sum(part,
                                  StructureAttr::product(lhs.getParts()[i * inner.size() + k],
                                                         rhs.getParts()[k * cols.size() + j],
                                                         rows[i], inner[k], cols[j]),
                                  rows[i], cols[j]);
      parts.push_back(part);
    }
  return StructureAttr::getGrid(rows, cols, parts);
}

static StructureAttr addGrids(StructureAttr lhs, StructureAttr rhs) {
  SmallVector<StructureAttr> parts;
  size_t width = lhs.getColSizes().size();
  for (auto [i, first, second] : llvm::enumerate(lhs.getParts(), rhs.getParts()))
    parts.push_back(StructureAttr::sum(first, second, lhs.getRowSizes()[i / width],
                                       lhs.getColSizes()[i % width]));
  return StructureAttr::getGrid(lhs.getRowSizes(), lhs.getColSizes(), parts);
}

static StructureAttr simplifyBlockDiagonal(int64_t count, StructureAttr block) {
  if (count == 1 || block.is(StructureKind::Zero) || block.isDiagonal())
    return block;
  return StructureAttr::getBlockDiagonal(count, block);
}

/// Zero has no terms.
static SmallVector<StructureAttr> getTerms(StructureAttr structure) {
  if (structure.is(StructureKind::Sum))
    return llvm::to_vector(structure.getParts());
  if (structure.is(StructureKind::Zero))
    return {};
  return {structure};
}

/// Returns true if `structure` is fully described by its pattern.
static bool isPatternOnly(StructureAttr structure) {
  return structure.isDiagonal() || structure.getKind() >= StructureKind::CSR;
}

/// Returns null if both terms must be kept.
static StructureAttr mergeTerms(StructureAttr lhs, StructureAttr rhs, int64_t rows, int64_t cols) {
  MLIRContext *context = lhs.getContext();
  if (lhs.is(StructureKind::Dense) || rhs.is(StructureKind::Dense))
    return StructureAttr::get(context, StructureKind::Dense);
  if (lhs.is(StructureKind::SharedDense) && rhs.is(StructureKind::SharedDense))
    return lhs;
  if (lhs.is(StructureKind::Blocks) && rhs.is(StructureKind::Blocks) &&
      lhs.getRowSizes() == rhs.getRowSizes() && lhs.getColSizes() == rhs.getColSizes())
    return addGrids(lhs, rhs);
  if (lhs.is(StructureKind::BlockDiagonal) && rhs.is(StructureKind::BlockDiagonal) &&
      lhs.getCount() == rhs.getCount())
    return simplifyBlockDiagonal(lhs.getCount(),
                                 StructureAttr::sum(lhs.getParts().front(), rhs.getParts().front(),
                                                    rows / lhs.getCount(), cols / lhs.getCount()));
  if (isPatternOnly(lhs) && isPatternOnly(rhs))
    return StructureAttr::fromPattern(
        context, lhs.computePattern(rows, cols).unite(rhs.computePattern(rows, cols)));
  // A scaled or shared matrix covers every element. Its structure is worth keeping only in a sum
  // with a diagonal, as in the gates of a recurrent cell.
  if ((isPatternOnly(lhs) && !lhs.isDiagonal()) || (isPatternOnly(rhs) && !rhs.isDiagonal()))
    return StructureAttr::get(context, StructureKind::Dense);
  return {};
}

StructureAttr StructureAttr::sum(StructureAttr lhs, StructureAttr rhs, int64_t rows, int64_t cols) {
  SmallVector<StructureAttr> terms = getTerms(lhs);
  for (StructureAttr term : getTerms(rhs)) {
    for (size_t i = 0; i < terms.size();) {
      StructureAttr merged = mergeTerms(terms[i], term, rows, cols);
      if (merged) {
        term = merged;
        terms.erase(terms.begin() + i);
        i = 0;
      } else {
        ++i;
      }
    }
    terms.push_back(term);
  }
  if (terms.empty())
    return get(lhs.getContext(), StructureKind::Zero);
  if (terms.size() == 1)
    return terms.front();
  if (terms.size() > kMaxTerms)
    return get(lhs.getContext(), StructureKind::Dense);
  return get(lhs.getContext(), StructureKind::Sum, 0, {}, {}, {}, terms);
}

StructureAttr StructureAttr::simplify(int64_t rows, int64_t cols) const {
  switch (getKind()) {
  case StructureKind::CSR:
    if (std::optional<StructureKind> kind = getPlainKind(getPattern().getValue()))
      return get(getContext(), *kind);
    return *this;
  case StructureKind::BlockDiagonal:
    return simplifyBlockDiagonal(getCount(),
                                 getParts().front().simplify(rows / getCount(), cols / getCount()));
  case StructureKind::Blocks: {
    SmallVector<StructureAttr> parts;
    size_t width = getColSizes().size();
    for (auto [i, part] : llvm::enumerate(getParts()))
      parts.push_back(part.simplify(getRowSizes()[i / width], getColSizes()[i % width]));
    return getGrid(getRowSizes(), getColSizes(), parts);
  }
  case StructureKind::Sum: {
    StructureAttr result = get(getContext(), StructureKind::Zero);
    for (StructureAttr part : getParts())
      result = sum(result, part.simplify(rows, cols), rows, cols);
    return result;
  }
  default:
    return *this;
  }
}

static bool isTrivialFactor(StructureAttr structure) {
  return structure.is(StructureKind::Zero) || structure.is(StructureKind::Identity);
}

StructureAttr StructureAttr::product(StructureAttr lhs, StructureAttr rhs, int64_t rows,
                                     int64_t inner, int64_t cols) {
  MLIRContext *context = lhs.getContext();
  if (isPlain(lhs) && isPlain(rhs))
    return get(context, getPlainProduct(lhs.getKind(), rhs.getKind()));
  for (auto [factor, other] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
    if (isTrivialFactor(factor))
      return factor.is(StructureKind::Zero) ? factor : other;
  if (lhs.is(StructureKind::Sum) || rhs.is(StructureKind::Sum)) {
    StructureAttr result = get(context, StructureKind::Zero);
    for (StructureAttr left : getTerms(lhs))
      for (StructureAttr right : getTerms(rhs))
        result = sum(result, product(left, right, rows, inner, cols), rows, cols);
    return result;
  }
  if (lhs.is(StructureKind::Blocks) || rhs.is(StructureKind::Blocks))
    if (StructureAttr grid = multiplyGrids(lhs, rhs))
      return grid;
  if (lhs.is(StructureKind::BlockDiagonal) && rhs.is(StructureKind::BlockDiagonal) &&
      lhs.getCount() == rhs.getCount())
    return simplifyBlockDiagonal(lhs.getCount(),
                                 product(lhs.getParts().front(), rhs.getParts().front(),
                                         rows / lhs.getCount(), inner / lhs.getCount(),
                                         cols / lhs.getCount()));
  // Scaling preserves zeros but not the equality of repeated blocks.
  for (auto [factor, other] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
    if (factor.is(StructureKind::Diagonal))
      return other.is(StructureKind::CSR) ? other.simplify(rows, cols)
                                          : fromPattern(context, other.computePattern(rows, cols));
  SparsityPattern lhsStorage, rhsStorage;
  return fromPattern(context, multiply(findPattern(lhs, rows, inner, lhsStorage),
                                       findPattern(rhs, inner, cols, rhsStorage))
                                  .pattern);
}
