//===- OnnxFile.cpp - the ONNX file format --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "OnnxFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace bppsa;

std::string bppsa::quoted(StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << '\'';
  llvm::printEscapedString(text.take_front(200), os);
  os << (text.size() > 200 ? "...'" : "'");
  return result;
}

std::string bppsa::dataTypeName(int32_t dataType) {
  if (onnx::TensorProto::DataType_IsValid(dataType))
    return StringRef(
               onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(dataType)))
        .lower();
  return "data type " + std::to_string(dataType);
}

Type bppsa::convertDataType(int32_t dataType, MLIRContext *context) {
  switch (dataType) {
  case onnx::TensorProto::FLOAT:
    return Float32Type::get(context);
  case onnx::TensorProto::INT64:
    return IntegerType::get(context, 64);
  case onnx::TensorProto::INT32:
    return IntegerType::get(context, 32);
  case onnx::TensorProto::BOOL:
    return IntegerType::get(context, 1);
  // Half-precision tensors are read only to be converted to float32.
  case onnx::TensorProto::FLOAT16:
    return Float16Type::get(context);
  case onnx::TensorProto::BFLOAT16:
    return BFloat16Type::get(context);
  default:
    return {};
  }
}

FailureOr<std::unique_ptr<llvm::MemoryBuffer>> bppsa::readModelFile(StringRef path,
                                                                    MLIRContext *context) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(FileLineColLoc::get(context, path, 0, 0))
           << "cannot be read: " << buffer.getError().message();
  return std::move(*buffer);
}

FailureOr<OnnxFile> bppsa::parseOnnxFile(llvm::MemoryBufferRef buffer, MLIRContext *context) {
  StringRef path = buffer.getBufferIdentifier();
  OnnxFile file{path.str(), FileLineColLoc::get(context, path, 0, 0), {}};
  auto error = [&]() { return emitError(file.location); };
  if (buffer.getBufferSize() == 0)
    return error() << "the file is empty, expected an ONNX model";
  if (buffer.getBufferSize() > kMaxFileSize)
    return error() << "the file has " << buffer.getBufferSize()
                   << " bytes, at most 2 GiB are accepted; store the weights as external data";
  if (!file.model.ParseFromArray(buffer.getBufferStart(), static_cast<int>(buffer.getBufferSize())))
    return error() << "not an ONNX model: the file is damaged, truncated or of another format";

  const onnx::ModelProto &model = file.model;
  if (!model.has_graph() || model.opset_import_size() == 0)
    return error() << "not an ONNX model: there is no "
                   << (model.has_graph() ? "opset_import" : "graph");
  if (model.training_info_size() != 0)
    return error() << "the model has training_info, which is not accepted; remove it";
  if (model.graph().sparse_initializer_size() != 0)
    return error() << "the graph has sparse initializers, only dense ones are accepted";
  if (model.graph().quantization_annotation_size() != 0)
    return error() << "the graph has quantization annotations, which are not accepted";
  return file;
}

static unsigned getByteWidth(Type elementType) {
  return std::max(1u, elementType.getIntOrFloatBitWidth() / 8);
}

FailureOr<std::string> bppsa::serializeOnnxFile(const OnnxFile &file, StringRef what) {
  std::string bytes;
  if (file.model.ByteSizeLong() > kMaxFileSize || !file.model.SerializeToString(&bytes))
    return emitError(file.location) << what << " is larger than 2 GiB";
  return bytes;
}

FailureOr<RankedTensorType> bppsa::getTensorType(const OnnxFile &file,
                                                 const onnx::TensorProto &tensor, StringRef what) {
  auto error = [&]() { return emitError(file.location) << what << " "; };
  Type elementType = convertDataType(tensor.data_type(), file.location.getContext());
  if (!elementType)
    return error() << "has data type " << dataTypeName(tensor.data_type())
                   << ", expected float, int64, int32 and bool";
  if (tensor.has_segment())
    return error() << "is stored in segments, which are not accepted";
  // The limit prevents overflow of size products and excessive allocations.
  int64_t bytes = getByteWidth(elementType);
  for (int64_t dim : tensor.dims()) {
    if (dim < 0)
      return error() << "has a dimension of size " << dim << ", it must not be negative";
    if (llvm::MulOverflow(bytes, dim, bytes) || bytes > (int64_t(1) << 40))
      return error() << "is larger than 1 TiB";
  }
  if (tensor.dims_size() > 64)
    return error() << "has rank " << tensor.dims_size() << ", at most 64 is accepted";
  return RankedTensorType::get(ArrayRef(tensor.dims().data(), tensor.dims_size()), elementType);
}

namespace {
struct ExternalData {
  std::string path;
  uint64_t offset, size;
};
} // namespace

