//===- Importer.cpp - import the nodes of a graph -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "ModelImporter.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bppsa;

LogicalResult ModelImporter::readOpset() {
  for (const onnx::OperatorSetIdProto &import : file.model.opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx")
      continue;
    if (nodes.opset != 0)
      return error() << "the model imports the default domain twice";
    nodes.opset = import.version();
    if (nodes.opset < kOldestOpset || nodes.opset > kNewestOpset)
      return error() << "the model has opset " << nodes.opset << ", accepted: " << kOldestOpset
                     << " to " << kNewestOpset;
  }
  if (nodes.opset == 0)
    return error() << "the model does not import the default domain, accepted: opset "
                   << kOldestOpset << " to " << kNewestOpset;
  return success();
}

ModelImporter::ModelImporter(const OnnxFile &file, const llvm::StringSet<> &innerNames,
                             const ImportOptions &options, const GraphBindings &bindings,
                             const StreamPlan *stream)
    : file(file), proto(file.model.graph()), options(options), bindings(bindings), stream(stream),
      builder(file.location.getContext()), graph(builder), nodes(file, graph) {
  graph.loc = file.location;
  graph.sharesStatistics = options.sharesStatistics;
  graph.isUntied = options.isUntied;
  visitSubgraphs(proto, [&](const onnx::GraphProto &inner) {
    for (const onnx::TensorProto &tensor : inner.initializer())
      if (innerNames.contains(tensor.name()))
        innerParameters.push_back(&tensor);
  });
}

AffineExpr ModelImporter::makeSymbol(const std::string &name) {
  auto [it, isNew] = symbolPositions.try_emplace(name, graph.symbols.size());
  if (isNew)
    graph.symbols.push_back(name);
  return getAffineSymbolExpr(it->second, builder.getContext());
}

AffineExpr ModelImporter::getSymbol(const std::string &name) {
  std::string current = name;
  const Bindings &dimensions = bindings.dimensions;
  for (auto it = dimensions.find(current); it != dimensions.end(); it = dimensions.find(current)) {
    if (auto *constant = std::get_if<int64_t>(&it->second))
      return graph.getExpr(*constant);
    current = std::get<std::string>(it->second);
  }
  return makeSymbol(current);
}

std::optional<Bindings::value_type> ModelImporter::getMissingBinding() const {
  if (!graph.pendingBinding)
    return std::nullopt;
  AffineExpr value = graph.pendingBinding->value;
  const std::string &name = graph.symbols[graph.pendingBinding->symbol];
  if (std::optional<int64_t> constant = getConstant(value))
    return Bindings::value_type{name, *constant};
  return Bindings::value_type{name, graph.symbols[cast<AffineSymbolExpr>(value).getPosition()]};
}

FailureOr<SmallVector<Dim>> ModelImporter::readInputDims(const onnx::ValueInfoProto &input) {
  auto inputError = [&]() { return error() << "graph input " << quoted(input.name()) << " "; };
  if (!input.type().has_tensor_type())
    return inputError() << "is no tensor, accepted: tensors";
  const onnx::TypeProto::Tensor &type = input.type().tensor_type();
  if (!convertDataType(type.elem_type(), builder.getContext()))
    return inputError() << "has element type " << dataTypeName(type.elem_type())
                        << ", accepted: float, int32, int64 or bool";
  if (!type.has_shape())
    return inputError() << "has no shape; give it one, with names for dynamic dimensions";
  if (type.shape().dim_size() > 16)
    return inputError() << "has rank " << type.shape().dim_size() << ", accepted: at most 16";
  SmallVector<Dim> dims;
  for (const auto &[i, dim] : llvm::enumerate(type.shape().dim())) {
    if (dim.has_dim_value() && (dim.dim_value() < 0 || dim.dim_value() > (int64_t(1) << 31)))
      return inputError() << "has size " << dim.dim_value() << " in dimension " << i
                          << ", accepted: 0 to 2^31, or a name for a dynamic dimension";
    dims.push_back(graph.makeInputDim(dim.has_dim_value() ? graph.getExpr(dim.dim_value())
                                                          : getSymbol(getDimensionName(input, i))));
  }
  return dims;
}

