//===- StreamJoins.h - when the main stream has waited ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_STREAMJOINS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_STREAMJOINS_H

#include "mlir/IR/Operation.h"

namespace bppsa {

/// The operations of a block that give work to the sub stream, and those behind which that is done
/// for the main stream.
class StreamJoins {
public:
  explicit StreamJoins(mlir::Block &block);

  /// Whether `op`, an operation of the block, gives its work to the sub stream.
  bool isOfSubStream(mlir::Operation *op) const { return joins.contains(op); }
  /// Where the main stream has waited for what `op` gives the sub stream: the terminator where it
  /// does not before; `op` itself where that is of the main stream.
  mlir::Operation *getJoin(mlir::Operation *op) const {
    auto found = joins.find(op);
    return found == joins.end() ? op : found->second;
  }

private:
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> joins;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_BUFFERS_STREAMJOINS_H
