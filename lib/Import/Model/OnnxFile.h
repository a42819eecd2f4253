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

/// Bytes of a file: protobuf counts them in an int.
inline constexpr uint64_t kMaxFileSize = std::numeric_limits<int32_t>::max();

/// A parsed model and where it came from.
struct OnnxFile {
  std::string path;
  mlir::Location location;
  onnx::ModelProto model;
};

/// `text` between quotes, with everything unprintable escaped: names come from
/// the file and must not break the one line of a diagnostic.
std::string quoted(llvm::StringRef text);

/// The name of a TensorProto.DataType as the ONNX documentation spells it.
std::string dataTypeName(int32_t dataType);

/// The element type of an ONNX data type: f32, i64, i32 or i1; null for others.
mlir::Type convertDataType(int32_t dataType, mlir::MLIRContext *context);

/// The bytes of the file at `path`.
mlir::FailureOr<std::unique_ptr<llvm::MemoryBuffer>> readModelFile(llvm::StringRef path,
                                                                   mlir::MLIRContext *context);

/// Parses `buffer` and checks what does not depend on the graph.
mlir::FailureOr<OnnxFile> parseOnnxFile(llvm::MemoryBufferRef buffer, mlir::MLIRContext *context);

/// The bytes of `file`, which has been changed; `what` is it in the diagnostic of one that is too
/// large.
mlir::FailureOr<std::string> serializeOnnxFile(const OnnxFile &file, llvm::StringRef what);

/// The type of `tensor`, from its dims and data type, after checking that
/// the sizes are sane. `what` names the tensor in diagnostics.
mlir::FailureOr<mlir::RankedTensorType>
getTensorType(const OnnxFile &file, const onnx::TensorProto &tensor, llvm::StringRef what);

/// Checks that the data of `tensor` is there and has the size of its `type`.
mlir::LogicalResult checkTensorData(const OnnxFile &file, const onnx::TensorProto &tensor,
                                    mlir::RankedTensorType type, llvm::StringRef what);

/// A type, and the little-endian bytes of its elements.
struct TypedBytes {
  mlir::RankedTensorType type;
  std::string bytes;
};

/// The type and the bytes of `tensor`, wherever they are stored. `what` names it in diagnostics.
mlir::FailureOr<TypedBytes> readTypedBytes(const OnnxFile &file, const onnx::TensorProto &tensor,
                                           llvm::StringRef what);

/// The values of `tensor`, wherever they are stored.
mlir::FailureOr<mlir::DenseElementsAttr>
decodeTensor(const OnnxFile &file, const onnx::TensorProto &tensor, llvm::StringRef what);

/// What was of half precision in a model.
struct HalfPrecisionCounts {
  int64_t initializers = 0, arrays = 0, nodes = 0;

  bool any() const { return initializers + arrays + nodes != 0; }
};

/// Makes everything of half precision float32.
mlir::FailureOr<HalfPrecisionCounts> widenHalfPrecision(OnnxFile &file);

/// The value of a float16.
float widenFloat16(uint16_t bits);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_MODEL_ONNXFILE_H