Value ModelImporter::addArgument(Type type, NamedAttribute role) {
  graph.argumentAttributes.emplace_back().push_back(role);
  return function.front().addArgument(type, file.location);
}

Tensor ModelImporter::addInput(const std::string &name, ArrayRef<Dim> dims, Type elementType) {
  Value argument = addArgument(graph.getType(dims, elementType),
                               attrs::Input::make(builder.getStringAttr(name)));
  for (auto [i, dim] : llvm::enumerate(dims))
    if (auto symbol = dyn_cast<AffineSymbolExpr>(dim.size))
      graph.bindSymbol(symbol.getPosition(), argument, i);
  unsigned index = cast<BlockArgument>(argument).getArgNumber();
  arrays.push_back({name, SmallVector<Dim>(dims), index, /*isInput=*/true});
  return graph.make(argument, dims);
}

LogicalResult ModelImporter::importInputs() {
  for (const onnx::TensorProto &tensor : proto.initializer())
    nodes.initializers.try_emplace(tensor.name(), &tensor);
  for (const onnx::TensorProto *tensor : innerParameters)
    nodes.initializers.try_emplace(tensor->name(), tensor);
  for (const onnx::ValueInfoProto &input : proto.input()) {
    // Before IR version 4, initializers had to be graph inputs.
    if (nodes.initializers.contains(input.name()))
      continue;
    if (input.name().empty())
      return error() << "a graph input has no name";
    if (auto bound = bindings.inputs.find(input.name()); bound != bindings.inputs.end()) {
      if (failed(nodes.define(scope, input.name(), graph.makeConstant(bound->second))))
        return failure();
      continue;
    }
    FailureOr<SmallVector<Dim>> dims = readInputDims(input);
    if (failed(dims))
      return failure();
    Type elementType =
        convertDataType(input.type().tensor_type().elem_type(), builder.getContext());
    if (stream)
      streamInputs.push_back(
          {input.name(),
           addInput(input.name(), getStreamDims(stream->inputs.find(input.name())->second, *dims),
                    elementType)});
    else if (failed(nodes.define(scope, input.name(), addInput(input.name(), *dims, elementType))))
      return failure();
  }
  return success();
}

LogicalResult ModelImporter::importParameter(const onnx::TensorProto &tensor) {
  std::string what = "initializer " + quoted(tensor.name());
  FailureOr<RankedTensorType> type = getTensorType(file, tensor, what);
  if (failed(type))
    return failure();
  if (type->getNumElements() == 0)
    return error() << what << " has no elements, accepted: at least 1";
  if (failed(checkTensorData(file, tensor, *type, what)))
    return failure();
  graph.parameterNumbers[tensor.name()] = graph.argumentAttributes.size();
  Value argument = addArgument(*type, attrs::Parameter::make(builder.getStringAttr(tensor.name())));
  return nodes.define(scope, tensor.name(),
                      graph.make(argument, graph.makePinnedDims(type->getShape())));
}

LogicalResult ModelImporter::importInitializers() {
  for (const onnx::TensorProto &tensor : proto.initializer()) {
    if (tensor.name().empty())
      return error() << "an initializer has no name";
    if (tensor.data_type() == onnx::TensorProto::FLOAT) {
      if (failed(importParameter(tensor)))
        return failure();
      continue;
    }
    FailureOr<DenseElementsAttr> constant =
        decodeTensor(file, tensor, "initializer " + quoted(tensor.name()));
    if (failed(constant) ||
        failed(nodes.define(scope, tensor.name(), graph.makeConstant(*constant))))
      return failure();
  }
  for (const onnx::TensorProto *tensor : innerParameters)
    if (failed(importParameter(*tensor)))
      return failure();
  return success();
}

