//===- StepTiles.h - body steps as tiles of a block -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A block evaluates a body for one sample: N rows are a tile of N elements. Matrix rows stay in
// registers if they fit; several threads may share a row, each with some columns.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPTILES_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPTILES_H

#include "../../../Codegen/GPU/RowProduct.h"
#include "RowTiles.h"
#include <optional>

namespace bppsa {

class StepTiles : private RowTiles {
public:
  /// Plans `body`, whose last arguments are `captures`. Fails with a diagnostic if it is not
  /// row-wise.
  static llvm::FailureOr<StepTiles> create(mlir::Block &body, mlir::ValueRange captures,
                                           GPUMappingAttr mapping);

  /// Threads of a block, and threads that share a row.
  int64_t getNumThreads() const { return numThreads; }
  int64_t getNumParts() const { return parts; }
  void reserveRegisters(int64_t count) { numReserved = count; }

  /// Called before the first step; `captures` are arrays in the kernel.
  void begin(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange captures);
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, const Place &array,
                   int64_t rows) const;
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tile,
             const Place &array) const;

  /// Sets an argument of the next step: a carried tile, or a vector in memory.
  void setTile(unsigned argument, mlir::Value tile);
  void setVector(unsigned argument, Place vector);
  /// Yields each value as soon as it is available. `readMore(left)` may read as many elements as
  /// registers are left.
  using Yield = llvm::function_ref<void(mlir::Value value, mlir::Value tile)>;
  using ReadMore = llvm::function_ref<void(mlir::OpBuilder &, int64_t left)>;
  void emitStep(mlir::OpBuilder &builder, mlir::Location loc, Yield yield,
                ReadMore readMore = nullptr);

  mlir::Value
  forEachRow(mlir::OpBuilder &builder, mlir::Location loc, int64_t rows, mlir::Type element,
             llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row)> body) const;
  using PartBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::Value row, mlir::Value part, mlir::ValueRange elements)>;
  /// Tiles are `[rows, parts]`, or `[rows]` with one part.
  llvm::SmallVector<mlir::Value> forEachPart(mlir::OpBuilder &builder, mlir::Location loc,
                                             int64_t rows, mlir::ValueRange tiles,
                                             mlir::TypeRange elements, PartBody body) const;

private:
  StepTiles(BodyPlan plan, mlir::Block &body, GPUMappingAttr mapping, size_t numCaptures);

  RowProduct getRowProduct(MatVecOp product) const;
  void loadMatrixRows(mlir::OpBuilder &builder, MatVecOp product);
  int64_t countAhead() const;
  /// Returns the registers left, or nullopt if nothing is read ahead.
  std::optional<int64_t> loadAhead(mlir::OpBuilder &builder, const RowUnit &unit);
  mlir::Value emitProductSum(mlir::OpBuilder &builder, mlir::Location loc, const ProductSum &sum,
                             int64_t rows);
  /// Adds the thread's part of a product. `own` begins with matrix entries and, if read ahead,
  /// vector elements. Returns how many are consumed.
  size_t addProduct(mlir::OpBuilder &builder, MatVecOp product, const Place &vector,
                    mlir::Value row, mlir::Value part, mlir::ValueRange own,
                    llvm::MutableArrayRef<mlir::Value> partials) const;
  llvm::SmallVector<mlir::Value> forEachPosition(mlir::OpBuilder &builder, mlir::Location loc,
                                                 int64_t rows, mlir::ValueRange ofPositions,
                                                 mlir::TypeRange elements,
                                                 RowBody rowBody) const override;
  mlir::RankedTensorType getTileType(mlir::Value value) const override;
  mlir::Value loadArgument(mlir::OpBuilder &builder, mlir::BlockArgument argument) override;
  ReadRow shareRows(mlir::OpBuilder &builder, mlir::Value value) override;
  /// Returns a place from which any thread may read any row.
  Place getVector(mlir::OpBuilder &builder, mlir::Value value);

  int64_t parts, numThreads, numReserved = 0;
  bool inRegisters;

  /// Tiles with each thread's part of a matrix row, by product.
  llvm::DenseMap<mlir::Operation *, mlir::Value> matrixRows;
  llvm::DenseMap<mlir::Value, Place> vectors;
  llvm::DenseMap<mlir::Value, mlir::Value> factors;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPTILES_H
