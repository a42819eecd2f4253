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

/// Emits the levels of a tree over `rows`. The vector of element k is in the slot of the step of
/// link k, so vectors form a sequence after the scan; prefixes are in the slot they enter.
class TreeLoops : public IndexEmitter {
public:
  /// If `links` is null, links are applied to columns.
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
  /// Prefixes are already in place.
  void enter(mlir::Value, mlir::Value) {}
  void apply(mlir::Value matrix, mlir::Value to);
  void pushDown(mlir::Value left, mlir::Value right);

  /// Returns a sequence for each state.
  llvm::SmallVector<mlir::Value> getEntering();
  llvm::SmallVector<mlir::Value> getLastEntering();
  mlir::Value getStep(mlir::Value link);

private:
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
  /// Rows of the tree's arrays, which hold only `rows`.
  IndexRange ownRows;
  mlir::Value matrices, vectors;
  /// Writes of the current parallel iteration; nullopt outside of one.
  std::optional<llvm::SmallVector<Write>> written;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_TREELOOPS_H
