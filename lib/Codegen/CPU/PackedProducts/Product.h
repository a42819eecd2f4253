//===- Product.h - sums of products as matrix products ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PRODUCT_H
#define BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PRODUCT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {

/// Loops that form one dimension of a matrix product, the slowest first.
struct LoopGroup {
  llvm::SmallVector<unsigned> loops;
  /// Number of loops, at the end, that share a dimension of the result with another loop, as in a
  /// window.
  unsigned numShared = 0;
};

/// `result[rows, lanes] += rowFactor[rows, terms] * laneFactor[terms, lanes]`, for each iteration
/// of `batch`. All offsets in memory are linear functions of the loops. Operands are numbered lhs,
/// rhs, result.
struct Product {
  static constexpr unsigned result = 2;

  mlir::linalg::GenericOp generic;
  unsigned rowFactor, laneFactor;
  LoopGroup batch, rows, lanes, terms;
  /// Trip counts, and the elements by which an iteration moves an operand:
  /// `moves[operand][loop][dimension]`. The last "loop" holds the start of the operand.
  llvm::SmallVector<int64_t> sizes;
  std::array<llvm::SmallVector<llvm::SmallVector<int64_t>>, 3> moves;

  std::optional<int64_t> getStride(unsigned operand, unsigned loop) const;
  /// Returns the iterations of the last loops of `group` that are contiguous in `operand`.
  int64_t getRun(unsigned operand, const LoopGroup &group) const;
  /// Returns the iterations of a group; each unknown size counts as `dynamic`.
  int64_t getSize(const LoopGroup &group, int64_t dynamic) const;
  /// Returns the iterations of the loops of a group that share dimensions of the result, if known.
  std::optional<int64_t> getSharedSize(const LoopGroup &group) const;
};

/// Analyzes `op` with the loops of operand `laneFactor` as lanes.
std::optional<Product> findProduct(mlir::linalg::GenericOp op, unsigned laneFactor);

/// Register tile of the result, and maximum sizes of packed blocks.
struct TileShape {
  static constexpr int64_t vectorLanes = 16;
  static constexpr int64_t maxRows = 256, maxTerms = 256, minLanes = 512;
  /// Terms per cache line.
  static constexpr int64_t termRun = 16;

  int64_t rows, lanes;

  /// Returns the tile for a number of vector registers with 16 lanes: accumulators, the vectors of
  /// one term and a broadcast.
  static TileShape get(int64_t registers) {
    if (registers >= 32)
      return {8, 2 * vectorLanes};
    return {registers >= 8 ? 6 : 2, vectorLanes};
  }
};

/// Contiguous elements copied at once: along rows or lanes (`steps`), or along terms.
struct CopyChunk {
  int64_t steps = 1, terms = 1;
};

/// A task computes `rows` by `lanes` elements of the result.
struct Blocking {
  TileShape tile;
  int64_t rows, terms;
  /// 0 if it depends on dynamic sizes.
  int64_t lanes;
  /// Minimum rows of a task. Packing the lanes of a task takes as long as multiplying about 24
  /// rows.
  int64_t minRows;
  /// True if blocks of rows write different elements.
  bool areRowsApart;
  bool isParallel;
  /// Requires that each row stores `TileShape::termRun` contiguous terms, followed by those of the
  /// next row.
  bool readsRowsInPlace;
  CopyChunk rowChunk, laneChunk;
  int64_t resultChunk;

  static Blocking get(const Product &product, TileShape tile);
};

void emitProduct(const Product &product, const Blocking &blocking, mlir::OpBuilder &builder);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PRODUCT_H
