//===- AxisClasses.h - axes that are the same by data flow ------*- C++ -*-===//
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

/// What an axis of a graph input or output carries.
enum class AxisRole { Unknown, Batch, Time };

/// What the graph does to the axes of a class, as bits.
enum AxisFact : unsigned {
  /// A parameter or a constant has values of its own for the positions.
  Pinned = 1,
  /// Some positions are picked, joined with others, padded or seen through a window.
  Cut = 2,
  /// A result depends on several positions.
  Mixed = 4,
  /// It is a part of what was one axis.
  Split = 8
};

/// Classes of axes of tensors. An axis is a number; negative ones stand for axes
/// of which nothing is known, and are ignored.
class AxisClasses {
public:
  /// A new axis in a class of its own.
  int add(unsigned facts = 0);
  /// The axis that stands for the class of `axis`.
  int find(int axis) const;
  /// Makes two classes one.
  void unite(int a, int b);

  void setRole(int axis, AxisRole role);
  /// The first role that an axis of the class was given.
  AxisRole getRole(int axis) const;
  bool hasRoles() const { return !roles.empty(); }
  /// Says that a Scan or Loop goes along `axis`. Of several the first one counts.
  void addLoopAxis(int axis);
  /// Whether the class of `axis` carries steps: those of recurrent layers or, in graphs without
  /// such layers, of a Scan or Loop.
  bool carriesSteps(int axis) const;

  void mark(int axis, AxisFact fact);
  /// The facts of the class of `axis`.
  unsigned getFacts(int axis) const;

  /// Says that one tensor has all of `axes`.
  void addTensor(mlir::ArrayRef<int> axes);
  /// Whether some tensor has an axis of each class; with `a` and `b` of one class, whether it
  /// has two of it.
  bool meet(int a, int b) const;

private:
  llvm::SmallVector<int> parents;
  /// Of each axis that stands for a class.
  llvm::SmallVector<unsigned> facts;
  llvm::SmallVector<std::pair<int, AxisRole>> roles;
  int loopAxis = -1;
  /// Pairs of axes of one tensor, as they were found.
  llvm::DenseSet<std::pair<int, int>> pairs;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_AXISCLASSES_H
