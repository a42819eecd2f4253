//===- DynamicAxes.cpp - make fixed sizes symbolic ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The graph is imported with symbolic axes to observe the data flow, and constants that hold a
// fixed size are changed, until none changes.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Import/DynamicAxes.h"
#include "../Initializers/InitializerUses.h"
#include "../Initializers/SubgraphParameters.h"
#include "InlineFunctions.h"
#include "ModelImporter.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// A factor of a dimension, with its size in the exporter's example.
struct Part {
  AffineExpr expr;
  int64_t size;
  int64_t stride;
};

class AxisReleaser {
public:
  AxisReleaser(OnnxFile &file, ArrayRef<BatchAxisRequest> requests)
      : file(file), graph(*file.model.mutable_graph()), requests(requests) {}

  LogicalResult run();

private:
  InFlightDiagnostic error() const;
  LogicalResult openInput(const BatchAxisRequest &request);
  /// Changes one constant that holds the size of a released axis. Returns false if there is none.
  bool repair(ModelImporter &importer);
  bool repairReshape(onnx::NodeProto &node, ModelImporter &importer);
  bool dropInitialState(onnx::NodeProto &node);
  onnx::NodeProto *findProducer(StringRef name);
  void eraseUnread(const std::string &name);

  const int64_t *findSize(AffineExpr expr, const ModelImporter &importer) const;
  std::optional<SmallVector<Part>> getParts(const Tensor &tensor,
                                            const ModelImporter &importer) const;
  const onnx::TensorProto *findConstant(StringRef name) const;
  static std::optional<SmallVector<int64_t>> readIntegers(StringRef name, ModelImporter &importer);
  std::string addIntegers(ArrayRef<int64_t> values);

  OnnxFile &file;
  onnx::GraphProto &graph;
  ArrayRef<BatchAxisRequest> requests;
  std::string ambiguous;
  /// Sizes in the exporter's example, by symbol name.
  llvm::StringMap<int64_t> sizes;
};
} // namespace

InFlightDiagnostic AxisReleaser::error() const {
  std::string words;
  for (const BatchAxisRequest &request : requests)
    words += (words.empty() ? "--dynamic=" : " --dynamic=") + request.name + ":" +
             std::to_string(request.axis);
  return emitError(file.location) << words << ": ";
}

