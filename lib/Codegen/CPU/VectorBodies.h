//===- VectorBodies.h - vectorize bodies of linalg.generic ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_VECTORBODIES_H
#define BPPSA_LIB_CODEGEN_CPU_VECTORBODIES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include <optional>

namespace bppsa {

/// Returns the f32 elements per vector on a target with `registers` vector registers.
inline int64_t getLanes(int64_t registers) { return registers < 32 ? 8 : 16; }

/// The last operation of a reduction's body, which combines the running result with the term.
struct Join {
  mlir::Operation *op;
  mlir::Value term;
  mlir::vector::CombiningKind kind;
};

/// Returns the join of `op`, or nothing if its body does not end with a sum or a maximum.
std::optional<Join> getJoin(mlir::linalg::GenericOp op);

bool followsLoop(mlir::linalg::GenericOp op, mlir::OpOperand &operand, unsigned loop);

/// Returns true if elements of `operand` along `loop` are contiguous in memory. The map of
/// `operand` must end with a loop.
bool isContiguousAlong(mlir::linalg::GenericOp op, mlir::OpOperand &operand, unsigned loop);

bool hasElementwiseBody(mlir::linalg::GenericOp op);

mlir::Value spread(mlir::OpBuilder &builder, mlir::Value value, int64_t lanes);

/// Clones `inner`, on vectors of `lanes` elements if `mapping` has a vector for an operand.
void cloneOnVectors(mlir::OpBuilder &builder, mlir::Operation &inner, int64_t lanes,
                    mlir::IRMapping &mapping);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_VECTORBODIES_H
