//===- MatrixStructure.h - matrix structure for cost models -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The structure and size of a transposed Jacobian, a product of Jacobians, or a cotangent (a matrix
// of one column), without values. Cost models use it to count entries.
// `jacobian::StructureAttr::product` has the rules for products.
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
  /// Creates an empty structure.
  MatrixStructure() = default;
  /// Creates the structure of a `rows` x `cols` matrix. `shared` states that all samples have the
  /// same entries, which always holds for zero and identity matrices.
  MatrixStructure(jacobian::StructureAttr structure, int64_t rows, int64_t cols,
                  bool shared = false);
  static MatrixStructure getDense(mlir::MLIRContext *context, int64_t rows, int64_t cols);

  /// Returns this structure with one matrix for all samples or one per sample.
  MatrixStructure withShared(bool shared) const;

  jacobian::StructureAttr getStructure() const { return structure; }
  int64_t getRows() const { return rows; }
  int64_t getCols() const { return cols; }
  bool isShared() const { return shared; }
  bool isDiagonal() const { return structure.isDiagonal(); }
  /// Returns true if every entry may be nonzero. Matrices with other known properties, such as
  /// `diag(d) W`, are stored and multiplied as dense matrices.
  bool isDense() const;
  /// Returns "dense", "shared-dense", "diagonal", ...
  std::string getName() const;

  /// Returns the number of possible nonzeros.
  int64_t getNumNonzeros() const;
  std::vector<int64_t> getRowCounts() const;
  std::vector<int64_t> getColumnCounts() const;
  /// Returns the bytes for the values of one sample; zero and identity matrices need none.
  int64_t getNumBytes(int64_t elementBytes) const;
  /// Returns the bytes for the indices, which all samples share: a column per entry and a start per
  /// row of a sparse pattern.
  int64_t getNumIndexBytes() const;

  /// Returns true if the name does not determine the positions of the zeros.
  bool hasPicture() const;
  /// Draws the matrix as a grid of at most `most` x `most` cells, one string per grid row. Each
  /// digit is the density of possible nonzeros in a cell, from 0 (none) to 9.
  std::vector<std::string> sample(int64_t most) const;

private:
  /// A block of the matrix that is not subdivided further.
  struct Block {
    jacobian::StructureAttr structure;
    int64_t row, col, rows, cols;
  };

  /// Calls `visit` for every block that may contain nonzeros.
  void forEachBlock(llvm::function_ref<void(const Block &)> visit) const;
  static void forEachBlock(const Block &whole, llvm::function_ref<void(const Block &)> visit);
  struct Picture;
  static void draw(const Block &block, Picture &picture);
  static void drawPattern(const Block &block, Picture &picture);

  jacobian::StructureAttr structure;
  int64_t rows = 0, cols = 0;
  bool shared = true;
};

/// Returns the FLOPs of `second * first`: two for each pair of a nonzero in column k of `second`
/// and a nonzero in row k of `first`. A diagonal factor takes one multiplication per entry of the
/// other factor. Products with zero or identity matrices are free.
int64_t countFlops(const MatrixStructure &second, const MatrixStructure &first);

MatrixStructure multiply(const MatrixStructure &second, const MatrixStructure &first);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_MATRIXSTRUCTURE_H
