//===- OnnxFile.h - the ONNX file format ------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_MODEL_ONNXFILE_H
#define BPPSA_LIB_IMPORT_MODEL_ONNXFILE_H

#include "bppsa/Import/ImportONNX.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "onnx.pb.h"
#include "llvm/Support/MemoryBuffer.h"
#include <limits>

namespace bppsa {

namespace onnx = ::bppsa_onnx;

/// Maximum file size in bytes; protobuf stores sizes as int.
inline constexpr uint64_t kMaxFileSize = std::numeric_limits<int32_t>::max();

struct OnnxFile {
  std::string path;
  mlir::Location location;
  onnx::ModelProto model;
};

/// Names come from the file and must not break the single line of a diagnostic.
std::string quoted(llvm::StringRef text);

std::string dataTypeName(int32_t dataType);

mlir::Type convertDataType(int32_t dataType, mlir::MLIRContext *context);

mlir::FailureOr<std::unique_ptr<llvm::MemoryBuffer>> readModelFile(llvm::StringRef path,
                                                                   mlir::MLIRContext *context);

mlir::FailureOr<OnnxFile> parseOnnxFile(llvm::MemoryBufferRef buffer, mlir::MLIRContext *context);

/// Serializes the modified `file`; `what` names it in the diagnostic if it is too large.
mlir::FailureOr<std::string> serializeOnnxFile(const OnnxFile &file, llvm::StringRef what);

/// Returns the type of `tensor` from its dims and data type, after validating the sizes.
mlir::FailureOr<mlir::RankedTensorType>
getTensorType(const OnnxFile &file, const onnx::TensorProto &tensor, llvm::StringRef what);

mlir::LogicalResult checkTensorData(const OnnxFile &file, const onnx::TensorProto &tensor,
                                    mlir::RankedTensorType type, llvm::StringRef what);

struct TypedBytes {
  mlir::RankedTensorType type;
  std::string bytes;
};

/// Reads the type and bytes of `tensor` from any storage.
mlir::FailureOr<TypedBytes> readTypedBytes(const OnnxFile &file, const onnx::TensorProto &tensor,
                                           llvm::StringRef what);

mlir::FailureOr<mlir::DenseElementsAttr>
decodeTensor(const OnnxFile &file, const onnx::TensorProto &tensor, llvm::StringRef what);

struct HalfPrecisionCounts {
  int64_t initializers = 0, arrays = 0, nodes = 0;

  bool any() const { return initializers + arrays + nodes != 0; }
};

/// Converts all half-precision values to float32.
mlir::FailureOr<HalfPrecisionCounts> widenHalfPrecision(OnnxFile &file);

float widenFloat16(uint16_t bits);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_MODEL_ONNXFILE_H
