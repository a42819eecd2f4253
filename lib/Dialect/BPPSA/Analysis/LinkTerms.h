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

/// A diagonal matrix given by a vector; the identity if it has no value and is known.
struct TermScale {
  /// One of the values that `LinkTerms` creates.
  mlir::Value value;
  bool isUnknown = false;

  bool isOne() const { return !value && !isUnknown; }
  bool operator==(const TermScale &other) const {
    return value == other.value && !isUnknown && !other.isUnknown;
  }
};

/// A term of the derivative of a value with respect to state `col`: `diag(left) M diag(right)` or
/// its negation. Without a matrix M, `right` holds the product of all scales.
struct LinkTerm {
  enum class Matrix {
    /// M is the identity.
    None,
    Capture,
    /// M is a product of captures.
    Product,
    /// M is unknown.
    Any,
  };

  unsigned col;
  TermScale left, right;
  Matrix kind = Matrix::None;
  /// The captured matrix, an argument of the body.
  mlir::BlockArgument matrix = {};
  bool isTransposed = false;
  bool isNegated = false;

  /// Returns true if the term can be built from its scales and a capture.
  bool isKnown() const;
  /// Returns the structure of the term, a `rows` x `cols` matrix.
  jacobian::StructureAttr getStructure(mlir::MLIRContext *context, int64_t rows,
                                       int64_t cols) const;
};

/// Derives the terms of all values of a time loop body that depend on its states or, in a chain, on
/// its cotangents. `CellOpInterface` provides the slopes of elementwise operations.
class LinkTerms {
public:
  /// Analyzes the body of `loop`, a `bppsa.recurrence` or `bppsa.chain` over vectors. Clones the
  /// operations that do not depend on states into `scales`, an empty block. The arguments of
  /// `scales` become those of the body without the states.
  LinkTerms(mlir::Operation *loop, mlir::Block &scales);

  size_t getNumStates() const { return numStates; }
  mlir::BlockArgument getState(unsigned state) { return body.getArgument(firstState + state); }
  bool dependsOnStates(mlir::Value value) const { return terms.contains(value); }
  /// Returns true if `value`, which depends on states, is exactly the sum of its terms.
  bool isLinear(mlir::Value value) const { return !affine.contains(value); }
  /// Returns the terms of `value`; empty if it does not depend on states.
  llvm::SmallVector<LinkTerm> lookup(mlir::Value value) const { return terms.lookup(value); }
  /// Returns the structure of the derivative of `value` with respect to state `col`.
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
  /// Maps values that do not depend on states to their copies in the scales block.
  mlir::IRMapping copies;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<LinkTerm>> terms;
  /// Values that also contain a summand that does not depend on states.
  llvm::DenseSet<mlir::Value> affine;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_ANALYSIS_LINKTERMS_H
