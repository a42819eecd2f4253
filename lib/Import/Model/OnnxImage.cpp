//===- OnnxImage.cpp - models with replaceable weights --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Initializers/SubgraphParameters.h"
#include "OnnxFile.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Iterates over the fields of one message in the protobuf wire format.
struct WireReader {
  StringRef bytes;
  uint64_t position, end;

  struct Field {
    uint32_t number, type;
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

/// Finds the f32 values of a float tensor: raw_data or packed float_data in one piece, or
/// float_data with one tag byte before each element.
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

namespace {
class Locator {
public:
  Locator(StringRef bytes, const onnx::ModelProto &model)
      : bytes(bytes), model(model), innerNames(findInnerParameters(model)) {}

  /// Returns the parameters of the main graph, then of subgraphs. Returns nullopt if a parameter
  /// must be normalized first.
  std::optional<std::vector<OnnxImage::Parameter>> run();

private:
  using Field = WireReader::Field;

  bool visitMessages(Field message, uint32_t number, int count,
                     function_ref<bool(int, Field)> visit) const;
  bool locate(const onnx::GraphProto &graph, Field message, bool isInner);
  bool locateInner(const onnx::GraphProto &graph, Field message);

  StringRef bytes;
  const onnx::ModelProto &model;
  llvm::StringSet<> innerNames;
  std::vector<OnnxImage::Parameter> parameters;
};
} // namespace

bool Locator::visitMessages(Field message, uint32_t number, int count,
                            function_ref<bool(int, Field)> visit) const {
  int index = 0;
  WireReader reader{bytes, message.begin, message.end};
  while (std::optional<Field> field = reader.next())
    if (field->number == number && field->type == 2 && (index == count || !visit(index++, *field)))
      return false;
  return index == count;
}

bool Locator::locate(const onnx::GraphProto &graph, Field message, bool isInner) {
  constexpr uint32_t initializerField = 5;
  auto locateOne = [&](int index, Field field) {
    const onnx::TensorProto &tensor = graph.initializer(index);
    if (tensor.data_type() != onnx::TensorProto::FLOAT ||
        (isInner && !innerNames.contains(tensor.name())))
      return true;
    uint64_t numElements = 1;
    for (int64_t dim : tensor.dims())
      numElements *= dim;
    auto parameter = locateFloats(bytes, field.begin, field.end, numElements);
    if (!parameter)
      return false;
    parameter->name = tensor.name();
    parameter->shape.assign(tensor.dims().begin(), tensor.dims().end());
    parameters.push_back(std::move(*parameter));
    return true;
  };
  return visitMessages(message, initializerField, graph.initializer_size(), locateOne);
}

bool Locator::locateInner(const onnx::GraphProto &graph, Field message) {
  constexpr uint32_t nodeField = 1, attributeField = 5, graphField = 6;
  auto visitAttribute = [&](const onnx::AttributeProto &attribute, Field field) {
    return visitMessages(field, graphField, attribute.has_g(), [&](int, Field inner) {
      return locate(attribute.g(), inner, /*isInner=*/true) && locateInner(attribute.g(), inner);
    });
  };
  return visitMessages(message, nodeField, graph.node_size(), [&](int index, Field field) {
    const onnx::NodeProto &node = graph.node(index);
    return visitMessages(field, attributeField, node.attribute_size(), [&](int i, Field inner) {
      return visitAttribute(node.attribute(i), inner);
    });
  });
}

std::optional<std::vector<OnnxImage::Parameter>> Locator::run() {
  constexpr uint32_t graphField = 7;
  const onnx::GraphProto &graph = model.graph();
  auto locateAll = [&](int, Field message) {
    return locate(graph, message, /*isInner=*/false) &&
           (innerNames.empty() || locateInner(graph, message));
  };
  if (!visitMessages({0, 2, 0, bytes.size()}, graphField, 1, locateAll))
    return std::nullopt;
  return std::move(parameters);
}

static void visitInitializers(OnnxFile &file, function_ref<void(onnx::TensorProto &)> visit) {
  auto visitGraph = [&](const onnx::GraphProto &graph) {
    // All graphs belong to `file`, which is mutable.
    for (onnx::TensorProto &tensor : *const_cast<onnx::GraphProto &>(graph).mutable_initializer())
      visit(tensor);
  };
  visitGraph(file.model.graph());
  visitSubgraphs(file.model.graph(), visitGraph);
}

static bool isExternal(const onnx::TensorProto &tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

static LogicalResult storeInline(const OnnxFile &file, onnx::TensorProto &tensor) {
  std::string what = "initializer " + quoted(tensor.name());
  FailureOr<TypedBytes> values = readTypedBytes(file, tensor, what);
  if (failed(values))
    return failure();
  tensor.clear_float_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(values->bytes));
  return success();
}

static LogicalResult storeInline(OnnxFile &file) {
  bool isStored = true;
  visitInitializers(file, [&](onnx::TensorProto &tensor) {
    if (isStored && (isExternal(tensor) || tensor.data_type() == onnx::TensorProto::FLOAT))
      isStored = succeeded(storeInline(file, tensor));
  });
  return success(isStored);
}

FailureOr<OnnxImage> bppsa::loadOnnxImage(llvm::MemoryBufferRef buffer, MLIRContext *context) {
  FailureOr<OnnxFile> file = parseOnnxFile(buffer, context);
  if (failed(file))
    return failure();
  StringRef bytes = buffer.getBuffer();
  std::string normalised;
  std::optional<std::vector<OnnxImage::Parameter>> parameters;
  bool isInline = true;
  visitInitializers(*file,
                    [&](const onnx::TensorProto &tensor) { isInline &= !isExternal(tensor); });
  if (isInline)
    parameters = Locator(bytes, file->model).run();
  if (!parameters) {
    if (failed(storeInline(*file)))
      return failure();
    if (file->model.ByteSizeLong() > kMaxFileSize || !file->model.SerializeToString(&normalised))
      return emitError(file->location) << "with its external data the model is larger than 2 GiB";
    bytes = normalised;
    parameters = Locator(bytes, file->model).run();
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
