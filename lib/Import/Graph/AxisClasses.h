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

enum class AxisRole { Unknown, Batch, Time };

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

/// Equivalence classes of tensor axes. Negative axes are unknown and ignored.
class AxisClasses {
public:
  int add(unsigned facts = 0);
  int find(int axis) const;
  void unite(int a, int b);

  void setRole(int axis, AxisRole role);
  AxisRole getRole(int axis) const;
  bool hasRoles() const { return !roles.empty(); }
  void addLoopAxis(int axis);
  /// Returns whether the class carries time steps: those of recurrent layers or, without any, of a
  /// Scan or Loop.
  bool carriesSteps(int axis) const;

  void mark(int axis, AxisFact fact);
  unsigned getFacts(int axis) const;

  /// Records that one tensor has all of `axes`.
  void addTensor(mlir::ArrayRef<int> axes);
  /// Returns whether some tensor has an axis of each class (two axes if the classes are the same).
  bool meet(int a, int b) const;

private:
  llvm::SmallVector<int> parents;
  /// Indexed by axis; valid for class representatives.
  llvm::SmallVector<unsigned> facts;
  llvm::SmallVector<std::pair<int, AxisRole>> roles;
  int loopAxis = -1;
  llvm::DenseSet<std::pair<int, int>> pairs;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_AXISCLASSES_H
