//===- VectorBodies.h - bodies of linalg.generic on vectors -----*- C++ -*-===//
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

/// Elements of f32 that a vector has on a target with so many registers for vectors.
inline int64_t getLanes(int64_t registers) { return registers < 32 ? 8 : 16; }

/// How a reduction with one result joins a term with it: the operation, the last one of the body,
/// the term, and the kind of the operation.
struct Join {
  mlir::Operation *op;
  mlir::Value term;
  mlir::vector::CombiningKind kind;
};

/// The join of `op`; nothing where its body does not end with a sum or a maximum.
std::optional<Join> getJoin(mlir::linalg::GenericOp op);

/// Whether `operand` has different elements along `loop`.
bool followsLoop(mlir::linalg::GenericOp op, mlir::OpOperand &operand, unsigned loop);

/// Whether neighbours along `loop` are neighbours in the memory of `operand`, whose map ends with a
/// loop.
bool isContiguousAlong(mlir::linalg::GenericOp op, mlir::OpOperand &operand, unsigned loop);

/// Whether each operation of the body computes with vectors as it does with numbers.
bool hasElementwiseBody(mlir::linalg::GenericOp op);

/// `value`, a number or a vector of `lanes` elements, as a vector.
mlir::Value spread(mlir::OpBuilder &builder, mlir::Value value, int64_t lanes);

/// Clones `inner`, an operation of a body: on vectors of `lanes` elements where `mapping` has
/// a vector for one of its operands.
void cloneOnVectors(mlir::OpBuilder &builder, mlir::Operation &inner, int64_t lanes,
                    mlir::IRMapping &mapping);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_VECTORBODIES_H
