//===- HalfPrecision.cpp - float16 and bfloat16 as float32 ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Half-precision models are imported as float32 models. Casts to half precision therefore do not
// round.
//
//===----------------------------------------------------------------------===//

#include "OnnxFile.h"
#include "bppsa/Import/ImportONNX.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace bppsa;

static bool isHalf(int64_t dataType) {
  return dataType == onnx::TensorProto::FLOAT16 || dataType == onnx::TensorProto::BFLOAT16;
}

float bppsa::widenFloat16(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits >> 15) << 31, exponent = bits >> 10 & 31;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 31)
    return llvm::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0)
    return llvm::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  // Zeros and subnormal numbers are multiples of 2^-24.
  float value = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -value : value;
}

namespace {
class Widener {
public:
  explicit Widener(OnnxFile &file) : file(file) {}
  LogicalResult run();

  HalfPrecisionCounts counts;

private:
  LogicalResult widen(onnx::GraphProto &graph);
  LogicalResult widen(onnx::NodeProto &node);
  LogicalResult widen(onnx::TensorProto &tensor, StringRef what);
  bool widen(onnx::TypeProto &type);
  template <typename Infos> int64_t widenTypes(Infos &infos);

  OnnxFile &file;
};
} // namespace

LogicalResult Widener::widen(onnx::TensorProto &tensor, StringRef what) {
  if (!isHalf(tensor.data_type()))
    return success();
  FailureOr<TypedBytes> values = readTypedBytes(file, tensor, what);
  if (failed(values))
    return failure();
  bool isBrain = tensor.data_type() == onnx::TensorProto::BFLOAT16;
  const std::string &bytes = values->bytes;
  std::string wide(bytes.size() * 2, 0);
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    uint16_t bits = llvm::support::endian::read16le(bytes.data() + i);
    uint32_t value =
        isBrain ? static_cast<uint32_t>(bits) << 16 : llvm::bit_cast<uint32_t>(widenFloat16(bits));
    llvm::support::endian::write32le(wide.data() + 2 * i, value);
  }
  tensor.clear_int32_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.set_raw_data(std::move(wide));
  return success();
}

bool Widener::widen(onnx::TypeProto &type) {
  if (type.has_sequence_type())
    return widen(*type.mutable_sequence_type()->mutable_elem_type());
  if (!type.has_tensor_type() || !isHalf(type.tensor_type().elem_type()))
    return false;
  type.mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  return true;
}

template <typename Infos> int64_t Widener::widenTypes(Infos &infos) {
  int64_t count = 0;
  for (onnx::ValueInfoProto &info : infos)
    count += info.has_type() && widen(*info.mutable_type());
  return count;
}

LogicalResult Widener::widen(onnx::NodeProto &node) {
  for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    bool isType = attribute.name() == "to" || attribute.name() == "dtype" ||
                  attribute.name() == "stash_type" || attribute.name() == "softmax_precision";
    if (isType && node.op_type() != "BitCast" && isHalf(attribute.i())) {
      attribute.set_i(onnx::TensorProto::FLOAT);
      ++counts.nodes;
    }
    if (attribute.has_t() && isHalf(attribute.t().data_type())) {
      ++counts.nodes;
      if (failed(widen(*attribute.mutable_t(), "the constant of node " + quoted(node.name()))))
        return failure();
    }
    if (attribute.has_g() && failed(widen(*attribute.mutable_g())))
      return failure();
  }
  return success();
}

LogicalResult Widener::widen(onnx::GraphProto &graph) {
  for (onnx::TensorProto &tensor : *graph.mutable_initializer()) {
    counts.initializers += isHalf(tensor.data_type());
    if (failed(widen(tensor, "initializer " + quoted(tensor.name()))))
      return failure();
  }
  for (onnx::NodeProto &node : *graph.mutable_node())
    if (failed(widen(node)))
      return failure();
  int64_t inner = widenTypes(*graph.mutable_input()) + widenTypes(*graph.mutable_output());
  if (&graph == &file.model.graph())
    counts.arrays = inner;
  widenTypes(*graph.mutable_value_info());
  return success();
}

LogicalResult Widener::run() {
  for (onnx::FunctionProto &function : *file.model.mutable_functions())
    for (onnx::NodeProto &node : *function.mutable_node())
      if (failed(widen(node)))
        return failure();
  return widen(*file.model.mutable_graph());
}

FailureOr<HalfPrecisionCounts> bppsa::widenHalfPrecision(OnnxFile &file) {
  Widener widener(file);
  if (failed(widener.run()))
    return failure();
  return widener.counts;
}

FailureOr<std::optional<std::string>> bppsa::widenHalfPrecision(llvm::MemoryBufferRef buffer,
                                                                MLIRContext *context) {
  FailureOr<OnnxFile> file = parseOnnxFile(buffer, context);
  if (failed(file))
    return failure();
  FailureOr<HalfPrecisionCounts> counts = widenHalfPrecision(*file);
  if (failed(counts))
    return failure();
  if (!counts->any())
    return std::optional<std::string>();
  emitRemark(file->location) << "float16 and bfloat16 are computed, and saved, as float32: "
                             << counts->initializers << " initializers, " << counts->arrays
                             << " graph inputs and outputs, " << counts->nodes
                             << " casts and constants";
  FailureOr<std::string> bytes = serializeOnnxFile(*file, "in float32 the model");
  if (failed(bytes))
    return failure();
  return std::make_optional(std::move(*bytes));
}
