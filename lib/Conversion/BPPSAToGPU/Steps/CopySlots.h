//===- CopySlots.h - a ring that copies fill ahead --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_COPYSLOTS_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_COPYSLOTS_H

#include "../../GPULaunches/Launch.h"

namespace bppsa {

/// The slots of a ring in shared memory, which asynchronous copies fill some positions before they
/// are read. The copies of a position are a group. Every thread waits for its own copies alone.
class CopySlots {
public:
  /// With `count` slots, a power of two.
  CopySlots(mlir::Location loc, int64_t count) : loc(loc), count(count) {}

  int64_t getCount() const { return count; }
  /// How many positions after the one that is read copies may be under way to.
  int64_t getAhead() const { return count - 1; }
  mlir::Value getSlot(mlir::OpBuilder &builder, mlir::Value position) const;

  /// Ends the group of a position: one has to be ended for each, in order.
  void endGroup(mlir::OpBuilder &builder);
  /// Waits for the position after the one that is read, where the farthest one has been asked for.
  void waitForNext(mlir::OpBuilder &builder) const;
  /// Waits for all copies.
  void waitForAll(mlir::OpBuilder &builder);

private:
  void wait(mlir::OpBuilder &builder, int64_t groupsUnderWay) const;

  mlir::Location loc;
  int64_t count;
  /// Of the last group. It only orders operations.
  mlir::Value token;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_COPYSLOTS_H
