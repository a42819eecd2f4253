//===- FindTransposed.cpp - one parameter as two initializers -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// If a module uses a matrix both directly and transposed, as with tied embeddings, and the exporter
// folds the transposition, the file contains two initializers.
//
//===----------------------------------------------------------------------===//

#include "InspectInitializers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace bppsa;

namespace {
struct Matrix {
  StringRef name;
  int64_t rows, cols;
  std::string bytes;

  StringRef at(int64_t row, int64_t col) const {
    return StringRef(bytes).substr(sizeof(float) * (row * cols + col), sizeof(float));
  }
};
} // namespace

static bool isTransposed(const Matrix &a, const Matrix &b) {
  if (a.rows != b.cols || a.cols != b.rows || a.bytes == b.bytes)
    return false;
  for (int64_t row = 0; row < a.rows; ++row)
    for (int64_t col = 0; col < a.cols; ++col)
      if (a.at(row, col) != b.at(col, row))
        return false;
  return true;
}

FailureOr<std::vector<std::pair<std::string, std::string>>>
bppsa::findTransposed(const OnnxFile &file, ArrayRef<const onnx::TensorProto *> tensors) {
  std::vector<Matrix> matrices;
  for (const onnx::TensorProto *tensor : tensors) {
    // Vectors are skipped: a row always equals a transposed column.
    if (tensor->dims_size() != 2 || tensor->dims(0) < 2 || tensor->dims(1) < 2)
      continue;
    std::string what = "initializer " + quoted(tensor->name());
    FailureOr<TypedBytes> values = readTypedBytes(file, *tensor, what);
    if (failed(values))
      return failure();
    matrices.push_back(
        {tensor->name(), tensor->dims(0), tensor->dims(1), std::move(values->bytes)});
  }
  std::vector<std::pair<std::string, std::string>> found;
  for (auto [i, matrix] : llvm::enumerate(matrices))
    for (const Matrix &other : ArrayRef(matrices).drop_front(i + 1))
      if (isTransposed(matrix, other))
        found.push_back({matrix.name.str(), other.name.str()});
  return found;
}
