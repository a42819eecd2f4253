//===- ImportONNX.h - import ONNX models ------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Each error is one single-line diagnostic at the location of the model file.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_IMPORT_IMPORTONNX_H
#define BPPSA_IMPORT_IMPORTONNX_H

#include "bppsa/Support/BatchAxes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bppsa {

/// One `--bind=NAME=VALUE[,VALUE...]`: gives a graph input a constant value or a symbolic dimension
/// a fixed size.
struct BindRequest {
  std::string name;
  std::vector<std::string> values;

  static std::optional<BindRequest> parse(const std::string &text);
};

struct ImportOptions {
  /// Batch axes set by the user.
  std::vector<BatchAxisRequest> batchAxes;
  /// Marks the graph as one step of a stream. In `IN:OUT`, graph output OUT of a step becomes graph
  /// input IN of the next. `batchAxes` may then name any axis of size 1 or of symbolic size.
  std::vector<std::string> carries;
  /// Axes of size 1 of the inputs and outputs of a step graph that carry the time steps of the
  /// stream.
  std::vector<BatchAxisRequest> stepAxes;
  /// Values and sizes that are fixed before shapes and `If` are resolved.
  std::vector<BindRequest> bindings;
  /// Batch normalization in training mode uses the statistics of the samples of all ranks
  /// (`dist.rank_mean`).
  bool sharesStatistics = false;
  bool isUntied = false;
};

/// Imports the model as a module with one function `forward`. Its arguments are the unbound graph
/// inputs and the float initializers.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
importONNX(llvm::StringRef path, mlir::MLIRContext *context, const ImportOptions &options = {});

/// The identifier of `buffer` is the path used in diagnostics and to find external data.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importONNX(llvm::MemoryBufferRef buffer,
                                                              mlir::MLIRContext *context,
                                                              const ImportOptions &options = {});

/// A model file whose float initializers can be read and replaced in place.
struct OnnxImage {
  struct Parameter {
    std::string name;
    llvm::SmallVector<int64_t> shape;
    /// Byte offset of element 0 in `bytes`.
    uint64_t offset;
    /// Bytes from one f32 element to the next.
    unsigned stride;
  };
  std::vector<char> bytes;
  /// Float initializers in file order, which is the order of the arguments of `forward`.
  std::vector<Parameter> parameters;
};

/// Loads the model at `path`. Float initializers that are stored externally or in pieces are
/// serialized inline.
mlir::FailureOr<OnnxImage> loadOnnxImage(llvm::StringRef path, mlir::MLIRContext *context);
mlir::FailureOr<OnnxImage> loadOnnxImage(llvm::MemoryBufferRef buffer, mlir::MLIRContext *context);

/// Sets `bppsa.nonzeros` on the arguments of `forward` that are float initializers of rank 2 or
/// more and contain zeros. Returns their number.
int64_t markZeros(mlir::ModuleOp module, const OnnxImage &image);

void printSupport(llvm::raw_ostream &os);

/// Returns the model converted to float32, or nullopt if it has no half-precision values. A remark
/// counts the converted values.
mlir::FailureOr<std::optional<std::string>> widenHalfPrecision(llvm::MemoryBufferRef buffer,
                                                               mlir::MLIRContext *context);

} // namespace bppsa

#endif // BPPSA_IMPORT_IMPORTONNX_H
