//===- CarryLoop.h - loops that carry a cotangent ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_CARRYLOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_CARRYLOOP_H

#include "DeviceMaps.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace bppsa {

/// A loop over i in a kernel that applies transition i to cotangent i of one row. The loop carries
/// the cotangent as a tile that the block shares. Transitions are fetched ahead if two fit into
/// shared memory.
class CarryLoop {
public:
  /// Returns nullopt if `op`, in `kernel`, is a different loop.
  static std::optional<CarryLoop> match(bgpu::KernelOp kernel, mlir::scf::ForOp op);

  void convert();

private:
  CarryLoop(bgpu::KernelOp kernel, mlir::scf::ForOp op, ApplyTransitionOp apply);
  Place getCotangent(mlir::OpBuilder &builder, mlir::Value index) const;
  /// Emits the product of transition `index` and `cotangent`, which is the next cotangent.
  mlir::Value emitStep(mlir::OpBuilder &builder, mlir::Value index, mlir::Value cotangent) const;
  mlir::Value emitFetchedStep(mlir::OpBuilder &builder, mlir::Value index,
                              mlir::Value cotangent) const;

  bgpu::KernelOp kernel;
  mlir::scf::ForOp op;
  mlir::Location loc;
  AffineMapLayout layout;
  mlir::Type element;
  /// All transitions, the same array as vectors `[i, row, entry]`, all cotangents, and the row of
  /// the block.
  mlir::Value transitions, vectors, cotangents, row;
  /// The number of stages for reading transitions ahead; 0 if they are read directly from device
  /// memory.
  int64_t stages;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_CARRYLOOP_H
