//===- CarryLoop.h - a cotangent is carried across runs ---------*- C++ -*-===//
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

/// A loop over i from 0 on that applies transition i to cotangent i, which gives cotangent i + 1,
/// for one row, in a kernel. The cotangent is a tile that the loop carries, which a block shares in
/// each iteration. Transitions are fetched ahead where shared memory holds two.
class CarryLoop {
public:
  /// None where `op`, in `kernel`, is another loop.
  static std::optional<CarryLoop> match(bgpu::KernelOp kernel, mlir::scf::ForOp op);

  /// Replaces the loop.
  void convert();

private:
  CarryLoop(bgpu::KernelOp kernel, mlir::scf::ForOp op, ApplyTransitionOp apply);
  /// Cotangent `index` in device memory.
  Place getCotangent(mlir::OpBuilder &builder, mlir::Value index) const;
  /// The next cotangent from `cotangent`, transition `index` times it.
  mlir::Value emitStep(mlir::OpBuilder &builder, mlir::Value index, mlir::Value cotangent) const;
  mlir::Value emitFetchedStep(mlir::OpBuilder &builder, mlir::Value index,
                              mlir::Value cotangent) const;

  bgpu::KernelOp kernel;
  mlir::scf::ForOp op;
  mlir::Location loc;
  AffineMapLayout layout;
  mlir::Type element;
  /// The arrays of all transitions, of them as vectors `[i, row, entry]`, and of all cotangents;
  /// and the row of the block.
  mlir::Value transitions, vectors, cotangents, row;
  /// Transitions that are copied ahead; 0 where they are read where they are.
  int64_t stages;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_CARRYLOOP_H
