//===- StepTiles.h - steps of a body as tiles of a block --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A block evaluates a body for one sample: a value of N rows is a tile of N elements.
// What products read as a whole, threads share or fetch. Rows of captured matrices are
// tiles too, in registers for all steps where they fit: then several threads may share a
// row, each with a part of its columns, and what they have added up they all have.
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
  /// Plans `body`, the last arguments of which stand for `captures`, for a block of `mapping`.
  /// Fails, after a diagnostic, where it has no row-wise evaluation.
  static llvm::FailureOr<StepTiles> create(mlir::Block &body, mlir::ValueRange captures,
                                           GPUMappingAttr mapping);

  /// Threads that a block needs, and those that share a row.
  int64_t getNumThreads() const { return numThreads; }
  int64_t getNumParts() const { return parts; }
  /// Leaves so many registers of a thread to others.
  void reserveRegisters(int64_t count) { numReserved = count; }

  /// Makes tiles of the captures, before the first step. `captures` are their arrays in the kernel.
  void begin(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange captures);
  /// Loads `array[row]` for each of so many rows.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, const Place &array,
                   int64_t rows) const;
  /// Stores a tile to `array[row]`.
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tile,
             const Place &array) const;

  /// What an argument that is no capture is in the next step: a tile that the loop over steps
  /// carries, or a vector in memory.
  void setTile(unsigned argument, mlir::Value tile);
  void setVector(unsigned argument, Place vector);
  /// Emits a step. Each value that the body yields is given to `yield(value, tile)` when it is
  /// made. Where it reads vectors before it multiplies them, `readMore(left)` may read as many
  /// elements as registers are left for.
  using Yield = llvm::function_ref<void(mlir::Value value, mlir::Value tile)>;
  using ReadMore = llvm::function_ref<void(mlir::OpBuilder &, int64_t left)>;
  void emitStep(mlir::OpBuilder &builder, mlir::Location loc, Yield yield,
                ReadMore readMore = nullptr);

  /// Runs a body for each of so many rows, by all threads that share it.
  mlir::Value
  forEachRow(mlir::OpBuilder &builder, mlir::Location loc, int64_t rows, mlir::Type element,
             llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row)> body) const;
  using PartBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::Value row, mlir::Value part, mlir::ValueRange elements)>;
  /// Runs a body for each thread of each of so many rows: `[rows, parts]`, or `[rows]` with one
  /// part.
  llvm::SmallVector<mlir::Value> forEachPart(mlir::OpBuilder &builder, mlir::Location loc,
                                             int64_t rows, mlir::ValueRange tiles,
                                             mlir::TypeRange elements, PartBody body) const;

private:
  StepTiles(BodyPlan plan, mlir::Block &body, GPUMappingAttr mapping, size_t numCaptures);

  RowProduct getRowProduct(MatVecOp product) const;
  void loadMatrixRows(mlir::OpBuilder &builder, MatVecOp product);
  int64_t countAhead() const;
  /// Returns for how many elements more registers are left, none where it reads nothing.
  std::optional<int64_t> loadAhead(mlir::OpBuilder &builder, const RowUnit &unit);
  mlir::Value emitProductSum(mlir::OpBuilder &builder, mlir::Location loc, const ProductSum &sum,
                             int64_t rows);
  /// Adds a thread's part of a product to partial sums; `own` begins with its entries and, where
  /// they are read ahead, elements of the vector. Returns how many of `own` these are.
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
  /// Where any thread may read any row of `value`.
  Place getVector(mlir::OpBuilder &builder, mlir::Value value);

  int64_t parts, numThreads, numReserved = 0;
  bool inRegisters;

  // Of the kernel that is emitted.
  /// The part of a matrix row that each product multiplies, a tile of vectors.
  llvm::DenseMap<mlir::Operation *, mlir::Value> matrixRows;
  // Of the step.
  llvm::DenseMap<mlir::Value, Place> vectors;
  /// The elements of vectors that threads multiply, as far as they are read ahead: tiles of
  /// vectors.
  llvm::DenseMap<mlir::Value, mlir::Value> factors;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_STEPTILES_H
