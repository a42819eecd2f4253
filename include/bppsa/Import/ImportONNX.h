//===- ImportONNX.h - ONNX models as IR -------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Every error is reported as one diagnostic of one line at the location of the
// model file; it names the node, the op, the attribute or operand, what was
// found and what is accepted.
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

/// One `--bind=NAME=VALUE[,VALUE...]`: a graph input that is a constant, or a symbolic dimension
/// that is a number.
struct BindRequest {
  std::string name;
  std::vector<std::string> values;

  /// Nothing where `text` is not of that form.
  static std::optional<BindRequest> parse(const std::string &text);
};

struct ImportOptions {
  /// Batch axes set by the user: axes that carry samples by data flow, in place of those that the
  /// graph itself names.
  std::vector<BatchAxisRequest> batchAxes;
  /// The graph is one step of a stream: each is `IN:OUT`, graph output OUT of a step is graph input
  /// IN of the next one. Then `batchAxes` may name any axis of size 1 or of symbolic size.
  std::vector<std::string> carries;
  /// Axes of size 1 of inputs and outputs of a step graph that carry the steps of the stream.
  std::vector<BatchAxisRequest> stepAxes;
  /// What is known before shapes and `If` are resolved.
  std::vector<BindRequest> bindings;
  /// Batch normalizations in training mode take the statistics of the samples of all ranks
  /// (`dist.rank_mean`).
  bool sharesStatistics = false;
  /// `--untie` has been given, so that errors do not recommend it.
  bool isUntied = false;
};

/// Imports the model at `path` as a module with one function `forward`: graph
/// inputs that are not bound and float initializers are its arguments, graph outputs its results.
/// Initializers that nothing reads are frozen, and a warning names them.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
importONNX(llvm::StringRef path, mlir::MLIRContext *context, const ImportOptions &options = {});

/// Imports a model held in memory. The identifier of `buffer` is the path that
/// diagnostics name; external data is looked up in its directory.
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
  /// Float initializers in file order, as the arguments of `forward`.
  std::vector<Parameter> parameters;
};

/// Loads the model at `path`. The bytes are those of the file, unless a float
/// initializer is stored outside of it or in several pieces: then the model is
/// serialised again with these initializers inline.
mlir::FailureOr<OnnxImage> loadOnnxImage(llvm::StringRef path, mlir::MLIRContext *context);
mlir::FailureOr<OnnxImage> loadOnnxImage(llvm::MemoryBufferRef buffer, mlir::MLIRContext *context);

/// Gives the arguments of `forward` that stand for float initializers of rank 2 or more
/// with zeros among their elements the attribute `bppsa.nonzeros`. Returns how many
/// there are.
int64_t markZeros(mlir::ModuleOp module, const OnnxImage &image);

/// Prints, in Markdown, every op, attribute, input and output that is accepted
/// or refused.
void printSupport(llvm::raw_ostream &os);

/// The model in float32, where it has values of half precision; then a remark counts them.
mlir::FailureOr<std::optional<std::string>> widenHalfPrecision(llvm::MemoryBufferRef buffer,
                                                               mlir::MLIRContext *context);

} // namespace bppsa

#endif // BPPSA_IMPORT_IMPORTONNX_H
