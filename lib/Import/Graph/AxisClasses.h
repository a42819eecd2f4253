//===- AxisClasses.h - axes that data flow identifies -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_AXISCLASSES_H
#define BPPSA_LIB_IMPORT_GRAPH_AXISCLASSES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace bppsa {

/// The role of an axis of a graph input or output.
enum class AxisRole { Unknown, Batch, Time };

/// Facts about the use of the axes of a class, as bits.
enum AxisFact : unsigned {
  /// A parameter or a constant has different values along the axis.
  Pinned = 1,
  /// Positions are selected, concatenated, padded or read through a window.
  Cut = 2,
  /// A result depends on several positions.
  Mixed = 4,
  /// The axis was split off a larger axis.
  Split = 8
};

/// Equivalence classes of tensor axes. Axes are integers; negative integers stand for unknown axes
/// and are ignored.
class AxisClasses {
public:
  /// Adds an axis in a new class.
  int add(unsigned facts = 0);
  /// Returns the representative of the class of `axis`.
  int find(int axis) const;
  void unite(int a, int b);

  void setRole(int axis, AxisRole role);
  /// Returns the first role that was set for an axis of the class.
  AxisRole getRole(int axis) const;
  bool hasRoles() const { return !roles.empty(); }
  /// Records that a Scan or Loop iterates along `axis`. Only the first call has an effect.
  void addLoopAxis(int axis);
  /// Returns whether the class of `axis` carries time steps: the steps of recurrent layers or, in
  /// graphs without recurrent layers, of a Scan or Loop.
  bool carriesSteps(int axis) const;

  void mark(int axis, AxisFact fact);
  unsigned getFacts(int axis) const;

  /// Records that one tensor has all of `axes`.
  void addTensor(mlir::ArrayRef<int> axes);
  /// Returns whether some tensor has an axis of each class. If `a` and `b` are in one class, the
  /// tensor must have two axes of that class.
  bool meet(int a, int b) const;

private:
  llvm::SmallVector<int> parents;
  /// Indexed by axis; valid for class representatives.
  llvm::SmallVector<unsigned> facts;
  llvm::SmallVector<std::pair<int, AxisRole>> roles;
  int loopAxis = -1;
  /// Pairs of axes of one tensor.
  llvm::DenseSet<std::pair<int, int>> pairs;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_AXISCLASSES_H
