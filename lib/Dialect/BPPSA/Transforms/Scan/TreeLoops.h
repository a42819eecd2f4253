//===- TreeLoops.h - the levels of a tree as loops --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_TREELOOPS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_TREELOOPS_H

#include "FactoredLinks.h"
#include "ScanLoops.h"

namespace bppsa {

/// Emits the levels of a tree over the rows `rows`. The vector of element k lies where the step of
/// link k does, so that the vectors of links are a sequence at the end, and a prefix where the link
/// that it enters does.
class TreeLoops : public IndexEmitter {
public:
  /// `links` makes the matrices of links of their factors; without it they are applied to columns.
  TreeLoops(const ChainArrays &arrays, IndexRange rows, const FactoredLinks *links,
            bool wholeLevels);

  void beginSweep(Sweep) {}
  void inParallel(mlir::Value lower, mlir::Value upper, llvm::function_ref<void(mlir::Value)> body);
  void inOrder(mlir::Value lower, mlir::Value upper, mlir::Value step,
               llvm::function_ref<void(mlir::Value)> body);
  using Pair = ScanPair<mlir::Value>;
  void inPairs(mlir::Value count, llvm::function_ref<Pair(mlir::Value)> getPair,
               llvm::function_ref<void(Pair)> first, llvm::function_ref<void(Pair)> others);
  void linearize(mlir::Value link);
  void compose(mlir::Value left, mlir::Value right);
  void extend(mlir::Value left, mlir::Value right, mlir::Value entered);
  /// Prefixes are where they enter.
  void enter(mlir::Value, mlir::Value) {}
  void apply(mlir::Value matrix, mlir::Value to);
  void pushDown(mlir::Value left, mlir::Value right);

  /// The cotangents that enter the links, a sequence for each state.
  llvm::SmallVector<mlir::Value> getEntering();
  /// The cotangents that enter the last link, for each state.
  llvm::SmallVector<mlir::Value> getLastEntering();
  /// The step of `link`.
  mlir::Value getStep(mlir::Value link);

private:
  /// An array of the tree, and a window of it that an operation writes.
  struct Write {
    mlir::Value value;
    bool isMatrix;
    mlir::Value element;
  };

  ArrayWindow getWindow(bool isMatrix, mlir::Value element,
                        std::optional<IndexRange> elements = std::nullopt);
  mlir::Value getElement(bool isMatrix, mlir::Value element) {
    return arrays.extract(isMatrix ? matrices : vectors, getWindow(isMatrix, element));
  }
  /// A loop over rows, for several states.
  void insertSeedsInParallel();
  void setElement(Write write);
  mlir::Value createApply(mlir::Value matrix, mlir::Value cotangent, mlir::Value into);
  /// Emits `body` into `block`; what it writes.
  llvm::SmallVector<Write> emitBranch(mlir::Block *block, llvm::function_ref<void()> body);
  /// Writes what the branch that is taken does, and elements that it does not write as they are.
  void emitEither(mlir::Value isFirst, llvm::function_ref<void()> first,
                  llvm::function_ref<void()> others);

  const FactoredLinks *links;
  bool wholeLevels;
  IndexRange rows;
  /// Of the arrays of the tree, which hold these rows alone.
  IndexRange ownRows;
  mlir::Value matrices, vectors;
  /// What an iteration of a parallel loop writes; nothing outside of one.
  std::optional<llvm::SmallVector<Write>> written;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_TREELOOPS_H
