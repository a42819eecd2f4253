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

/// A loop that applies transition i to cotangent i of one row. The block shares the cotangent and
/// fetches transitions ahead if two fit into shared memory.
class CarryLoop {
public:
  /// Returns nullopt if `op` is another loop.
  static std::optional<CarryLoop> match(bgpu::KernelOp kernel, mlir::scf::ForOp op);

  void convert();

private:
  CarryLoop(bgpu::KernelOp kernel, mlir::scf::ForOp op, ApplyTransitionOp apply);
  Place getCotangent(mlir::OpBuilder &builder, mlir::Value index) const;
  /// Returns the next cotangent.
  mlir::Value emitStep(mlir::OpBuilder &builder, mlir::Value index, mlir::Value cotangent) const;
  mlir::Value emitFetchedStep(mlir::OpBuilder &builder, mlir::Value index,
                              mlir::Value cotangent) const;

  bgpu::KernelOp kernel;
  mlir::scf::ForOp op;
  mlir::Location loc;
  AffineMapLayout layout;
  mlir::Type element;
  /// Transitions, also as vectors `[i, row, entry]`; cotangents; the row of the block.
  mlir::Value transitions, vectors, cotangents, row;
  /// 0 if transitions are read directly from device memory.
  int64_t stages;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_CARRYLOOP_H
