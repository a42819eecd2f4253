//===- StepTiles.h - body steps as tiles of a block -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A block evaluates a body for one sample: a value of N rows is a tile of N elements. Threads share
// or fetch vectors that products read as a whole. Rows of captured matrices are tiles that stay in
// registers for all steps if they fit. Several threads may then share a row, each with a part of
// its columns; all of them receive the sum.
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
  /// Plans `body`, whose last arguments are `captures`, for a block with `mapping`. Fails with a
  /// diagnostic if the body has no row-wise evaluation.
  static llvm::FailureOr<StepTiles> create(mlir::Block &body, mlir::ValueRange captures,
                                           GPUMappingAttr mapping);

  /// The number of threads of a block, and of threads that share a row.
  int64_t getNumThreads() const { return numThreads; }
  int64_t getNumParts() const { return parts; }
  void reserveRegisters(int64_t count) { numReserved = count; }

  /// Creates tiles of the captures before the first step. `captures` are their arrays in the
  /// kernel.
  void begin(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange captures);
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, const Place &array,
                   int64_t rows) const;
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tile,
             const Place &array) const;

  /// Sets an argument other than a capture for the next step: a tile that the time loop carries, or
  /// a vector in memory.
  void setTile(unsigned argument, mlir::Value tile);
  void setVector(unsigned argument, Place vector);
  /// Emits a step. Calls `yield(value, tile)` for each yielded value as soon as it is available.
  /// When vectors are read ahead of the products, `readMore(left)` may read as many elements as
  /// there are registers left.
  using Yield = llvm::function_ref<void(mlir::Value value, mlir::Value tile)>;
  using ReadMore = llvm::function_ref<void(mlir::OpBuilder &, int64_t left)>;
  void emitStep(mlir::OpBuilder &builder, mlir::Location loc, Yield yield,
                ReadMore readMore = nullptr);

  /// Evaluates a body for each row in all threads that share the row.
  mlir::Value
  forEachRow(mlir::OpBuilder &builder, mlir::Location loc, int64_t rows, mlir::Type element,
             llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row)> body) const;
  using PartBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::Value row, mlir::Value part, mlir::ValueRange elements)>;
  /// Evaluates a body for each thread of each row. Tiles are `[rows, parts]`, or `[rows]` with one
  /// part.
  llvm::SmallVector<mlir::Value> forEachPart(mlir::OpBuilder &builder, mlir::Location loc,
                                             int64_t rows, mlir::ValueRange tiles,
                                             mlir::TypeRange elements, PartBody body) const;

private:
  StepTiles(BodyPlan plan, mlir::Block &body, GPUMappingAttr mapping, size_t numCaptures);

  RowProduct getRowProduct(MatVecOp product) const;
  void loadMatrixRows(mlir::OpBuilder &builder, MatVecOp product);
  int64_t countAhead() const;
  /// Reads the vectors of a unit ahead of its products. Returns the number of registers left, or
  /// nullopt if nothing is read.
  std::optional<int64_t> loadAhead(mlir::OpBuilder &builder, const RowUnit &unit);
  mlir::Value emitProductSum(mlir::OpBuilder &builder, mlir::Location loc, const ProductSum &sum,
                             int64_t rows);
  /// Adds the part of a product that a thread computes to partial sums. `own` begins with the
  /// matrix entries of the thread and, if read ahead, its elements of the vector. Returns how many
  /// of `own` are consumed.
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
  /// Returns a location from which any thread may read any row of `value`.
  Place getVector(mlir::OpBuilder &builder, mlir::Value value);

  int64_t parts, numThreads, numReserved = 0;
  bool inRegisters;

  // State of the emitted kernel.
  /// For each product, a tile of vectors with the part of a matrix row that each thread holds.
  llvm::DenseMap<mlir::Operation *, mlir::Value> matrixRows;
  // State of the current step.
  llvm::DenseMap<mlir::Value, Place> vectors;
  /// Vector elements that are read ahead, as tiles of vectors.
  llvm::DenseMap<mlir::Value, mlir::Value> factors;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPTILES_H
