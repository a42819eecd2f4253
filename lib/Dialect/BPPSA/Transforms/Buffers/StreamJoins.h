//===- StreamJoins.h - joins of the GPU sub stream --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_STREAMJOINS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_STREAMJOINS_H

#include "mlir/IR/Operation.h"

namespace bppsa {

/// Sub-stream launches of a block, and the operations after which the main stream has waited for
/// them.
class StreamJoins {
public:
  explicit StreamJoins(mlir::Block &block);

  bool isOfSubStream(mlir::Operation *op) const { return joins.contains(op); }
  /// Returns the operation after which the main stream has waited for `op`, or the terminator.
  /// Returns `op` itself if it runs on the main stream.
  mlir::Operation *getJoin(mlir::Operation *op) const {
    auto found = joins.find(op);
    return found == joins.end() ? op : found->second;
  }

private:
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> joins;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_STREAMJOINS_H
