//===- MatrixStructure.h - where a matrix is known to be zero ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// What a cost model knows of a transposed Jacobian, of a product of some, or of
// a cotangent (a matrix of one column): sizes, where entries may differ from
// zero, and whether all samples of a batch share it. It has no values and knows
// nothing of IR.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_ANALYSIS_MATRIXSTRUCTURE_H
#define BPPSA_ANALYSIS_MATRIXSTRUCTURE_H

#include "bppsa/Sparse/SparsityPattern.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bppsa {

class MatrixStructure {
public:
  enum class Kind { Zero, Identity, Diagonal, Dense, Sparse, Block };

  static MatrixStructure getZero(int64_t rows, int64_t cols);
  static MatrixStructure getIdentity(int64_t size);
  static MatrixStructure getDiagonal(int64_t size);
  static MatrixStructure getDense(int64_t rows, int64_t cols);
  /// A pattern that is empty, full or a diagonal gives the simpler structure.
  static MatrixStructure getSparse(SparsityPattern pattern);
  /// `blocks` row by row; blocks of a row have equally many rows and blocks of a
  /// column equally many columns.
  static MatrixStructure getBlock(int64_t blockRows, int64_t blockCols,
                                  std::vector<MatrixStructure> blocks);

  /// This structure, with one matrix for all samples or with one for each.
  MatrixStructure withShared(bool shared) const;

  Kind getKind() const { return kind; }
  int64_t getRows() const { return rows; }
  int64_t getCols() const { return cols; }
  /// Whether all samples of a batch have the same entries.
  bool isShared() const { return shared; }
  /// "dense", "shared-dense", "diagonal", ...
  std::string getName() const;

  /// Entries that may differ from zero.
  int64_t getNumNonzeros() const;
  std::vector<int64_t> getRowCounts() const;
  std::vector<int64_t> getColumnCounts() const;
  /// Bytes that hold the values of one sample; a zero or identity matrix has none.
  int64_t getNumBytes(int64_t elementBytes) const;
  /// Bytes that say where the values of every sample are: a column for each entry
  /// and a start for each row of a sparse pattern.
  int64_t getNumIndexBytes() const;
  /// Where entries may differ from zero.
  SparsityPattern computePattern() const;
  /// The share of possible nonzeros in each cell of a grid of at most `most` by
  /// `most` cells that covers the matrix, row by row, as digits 0 (none) to 9.
  std::vector<std::string> sample(int64_t most) const;

private:
  MatrixStructure(Kind kind, int64_t rows, int64_t cols) : kind(kind), rows(rows), cols(cols) {}

  /// Calls `body(block, row, column)` for every block at its place.
  void forEachBlock(llvm::function_ref<void(const MatrixStructure &, int64_t, int64_t)> body) const;
  std::vector<int64_t> getBlockHeights() const;
  std::vector<int64_t> getBlockWidths() const;
  /// `second * first`, at least one of which is a grid of blocks.
  static MatrixStructure multiplyAsGrids(const MatrixStructure &second,
                                         const MatrixStructure &first);
  friend MatrixStructure multiply(const MatrixStructure &, const MatrixStructure &);

  /// Adds this matrix to the picture of one that holds it at `firstRow` and
  /// `firstCol`.
  struct Picture;
  void addTo(Picture &picture, int64_t firstRow, int64_t firstCol) const;
  void addPatternTo(Picture &picture, int64_t firstRow, int64_t firstCol) const;

  Kind kind;
  int64_t rows, cols;
  bool shared = false;
  int64_t blockRows = 0, blockCols = 0;
  std::shared_ptr<const std::vector<MatrixStructure>> blocks;
  /// Of a sparse matrix.
  std::shared_ptr<const SparsityPattern> pattern;
};

/// Multiply-adds of `second * first`: the sum over k of the number of nonzeros of
/// column k of `second` times that of row k of `first`. A product with a zero or
/// an identity matrix costs nothing.
int64_t countMultiplyAdds(const MatrixStructure &second, const MatrixStructure &first);

/// The structure of `second * first`: guaranteed zeros only.
MatrixStructure multiply(const MatrixStructure &second, const MatrixStructure &first);

} // namespace bppsa

#endif // BPPSA_ANALYSIS_MATRIXSTRUCTURE_H
