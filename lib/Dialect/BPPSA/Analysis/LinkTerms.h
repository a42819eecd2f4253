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

/// The diagonal matrix of a vector; one where it has no value and is known.
struct TermScale {
  /// Among the values that `LinkTerms` builds.
  mlir::Value value;
  bool isUnknown = false;

  bool isOne() const { return !value && !isUnknown; }
  bool operator==(const TermScale &other) const {
    return value == other.value && !isUnknown && !other.isUnknown;
  }
};

/// `diag(left) M diag(right)`, or minus that: a term of the derivative of a value with respect to
/// state `col`. Without a matrix all scales are in `right`.
struct LinkTerm {
  enum class Matrix {
    /// M is one.
    None,
    Capture,
    /// M is a product of captures.
    Product,
    /// Nothing is known of M.
    Any,
  };

  unsigned col;
  TermScale left, right;
  Matrix kind = Matrix::None;
  /// The capture, an argument of the body.
  mlir::BlockArgument matrix = {};
  bool isTransposed = false;
  bool isNegated = false;

  /// Whether the term can be built from its scales and a capture.
  bool isKnown() const;
  /// The structure of the term, a `rows` x `cols` matrix.
  jacobian::StructureAttr getStructure(mlir::MLIRContext *context, int64_t rows,
                                       int64_t cols) const;
};

/// Follows the values of the body of a time loop that depend on its states, or, in a chain, on its
/// cotangents. What elementwise ops multiply by is asked of `CellOpInterface`.
class LinkTerms {
public:
  /// Walks the body of `loop`, a `bppsa.recurrence` or `bppsa.chain` over vectors. Writes to
  /// `scales`, an empty block, what does not depend on states; its arguments become those of the
  /// body without the states.
  LinkTerms(mlir::Operation *loop, mlir::Block &scales);

  size_t getNumStates() const { return numStates; }
  mlir::BlockArgument getState(unsigned state) { return body.getArgument(firstState + state); }
  bool dependsOnStates(mlir::Value value) const { return terms.contains(value); }
  /// Whether `value`, which depends on states, is the sum of its terms alone.
  bool isLinear(mlir::Value value) const { return !affine.contains(value); }
  /// The terms of `value`; none where it does not depend on states.
  llvm::SmallVector<LinkTerm> lookup(mlir::Value value) const { return terms.lookup(value); }
  /// The structure of the derivative of `value` with respect to state `col`.
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
  /// Values that do not depend on states, among the scales.
  mlir::IRMapping copies;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<LinkTerm>> terms;
  /// Values to which something is added that does not depend on states.
  llvm::DenseSet<mlir::Value> affine;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_ANALYSIS_LINKTERMS_H
