//===- TreeLoops.h - levels of a tree as loops ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_TREELOOPS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_TREELOOPS_H

#include "FactoredLinks.h"
#include "ScanLoops.h"

namespace bppsa {

/// Emits the levels of a tree over `rows`. The vector of element k is stored in the slot of the
/// time step of link k, so that the vectors form a sequence after the scan. A prefix is stored in
/// the slot of the link that it enters.
class TreeLoops : public IndexEmitter {
public:
  /// `links` builds the matrices of links from their factors. If it is null, links are applied to
  /// columns.
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
  /// Prefixes are already stored in the slot of the link that they enter.
  void enter(mlir::Value, mlir::Value) {}
  void apply(mlir::Value matrix, mlir::Value to);
  void pushDown(mlir::Value left, mlir::Value right);

  /// Returns the cotangents that enter the links, a sequence for each state.
  llvm::SmallVector<mlir::Value> getEntering();
  /// Returns the cotangents that enter the last link, for each state.
  llvm::SmallVector<mlir::Value> getLastEntering();
  mlir::Value getStep(mlir::Value link);

private:
  /// A value that an operation writes to an element of the tree.
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
  /// Inserts the seeds of several states in a loop over rows.
  void insertSeedsInParallel();
  void setElement(Write write);
  mlir::Value createApply(mlir::Value matrix, mlir::Value cotangent, mlir::Value into);
  llvm::SmallVector<Write> emitBranch(mlir::Block *block, llvm::function_ref<void()> body);
  /// Emits an if with the branches `first` and `others`. A branch keeps the elements that only the
  /// other branch writes.
  void emitIfElse(mlir::Value isFirst, llvm::function_ref<void()> first,
                  llvm::function_ref<void()> others);

  const FactoredLinks *links;
  bool wholeLevels;
  IndexRange rows;
  /// The rows of the arrays of the tree, which hold only `rows`.
  IndexRange ownRows;
  mlir::Value matrices, vectors;
  /// The writes of the current iteration of a parallel loop; nullopt outside such a loop.
  std::optional<llvm::SmallVector<Write>> written;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_TREELOOPS_H