LogicalResult AxisReleaser::openInput(const BatchAxisRequest &request) {
  auto found = llvm::find_if(*graph.mutable_input(), [&](const onnx::ValueInfoProto &input) {
    return input.name() == request.name;
  });
  if (found == graph.mutable_input()->end())
    return error() << "the model has no input " << quoted(request.name);
  onnx::TensorShapeProto &shape = *found->mutable_type()->mutable_tensor_type()->mutable_shape();
  if (request.axis >= shape.dim_size())
    return error() << "input " << quoted(request.name) << " has rank " << shape.dim_size();
  onnx::TensorShapeProto::Dimension &dim = *shape.mutable_dim(request.axis);
  if (!dim.has_dim_value() || dim.dim_value() < 1)
    return error() << "axis " << request.axis << " of input " << quoted(request.name)
                   << " has no fixed size; remove it from --dynamic";
  std::string name = request.name + "." + std::to_string(request.axis);
  sizes[name] = dim.dim_value();
  dim.set_dim_param(name);
  return success();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

const onnx::TensorProto *AxisReleaser::findConstant(StringRef name) const {
  for (const onnx::TensorProto &tensor : graph.initializer())
    if (tensor.name() == name)
      return &tensor;
  for (const onnx::NodeProto &node : graph.node())
    if (node.op_type() == "Constant" && node.output(0) == name && node.attribute_size() == 1 &&
        node.attribute(0).has_t())
      return &node.attribute(0).t();
  return nullptr;
}

std::optional<SmallVector<int64_t>> AxisReleaser::readIntegers(StringRef name,
                                                               ModelImporter &importer) {
  const Tensor *tensor = importer.lookup(name);
  if (!tensor || !tensor->elements)
    return std::nullopt;
  SmallVector<int64_t> numbers;
  for (AffineExpr element : *tensor->elements)
    if (std::optional<int64_t> number = getConstant(element))
      numbers.push_back(*number);
  return numbers.size() == tensor->elements->size() ? std::optional(numbers) : std::nullopt;
}

std::string AxisReleaser::addIntegers(ArrayRef<int64_t> values) {
  llvm::StringSet<> names;
  collectNames(graph, names);
  std::string name = "shape";
  while (names.contains(name))
    name += "_";
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (int64_t value : values)
    tensor.add_int64_data(value);
  return name;
}

//===----------------------------------------------------------------------===//
// Repairs
//===----------------------------------------------------------------------===//

const int64_t *AxisReleaser::findSize(AffineExpr expr, const ModelImporter &importer) const {
  auto symbol = dyn_cast<AffineSymbolExpr>(expr);
  auto found = symbol ? sizes.find(importer.getSymbols()[symbol.getPosition()]) : sizes.end();
  return found == sizes.end() ? nullptr : &found->second;
}

std::optional<SmallVector<Part>> AxisReleaser::getParts(const Tensor &tensor,
                                                        const ModelImporter &importer) const {
  SmallVector<AffineExpr> values;
  for (auto [position, name] : llvm::enumerate(importer.getSymbols())) {
    auto found = sizes.find(name);
    MLIRContext *context = file.location.getContext();
    values.push_back(found == sizes.end() ? getAffineSymbolExpr(position, context)
                                          : getAffineConstantExpr(found->second, context));
  }
  SmallVector<Part> parts;
  for (const Dim &dim : tensor.dims)
    for (const Factor &factor : dim.factors)
      parts.push_back({factor.size, 0, 0});
  int64_t stride = 1;
  for (Part &part : llvm::reverse(parts)) {
    std::optional<int64_t> size = getConstant(part.expr.replaceSymbols(values));
    if (!size || *size < 1)
      return std::nullopt;
    part.size = *size;
    part.stride = stride;
    stride *= *size;
  }
  return parts;
}

/// Returns the element of the shape `target` that alone contains all positions of `part`, or
/// nullopt.
static std::optional<size_t> findElement(ArrayRef<int64_t> target, const Part &part) {
  std::optional<size_t> exact, holding;
  int64_t stride = 1, holders = 0;
  for (size_t i = target.size(); i-- > 0; stride *= target[i]) {
    if (target[i] == part.size && stride == part.stride && !exact)
      exact = i;
    bool holds = part.stride % stride == 0 && stride * target[i] % (part.stride * part.size) == 0;
    holding = holds ? i : holding;
    holders += holds;
  }
  return exact ? exact : holders == 1 ? holding : std::nullopt;
}

bool AxisReleaser::repairReshape(onnx::NodeProto &node, ModelImporter &importer) {
  const Tensor *data = importer.lookup(node.input(0));
  std::optional<SmallVector<int64_t>> shape = readIntegers(node.input(1), importer);
  std::optional<SmallVector<Part>> parts = data && shape ? getParts(*data, importer) : std::nullopt;
  if (!parts)
    return false;
  // Sizes in the exporter's example.
  SmallVector<int64_t> target = *shape;
  int64_t total = 1, known = 1;
  for (const Part &part : *parts)
    total *= part.size;
  for (auto [i, size] : llvm::enumerate(target)) {
    if (size == 0 && i < data->dims.size()) {
      size = 1;
      for (const Factor &factor : data->dims[i].factors)
        for (const Part &part : *parts)
          size *= part.expr == factor.size ? part.size : 1;
    }
    known *= size > 0 ? size : 1;
  }
  for (int64_t &size : target)
    size = size == -1 ? total / known : size;
  // Positions of the released axes in the target shape.
  llvm::SmallSet<size_t, 4> released;
  for (const Part &part : *parts) {
    if (!findSize(part.expr, importer))
      continue;
    std::optional<size_t> element = findElement(target, part);
    if (!element) {
      ambiguous =
          "node " + quoted(getNodeName(node)) + " (Reshape): the shape [" +
          llvm::join(llvm::map_range(*shape, [](int64_t size) { return std::to_string(size); }),
                     ", ") +
          "] does not show which element holds " + std::to_string(part.size);
      return false;
    }
    released.insert(*element);
  }
  SmallVector<int64_t> repaired = target;
  int64_t inferred = 0;
  for (size_t i : released) {
    bool isCopied = i < data->dims.size() && findSize(data->dims[i].size, importer) &&
                    *findSize(data->dims[i].size, importer) == target[i];
    repaired[i] = isCopied ? 0 : -1;
    inferred += !isCopied;
  }
  // A shape that already follows the axes is unchanged.
  bool follows = llvm::all_of(released, [&](size_t i) { return (*shape)[i] <= 0; }) &&
                 llvm::all_of(llvm::enumerate(*shape), [&](auto entry) {
                   return entry.value() != -1 || released.contains(entry.index()) || inferred == 0;
                 });
  if (released.empty() || follows || inferred > 1)
    return false;
  node.set_input(1, addIntegers(repaired));
  // Zeros copy the input size, so `allowzero` must not be set.
  node.mutable_attribute()->Clear();
  return true;
}

onnx::NodeProto *AxisReleaser::findProducer(StringRef name) {
  for (onnx::NodeProto &node : *graph.mutable_node())
    if (node.output_size() == 1 && node.output(0) == name)
      return &node;
  return nullptr;
}

void AxisReleaser::eraseUnread(const std::string &name) {
  auto reads = [&](const onnx::NodeProto &node) {
    return llvm::is_contained(node.input(), name) ||
           llvm::any_of(node.attribute(), [](const auto &attribute) { return attribute.has_g(); });
  };
  if (name.empty() || llvm::any_of(graph.node(), reads))
    return;
  for (int i = 0; i < graph.initializer_size(); ++i)
    if (graph.initializer(i).name() == name)
      return graph.mutable_initializer()->DeleteSubrange(i, 1);
  onnx::NodeProto *producer = findProducer(name);
  if (!producer)
    return;
  SmallVector<std::string> inputs(producer->input().begin(), producer->input().end());
  for (int i = 0; i < graph.node_size(); ++i)
    if (&graph.node(i) == producer) {
      graph.mutable_node()->DeleteSubrange(i, 1);
      break;
    }
  for (const std::string &input : inputs)
    eraseUnread(input);
}

/// Removes a zero initial state that has the size of a released axis; zero is the default.
bool AxisReleaser::dropInitialState(onnx::NodeProto &node) {
  SmallVector<std::string> dropped;
  for (int index : {5, 6}) {
    std::string name = index < node.input_size() ? node.input(index) : "";
    for (onnx::NodeProto *producer = findProducer(name);
         producer && (producer->op_type() == "Expand" || producer->op_type() == "Identity");
         producer = findProducer(name))
      name = producer->input(0);
    const onnx::TensorProto *state = findConstant(name);
    if (!state || state->data_type() != onnx::TensorProto::FLOAT || state->dims_size() != 3)
      continue;
    bool isReleased = llvm::any_of(sizes, [&](const auto &entry) {
      return entry.second > 1 && entry.second == state->dims(1);
    });
    FailureOr<DenseElementsAttr> values = decodeTensor(file, *state, "the initial state");
    if (!isReleased || failed(values) || !values->isSplat() ||
        !values->getSplatValue<APFloat>().isPosZero())
      continue;
    dropped.push_back(node.input(index));
    node.set_input(index, "");
  }
  // Erasing moves nodes, so it is done last.
  for (const std::string &name : dropped)
    eraseUnread(name);
  return !dropped.empty();
}

bool AxisReleaser::repair(ModelImporter &importer) {
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    if (node.op_type() == "Reshape" && node.input_size() == 2 && repairReshape(node, importer))
      return true;
    bool isRecurrent =
        node.op_type() == "RNN" || node.op_type() == "GRU" || node.op_type() == "LSTM";
    if (isRecurrent && dropInitialState(node))
      return true;
  }
  return false;
}