void ModelImporter::addOutput(const std::string &name, const Tensor &tensor) {
  unsigned index = results.size();
  results.push_back(graph.getValue(tensor));
  arrays.push_back({name, tensor.dims, index, /*isInput=*/false});
  resultAttributes.emplace_back().push_back(attrs::Output::make(builder.getStringAttr(name)));
}

LogicalResult ModelImporter::requireTensor(const std::string &name, const Tensor &tensor) const {
  if (tensor.list)
    return error() << "graph output " << quoted(name)
                   << " is a list of tensors, accepted: tensors; ConcatFromSequence or SequenceAt "
                      "returns one";
  return success();
}

LogicalResult ModelImporter::importOutputs() {
  graph.loc = file.location;
  llvm::StringSet<> names;
  FailureOr<SmallVector<Tensor>> outputs = nodes.getOutputs(proto, scope);
  if (failed(outputs))
    return failure();
  for (auto [output, tensor] : llvm::zip_equal(proto.output(), *outputs)) {
    if (!names.insert(output.name()).second)
      return error() << "graph output " << quoted(output.name()) << " is listed twice";
    if (failed(requireTensor(output.name(), tensor)))
      return failure();
    addOutput(output.name(), tensor);
  }
  return success();
}

void ModelImporter::setResults() {
  func::ReturnOp::create(builder, file.location, results);
  function.setType(
      builder.getFunctionType(function.front().getArgumentTypes(), ValueRange(results).getTypes()));
}

LogicalResult ModelImporter::setAxes() {
  for (const BoundaryArray &array : arrays) {
    SmallVector<AffineExpr> sizes;
    for (auto [i, dim] : llvm::enumerate(array.dims)) {
      sizes.push_back(dim.size);
      if (!stream && graph.axes.carriesSteps(graph.getOrigin(dim)))
        array.setAttr(function, attrs::TimeAxis::make(builder.getI64IntegerAttr(i)));
    }
    AffineMap shape = AffineMap::get(0, graph.symbols.size(), sizes, builder.getContext());
    array.setAttr(function, attrs::Shape::make(AffineMapAttr::get(shape)));
  }
  return stream ? setStreamAxes() : setBatchAxes(function, graph, arrays, options.batchAxes);
}

static SymbolsAttr makeSymbolsAttr(const GraphBuilder &graph) {
  Builder builder(graph.getContext());
  SmallVector<StringAttr> names;
  for (const std::string &name : graph.symbols)
    names.push_back(builder.getStringAttr(name));
  SmallVector<int64_t> minSizes = graph.minSizes;
  minSizes.resize(names.size(), 1);
  return SymbolsAttr::get(builder.getContext(), names, minSizes);
}

FailureOr<OwningOpRef<ModuleOp>> ModelImporter::run() {
  if (failed(readOpset()))
    return failure();
  OwningOpRef<ModuleOp> module = ModuleOp::create(file.location);
  builder.setInsertionPointToEnd(module->getBody());
  function =
      func::FuncOp::create(builder, file.location, "forward", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  if (failed(importInputs()) || failed(importInitializers()))
    return failure();
  if (proto.output_size() == 0)
    return error() << "the graph has no outputs";
  if (stream ? failed(importStream())
             : failed(nodes.importNodes(proto, scope)) || failed(importOutputs()))
    return failure();
  setResults();
  if (failed(checkStatistics()))
    return failure();
  warnOfUntrained();
  auto getDictionary = [&](const NamedAttrList &attributes) {
    return attributes.getDictionary(builder.getContext());
  };
  function.setAllArgAttrs(llvm::map_to_vector(graph.argumentAttributes, getDictionary));
  function.setAllResultAttrs(llvm::map_to_vector(resultAttributes, getDictionary));
  if (failed(setAxes()))
    return failure();
  attrs::Symbols::set(*module, makeSymbolsAttr(graph));
  std::string bug;
  {
    BugCollector bugs(builder.getContext());
    if (succeeded(verify(*module)))
      return module;
    bug = bugs.describe(/*reproducer=*/"");
  }
  return error() << bug;
}
