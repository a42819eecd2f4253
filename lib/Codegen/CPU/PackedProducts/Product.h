//===- Product.h - sums of products as matrix products ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PRODUCT_H
#define BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PRODUCT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {

/// Loops that are one dimension of a matrix product together, the slowest first.
struct LoopGroup {
  llvm::SmallVector<unsigned> loops;
  /// How many of them, the last ones, share a dimension of the result with another loop, as those
  /// of a window do: different steps of these may write one element.
  unsigned numShared = 0;
};

/// `result[rows, lanes] += rowFactor[rows, terms] * laneFactor[terms, lanes]`, for each step of
/// `batch`, where every offset in memory is a linear function of the loops. Operands are numbered
/// lhs, rhs, result.
struct Product {
  static constexpr unsigned result = 2;

  mlir::linalg::GenericOp generic;
  unsigned rowFactor, laneFactor;
  LoopGroup batch, rows, lanes, terms;
  /// The steps of each loop, and by how many elements of each dimension a step moves an operand:
  /// `moves[operand][loop][dimension]`; the last "loop" is where the operand begins.
  llvm::SmallVector<int64_t> sizes;
  std::array<llvm::SmallVector<llvm::SmallVector<int64_t>>, 3> moves;

  /// How many elements of `operand` lie from step to step of `loop`, where that is known.
  std::optional<int64_t> getStride(unsigned operand, unsigned loop) const;
  /// How many steps of the last loops of `group` are neighbours in `operand`; 1 where none are.
  int64_t getRun(unsigned operand, const LoopGroup &group) const;
  /// The steps of a group, with `dynamic` for each size that is not known.
  int64_t getSize(const LoopGroup &group, int64_t dynamic) const;
  /// The steps of the loops of a group that share dimensions of the result, where they are known.
  std::optional<int64_t> getSharedSize(const LoopGroup &group) const;
};

/// `op` with the loops of operand `laneFactor` as lanes, or nothing where it is no such product.
std::optional<Product> findProduct(mlir::linalg::GenericOp op, unsigned laneFactor);

/// What a tile of the result has in registers, and the largest blocks that are packed.
struct TileShape {
  static constexpr int64_t vectorLanes = 16;
  static constexpr int64_t maxRows = 256, maxTerms = 256, minLanes = 512;
  /// Terms that fill a line of the cache.
  static constexpr int64_t termRun = 16;

  int64_t rows, lanes;

  /// For so many vector registers of 16 lanes: accumulators, vectors of a step and one broadcast.
  static TileShape get(int64_t registers) {
    if (registers >= 32)
      return {8, 2 * vectorLanes};
    return {registers >= 8 ? 6 : 2, vectorLanes};
  }
};

/// How many neighbours are copied at a time: either steps of rows or lanes, or terms.
struct CopyChunk {
  int64_t steps = 1, terms = 1;
};

/// How one product is cut: a task has `rows` by `lanes` of the result.
struct Blocking {
  TileShape tile;
  int64_t rows, terms;
  /// 0 where it depends on dynamic sizes: then whole multiples of the shared loops, at least
  /// `TileShape::minLanes`.
  int64_t lanes;
  /// Rows that stay in one task where tasks are made smaller for threads, a part of `rows`; a task
  /// packs its lanes, which takes as long as multiplying some 24 rows.
  int64_t minRows;
  /// Whether blocks of rows write different elements.
  bool areRowsApart;
  /// Whether there is enough to do for threads.
  bool isParallel;
  /// Whether rows are read where they are, rather than packed: `TileShape::termRun` neighbouring
  /// terms of a row lie in front of those of the next one.
  bool readsRowsInPlace;
  CopyChunk rowChunk, laneChunk;
  /// Lanes that are added to the result at a time.
  int64_t resultChunk;

  static Blocking get(const Product &product, TileShape tile);
};

/// Replaces a product by loops over packed blocks.
void emitProduct(const Product &product, const Blocking &blocking, mlir::OpBuilder &builder);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PRODUCT_H