/// Requires that the path is inside the directory of the model, so a model cannot read other files.
static FailureOr<ExternalData> findExternalData(const OnnxFile &file,
                                                const onnx::TensorProto &tensor, uint64_t expected,
                                                StringRef what) {
  auto error = [&]() { return emitError(file.location) << what << " "; };
  StringRef location;
  uint64_t offset = 0, length = expected;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    if (key == "location")
      location = value;
    else if ((key == "offset" && value.getAsInteger(10, offset)) ||
             (key == "length" && value.getAsInteger(10, length)))
      return error() << "has the external data " << key << " " << quoted(value)
                     << ", expected a number of bytes";
  }
  if (location.empty())
    return error() << "is stored outside of the file, but no location is given";
  SmallString<256> directory(llvm::sys::path::parent_path(file.path)), root, target, resolved;
  if (directory.empty())
    directory = ".";
  target = directory;
  llvm::sys::path::append(target, location);
  auto parts = llvm::make_range(llvm::sys::path::begin(location), llvm::sys::path::end(location));
  if (llvm::sys::path::is_absolute(location) || location.contains('\0') ||
      llvm::is_contained(parts, ".."))
    return error() << "is stored in " << quoted(location)
                   << ", a path inside the directory of the model is required";
  if (llvm::sys::fs::real_path(directory, root) || llvm::sys::fs::real_path(target, resolved))
    return error() << "is stored in " << quoted(location) << ", which cannot be opened";
  if (!llvm::sys::path::has_root_path(root) ||
      !StringRef(resolved).starts_with(root == "/" ? root.str() : (root + "/").str()))
    return error() << "is stored in " << quoted(location)
                   << ", which links to a file outside of the directory of the model";
  if (length != expected)
    return error() << "needs " << expected << " bytes, its external data has length " << length;
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(resolved, status) || !llvm::sys::fs::is_regular_file(status))
    return error() << "is stored in " << quoted(location) << ", which is not a regular file";
  if (offset > status.getSize() || status.getSize() - offset < expected)
    return error() << "needs " << expected << " bytes at offset " << offset << " of "
                   << quoted(location) << ", which has " << status.getSize() << " bytes";
  return ExternalData{resolved.str().str(), offset, expected};
}

static uint64_t countListed(const onnx::TensorProto &tensor, Type type) {
  return type.isF32()         ? tensor.float_data_size()
         : type.isInteger(64) ? tensor.int64_data_size()
                              : tensor.int32_data_size();
}

static uint64_t getByteSize(RankedTensorType type) {
  return static_cast<uint64_t>(type.getNumElements()) * getByteWidth(type.getElementType());
}

LogicalResult bppsa::checkTensorData(const OnnxFile &file, const onnx::TensorProto &tensor,
                                     RankedTensorType type, StringRef what) {
  uint64_t expected = getByteSize(type), numElements = type.getNumElements();
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
    return findExternalData(file, tensor, expected, what);
  if (!tensor.raw_data().empty() && tensor.raw_data().size() != expected)
    return emitError(file.location)
           << what << " needs " << expected << " bytes of data, found " << tensor.raw_data().size();
  uint64_t listed = countListed(tensor, type.getElementType());
  if (tensor.raw_data().empty() && listed != numElements)
    return emitError(file.location)
           << what << " needs " << numElements << " elements, found " << listed;
  return success();
}

static FailureOr<std::string> readExternalData(const OnnxFile &file, const ExternalData &data) {
  if (data.size == 0)
    return std::string();
  auto slice = llvm::MemoryBuffer::getFileSlice(data.path, data.size, data.offset);
  if (!slice)
    return emitError(file.location) << "external data " << quoted(data.path)
                                    << " cannot be read: " << slice.getError().message();
  return (*slice)->getBuffer().str();
}

static FailureOr<std::string> readTensorBytes(const OnnxFile &file, const onnx::TensorProto &tensor,
                                              RankedTensorType type, StringRef what) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    FailureOr<ExternalData> data = findExternalData(file, tensor, getByteSize(type), what);
    if (failed(data))
      return failure();
    return readExternalData(file, *data);
  }
  if (failed(checkTensorData(file, tensor, type, what)))
    return failure();
  if (!tensor.raw_data().empty())
    return tensor.raw_data();
  std::string raw;
  auto append = [&](const auto &values) {
    for (auto value : values) {
      char bytes[8];
      if constexpr (std::is_same_v<decltype(value), float>)
        llvm::support::endian::write32le(bytes, llvm::bit_cast<uint32_t>(value));
      else
        llvm::support::endian::write64le(bytes, static_cast<uint64_t>(value));
      raw.append(bytes, getByteWidth(type.getElementType()));
    }
  };
  if (type.getElementType().isF32())
    append(tensor.float_data());
  else if (type.getElementType().isInteger(64))
    append(tensor.int64_data());
  else
    append(tensor.int32_data());
  return raw;
}

FailureOr<TypedBytes> bppsa::readTypedBytes(const OnnxFile &file, const onnx::TensorProto &tensor,
                                            StringRef what) {
  FailureOr<RankedTensorType> type = getTensorType(file, tensor, what);
  if (failed(type))
    return failure();
  FailureOr<std::string> bytes = readTensorBytes(file, tensor, *type, what);
  if (failed(bytes))
    return failure();
  return TypedBytes{*type, std::move(*bytes)};
}

FailureOr<DenseElementsAttr> bppsa::decodeTensor(const OnnxFile &file,
                                                 const onnx::TensorProto &tensor, StringRef what) {
  FailureOr<TypedBytes> read = readTypedBytes(file, tensor, what);
  if (failed(read))
    return failure();
  const auto &[type, raw] = *read;
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> values(raw.begin(), raw.end());
    return DenseElementsAttr::get(type, ArrayRef<bool>(values));
  }
  if (raw.empty())
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(raw.data(), raw.size()));
}