LogicalResult AxisReleaser::run() {
  for (const BatchAxisRequest &request : requests)
    if (failed(openInput(request)))
      return failure();
  for (onnx::ValueInfoProto &value : *graph.mutable_value_info())
    if (!findConstant(value.name()))
      value.mutable_type()->mutable_tensor_type()->clear_shape();
  for (onnx::ValueInfoProto &output : *graph.mutable_output())
    for (auto &dim : *output.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
      dim.Clear();
  llvm::StringSet<> innerNames = findInnerParameters(file.model);
  ImportOptions options;
  GraphBindings bindings;
  while (true) {
    ModelImporter importer(file, innerNames, options, bindings, /*stream=*/nullptr);
    std::string reason;
    bool isImported;
    {
      ScopedDiagnosticHandler silence(file.location.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          reason = diagnostic.str();
        return success();
      });
      isImported = succeeded(importer.run());
      if (repair(importer))
        continue;
    }
    if (!ambiguous.empty())
      return error() << ambiguous << "; export the model with this axis dynamic";
    if (isImported)
      return success();
    std::optional<Bindings::value_type> missing = importer.getMissingBinding();
    bool isFixed = missing && sizes.contains(missing->first) &&
                   std::holds_alternative<int64_t>(missing->second);
    if (!missing || isFixed)
      return error() << "the graph needs the size that is fixed: " << reason
                     << "; export the model with this axis dynamic";
    bindings.dimensions.insert(*missing);
  }
}

FailureOr<std::string> bppsa::releaseAxes(llvm::MemoryBufferRef buffer, MLIRContext *context,
                                          ArrayRef<BatchAxisRequest> axes) {
  loadImportedDialects(context);
  FailureOr<OnnxFile> file = parseOnnxFile(buffer, context);
  if (failed(file) || failed(inlineFunctions(*file)) || failed(AxisReleaser(*file, axes).run()))
    return failure();
  return serializeOnnxFile(*file, "the model");
}
