//===- OnnxImage.cpp - the model as a program keeps it --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "OnnxFile.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Walks the fields of one message in the protobuf wire format.
struct WireReader {
  StringRef bytes;
  uint64_t position, end;

  struct Field {
    uint32_t number, type;
    /// The content of a length-delimited field, or the value of a fixed one.
    uint64_t begin, end;
  };

  std::optional<uint64_t> readVarint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && position < end; shift += 7) {
      uint8_t byte = bytes[position++];
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    return std::nullopt;
  }

  /// The next field; nothing at the end, at a group and at damaged bytes.
  std::optional<Field> next() {
    if (position >= end)
      return std::nullopt;
    std::optional<uint64_t> tag = readVarint();
    if (!tag)
      return std::nullopt;
    Field field{static_cast<uint32_t>(*tag >> 3), static_cast<uint32_t>(*tag & 7), position, 0};
    uint64_t size = 0;
    if (field.type == 0) {
      if (!readVarint())
        return std::nullopt;
    } else if (field.type == 1 || field.type == 5) {
      size = field.type == 1 ? 8 : 4;
    } else if (field.type == 2) {
      std::optional<uint64_t> length = readVarint();
      if (!length)
        return std::nullopt;
      size = *length;
      field.begin = position;
    } else {
      return std::nullopt;
    }
    if (size > end - position)
      return std::nullopt;
    position += size;
    field.end = position;
    return field;
  }
};
} // namespace

/// Finds the f32 values of a float tensor inside of the message `[begin, end)`:
/// raw_data or packed float_data in one piece, or float_data with one tag byte
/// before each element. Nothing if they are stored in another way.
static std::optional<OnnxImage::Parameter> locateFloats(StringRef bytes, uint64_t begin,
                                                        uint64_t end, uint64_t numElements) {
  constexpr unsigned floatData = 4, rawData = 9;
  SmallVector<WireReader::Field> pieces;
  WireReader reader{bytes, begin, end};
  while (std::optional<WireReader::Field> field = reader.next()) {
    bool isRaw = field->number == rawData, isFloats = field->number == floatData;
    if (isRaw || isFloats)
      pieces.push_back(*field);
  }
  if (pieces.size() == 1 && pieces[0].end - pieces[0].begin == 4 * numElements)
    return OnnxImage::Parameter{"", {}, pieces[0].begin, 4};
  if (pieces.empty() || pieces.size() != numElements)
    return std::nullopt;
  for (auto [i, piece] : llvm::enumerate(pieces))
    if (piece.number != floatData || piece.type != 5 || piece.begin != pieces[0].begin + 5 * i)
      return std::nullopt;
  return OnnxImage::Parameter{"", {}, pieces[0].begin, 5};
}

/// Finds the float initializers of `model`, whose serialised form is `bytes`.
/// Nothing if one of them has to be normalised first.
static std::optional<std::vector<OnnxImage::Parameter>>
locateParameters(StringRef bytes, const onnx::ModelProto &model) {
  constexpr unsigned graphField = 7, initializerField = 5;
  std::vector<OnnxImage::Parameter> parameters;
  int graphs = 0, index = 0;
  WireReader reader{bytes, 0, bytes.size()};
  while (std::optional<WireReader::Field> field = reader.next()) {
    if (field->number != graphField || field->type != 2)
      continue;
    if (++graphs != 1)
      return std::nullopt;
    WireReader graph{bytes, field->begin, field->end};
    while (std::optional<WireReader::Field> inner = graph.next()) {
      if (inner->number != initializerField || inner->type != 2)
        continue;
      if (index == model.graph().initializer_size())
        return std::nullopt;
      const onnx::TensorProto &tensor = model.graph().initializer(index++);
      if (tensor.data_type() != onnx::TensorProto::FLOAT)
        continue;
      uint64_t numElements = 1;
      for (int64_t dim : tensor.dims())
        numElements *= dim;
      std::optional<OnnxImage::Parameter> parameter =
          locateFloats(bytes, inner->begin, inner->end, numElements);
      if (!parameter)
        return std::nullopt;
      parameter->name = tensor.name();
      parameter->shape.assign(tensor.dims().begin(), tensor.dims().end());
      parameters.push_back(std::move(*parameter));
    }
  }
  if (index != model.graph().initializer_size())
    return std::nullopt;
  return parameters;
}

/// Stores every tensor inline: external ones, and float ones as raw_data.
static LogicalResult storeInline(OnnxFile &file) {
  for (onnx::TensorProto &tensor : *file.model.mutable_graph()->mutable_initializer()) {
    bool isExternal = tensor.data_location() == onnx::TensorProto::EXTERNAL;
    if (!isExternal && tensor.data_type() != onnx::TensorProto::FLOAT)
      continue;
    std::string what = "initializer " + quoted(tensor.name());
    FailureOr<RankedTensorType> type = getTensorType(file, tensor, what);
    if (failed(type))
      return failure();
    FailureOr<std::string> raw = readTensorBytes(file, tensor, *type, what);
    if (failed(raw))
      return failure();
    tensor.clear_float_data();
    tensor.clear_external_data();
    tensor.clear_data_location();
    tensor.set_raw_data(std::move(*raw));
  }
  return success();
}

FailureOr<OnnxImage> bppsa::loadOnnxImage(llvm::MemoryBufferRef buffer, MLIRContext *context) {
  FailureOr<OnnxFile> file = parseOnnxFile(buffer, context);
  if (failed(file))
    return failure();
  StringRef bytes = buffer.getBuffer();
  std::string normalised;
  std::optional<std::vector<OnnxImage::Parameter>> parameters;
  bool isInline =
      llvm::none_of(file->model.graph().initializer(), [](const onnx::TensorProto &tensor) {
        return tensor.data_location() == onnx::TensorProto::EXTERNAL;
      });
  if (isInline)
    parameters = locateParameters(bytes, file->model);
  if (!parameters) {
    if (failed(storeInline(*file)))
      return failure();
    if (file->model.ByteSizeLong() > kMaxFileSize || !file->model.SerializeToString(&normalised))
      return emitError(file->location) << "with its external data the model is larger than 2 GiB";
    bytes = normalised;
    parameters = locateParameters(bytes, file->model);
  }
  if (!parameters)
    return emitError(file->location) << "the initializers cannot be located in the file";
  OnnxImage image;
  image.bytes.assign(bytes.begin(), bytes.end());
  image.parameters = std::move(*parameters);
  return image;
}

FailureOr<OnnxImage> bppsa::loadOnnxImage(StringRef path, MLIRContext *context) {
  FailureOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = readModelFile(path, context);
  if (failed(buffer))
    return failure();
  return loadOnnxImage(**buffer, context);
}
