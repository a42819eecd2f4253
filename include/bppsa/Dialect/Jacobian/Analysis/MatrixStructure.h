//===- MatrixStructure.h - what costs depend on of a matrix -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// What a cost model knows of a transposed Jacobian, of a product of some, or of
// a cotangent (a matrix of one column): its structure and sizes, and whether all
// samples of a batch share it. It has no values. Here entries are counted; what a
// product is says `jacobian::StructureAttr::product`.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_ANALYSIS_MATRIXSTRUCTURE_H
#define BPPSA_DIALECT_JACOBIAN_ANALYSIS_MATRIXSTRUCTURE_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include <string>
#include <vector>

namespace bppsa {

class MatrixStructure {
public:
  /// That of no matrix.
  MatrixStructure() = default;
  /// That of a `rows` x `cols` matrix. `shared` says whether all samples have the
  /// same entries, which zeros and identities have anyway.
  MatrixStructure(jacobian::StructureAttr structure, int64_t rows, int64_t cols,
                  bool shared = false);
  static MatrixStructure getDense(mlir::MLIRContext *context, int64_t rows, int64_t cols);

  /// This structure, with one matrix for all samples or with one for each.
  MatrixStructure withShared(bool shared) const;

  jacobian::StructureAttr getStructure() const { return structure; }
  int64_t getRows() const { return rows; }
  int64_t getCols() const { return cols; }
  bool isShared() const { return shared; }
  /// Whether only the diagonal may differ from zero.
  bool isDiagonal() const { return structure.isDiagonal(); }
  /// Whether every entry may differ from zero. Matrices of which more is known than
  /// their zeros, such as `diag(d) W`, are stored and multiplied like any other.
  bool isDense() const;
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

  /// Whether its name leaves open where its zeros are.
  bool hasPicture() const;
  /// The share of possible nonzeros in each cell of a grid of at most `most` by
  /// `most` cells that covers the matrix, row by row, as digits 0 (none) to 9.
  std::vector<std::string> sample(int64_t most) const;

private:
  /// A part of the matrix that has no parts itself.
  struct Block {
    jacobian::StructureAttr structure;
    int64_t row, col, rows, cols;
  };

  /// Calls `visit` for every block that may differ from zero.
  void forEachBlock(llvm::function_ref<void(const Block &)> visit) const;
  static void forEachBlock(const Block &whole, llvm::function_ref<void(const Block &)> visit);
  /// Adds a block to the picture of the matrix.
  struct Picture;
  static void draw(const Block &block, Picture &picture);
  static void drawPattern(const Block &block, Picture &picture);

  jacobian::StructureAttr structure;
  int64_t rows = 0, cols = 0;
  bool shared = true;
};

/// FLOPs of `second * first`: a multiply-add for each pair of a nonzero of column k
/// of `second` and one of row k of `first`, two FLOPs each. A diagonal only scales
/// the other factor, which takes one multiplication for each entry. A product with
/// a zero or an identity matrix costs nothing.
int64_t countFlops(const MatrixStructure &second, const MatrixStructure &first);

/// The structure of `second * first`.
MatrixStructure multiply(const MatrixStructure &second, const MatrixStructure &first);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_MATRIXSTRUCTURE_H
