//===- MatrixStructure.h - matrix structure for cost models -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Structure and size, without values, of a transposed Jacobian, a product of Jacobians or a
// cotangent (one column).
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
  MatrixStructure() = default;
  /// `shared` states that all samples have the same entries, as always in zero and identity
  /// matrices.
  MatrixStructure(jacobian::StructureAttr structure, int64_t rows, int64_t cols,
                  bool shared = false);
  static MatrixStructure getDense(mlir::MLIRContext *context, int64_t rows, int64_t cols);

  MatrixStructure withShared(bool shared) const;

  jacobian::StructureAttr getStructure() const { return structure; }
  int64_t getRows() const { return rows; }
  int64_t getCols() const { return cols; }
  bool isShared() const { return shared; }
  bool isDiagonal() const { return structure.isDiagonal(); }
  /// True if every entry may be nonzero. Matrices such as `diag(d) W` are stored as dense, too.
  bool isDense() const;
  /// Returns "dense", "shared-dense", "diagonal", ...
  std::string getName() const;

  int64_t getNumNonzeros() const;
  std::vector<int64_t> getRowCounts() const;
  std::vector<int64_t> getColumnCounts() const;
  /// Returns the bytes for the values of one sample; none for zero and identity matrices.
  int64_t getNumBytes(int64_t elementBytes) const;
  /// Counts a column per entry and a start per row of a sparse pattern.
  int64_t getNumIndexBytes() const;

  /// True if the name does not determine the zeros.
  bool hasPicture() const;
  /// Draws at most `most` x `most` cells, one string per row. Digits are the density of possible
  /// nonzeros, 0 to 9.
  std::vector<std::string> sample(int64_t most) const;

private:
  /// A block that is not subdivided further.
  struct Block {
    jacobian::StructureAttr structure;
    int64_t row, col, rows, cols;
  };

  void forEachBlock(llvm::function_ref<void(const Block &)> visit) const;
  static void forEachBlock(const Block &whole, llvm::function_ref<void(const Block &)> visit);
  struct Picture;
  static void draw(const Block &block, Picture &picture);
  static void drawPattern(const Block &block, Picture &picture);

  jacobian::StructureAttr structure;
  int64_t rows = 0, cols = 0;
  bool shared = true;
};

/// Returns the FLOPs of `second * first`: two per pair of nonzeros. Diagonal factors take one per
/// entry; zero and identity are free.
int64_t countFlops(const MatrixStructure &second, const MatrixStructure &first);

MatrixStructure multiply(const MatrixStructure &second, const MatrixStructure &first);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_MATRIXSTRUCTURE_H
