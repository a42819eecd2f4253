//===- LinkTerms.h - derivatives of a body as sums of terms -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_ANALYSIS_LINKTERMS_H
#define BPPSA_LIB_DIALECT_BPPSA_ANALYSIS_LINKTERMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

/// Diagonal matrix of a vector; the identity if it is known and has no value.
struct TermScale {
  mlir::Value value;
  bool isUnknown = false;

  bool isOne() const { return !value && !isUnknown; }
  bool operator==(const TermScale &other) const {
    return value == other.value && !isUnknown && !other.isUnknown;
  }
};

/// A term `diag(left) M diag(right)`, or its negation, of the derivative with respect to state
/// `col`. Without M, `right` is the product of all scales.
struct LinkTerm {
  enum class Matrix {
    None,
    Capture,
    Product,
    Any,
  };

  unsigned col;
  TermScale left, right;
  Matrix kind = Matrix::None;
  mlir::BlockArgument matrix = {};
  bool isTransposed = false;
  bool isNegated = false;

  /// True if the term can be built from its scales and a capture.
  bool isKnown() const;
  jacobian::StructureAttr getStructure(mlir::MLIRContext *context, int64_t rows,
                                       int64_t cols) const;
};

/// Terms of the body values of a time loop that depend on its states or cotangents.
class LinkTerms {
public:
  /// Analyzes a recurrence or chain over vectors. Clones operations independent of states into
  /// `scales`, an empty block with the body arguments except states.
  LinkTerms(mlir::Operation *loop, mlir::Block &scales);

  size_t getNumStates() const { return numStates; }
  mlir::BlockArgument getState(unsigned state) { return body.getArgument(firstState + state); }
  bool dependsOnStates(mlir::Value value) const { return terms.contains(value); }
  bool isLinear(mlir::Value value) const { return !affine.contains(value); }
  /// Returns no terms if `value` does not depend on states.
  llvm::SmallVector<LinkTerm> lookup(mlir::Value value) const { return terms.lookup(value); }
  jacobian::StructureAttr getStructure(mlir::Value value, unsigned col);

private:
  void visit(mlir::Operation &op);
  llvm::SmallVector<LinkTerm> getTerms(CellOpInterface cell);
  bool isSummand(CellOpInterface cell, mlir::OpOperand &operand);
  void scaleBySlope(CellOpInterface cell, unsigned operand, LinkTerm &term);
  void multiplyByMatrix(mlir::Operation *op, LinkTerm &term);

  mlir::Block &body;
  size_t firstState, numStates;
  mlir::OpBuilder builder;
  mlir::IRMapping copies;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<LinkTerm>> terms;
  /// Values with a summand independent of states.
  llvm::DenseSet<mlir::Value> affine;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_ANALYSIS_LINKTERMS_H
