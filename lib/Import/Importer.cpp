//===- Importer.cpp - walks the graph -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "SampleAxes.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <variant>

using namespace mlir;
using namespace bppsa;

namespace {
/// What a symbolic dimension turned out to be: another one, or a number.
using Bindings = std::map<std::string, std::variant<std::string, int64_t>>;

/// One attempt to import a graph.
class Importer {
public:
  Importer(const OnnxFile &file, const ImportOptions &options, const Bindings &bindings)
      : file(file), proto(file.model.graph()), options(options), bindings(bindings),
        builder(file.location.getContext()), graph(builder) {
    graph.loc = file.location;
  }

  FailureOr<OwningOpRef<ModuleOp>> run();

  /// After a failed attempt: the binding of a symbol that was missing, by name.
  std::optional<Bindings::value_type> getMissingBinding() const;
  bool isMissingBinding() const { return graph.pendingBinding.has_value(); }

private:
  InFlightDiagnostic error() const { return emitError(file.location); }

  LogicalResult readOpset();
  LogicalResult importInputs();
  LogicalResult importInitializers();
  LogicalResult importNode(const onnx::NodeProto &node);
  LogicalResult importOutputs();
  LogicalResult setAxes();

  /// A new argument of the function, whose attribute `attribute` is `name`.
  Value addArgument(Type type, StringRef attribute, StringRef name);
  FailureOr<SmallVector<Dim>> readInputDims(const onnx::ValueInfoProto &input);
  /// The symbol of that name, or what it is bound to.
  AffineExpr getSymbol(const std::string &name);
  LogicalResult define(const std::string &name, Tensor tensor);
  /// The error that nothing before `node` defines `name`.
  LogicalResult emitUndefined(const Node &node, StringRef name) const;

  const OnnxFile &file;
  const onnx::GraphProto &proto;
  const ImportOptions &options;
  const Bindings &bindings;
  OpBuilder builder;
  GraphBuilder graph;
  int64_t opset = 0;
  Initializers initializers;
  llvm::StringMap<Tensor> values;
  llvm::StringMap<unsigned> symbolPositions;
  func::FuncOp function;
  SmallVector<BoundaryArray> arrays;
  SmallVector<NamedAttrList> resultAttributes;
};
} // namespace

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

LogicalResult Importer::readOpset() {
  for (const onnx::OperatorSetIdProto &import : file.model.opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx")
      continue;
    if (opset != 0)
      return error() << "the model imports the default domain twice";
    opset = import.version();
    if (opset < oldestOpset || opset > newestOpset)
      return error() << "the model has opset " << opset << ", accepted: " << oldestOpset << " to "
                     << newestOpset;
  }
  if (opset == 0)
    return error() << "the model does not import the default domain, accepted: opset "
                   << oldestOpset << " to " << newestOpset;
  return success();
}

AffineExpr Importer::getSymbol(const std::string &name) {
  std::string current = name;
  for (auto it = bindings.find(current); it != bindings.end(); it = bindings.find(current)) {
    if (auto *constant = std::get_if<int64_t>(&it->second))
      return graph.getExpr(*constant);
    current = std::get<std::string>(it->second);
  }
  auto [it, isNew] = symbolPositions.try_emplace(current, graph.symbols.size());
  if (isNew)
    graph.symbols.push_back(current);
  return getAffineSymbolExpr(it->second, builder.getContext());
}

std::optional<Bindings::value_type> Importer::getMissingBinding() const {
  if (!graph.pendingBinding)
    return std::nullopt;
  AffineExpr value = graph.pendingBinding->value;
  const std::string &name = graph.symbols[graph.pendingBinding->symbol];
  if (std::optional<int64_t> constant = getConstant(value))
    return Bindings::value_type{name, *constant};
  return Bindings::value_type{name, graph.symbols[cast<AffineSymbolExpr>(value).getPosition()]};
}

LogicalResult Importer::define(const std::string &name, Tensor tensor) {
  if (!values.try_emplace(name, std::move(tensor)).second)
    return error() << "the name " << quoted(name) << " is defined twice";
  return success();
}

FailureOr<SmallVector<Dim>> Importer::readInputDims(const onnx::ValueInfoProto &input) {
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
    if (dim.has_dim_value() && (dim.dim_value() < 1 || dim.dim_value() > (int64_t(1) << 31)))
      return inputError() << "has size " << dim.dim_value() << " in dimension " << i
                          << ", accepted: 1 to 2^31, or a name for a dynamic dimension";
    std::string name = dim.dim_param();
    if (name.empty())
      name = input.name() + "." + std::to_string(i);
    dims.push_back(
        graph.makeInputDim(dim.has_dim_value() ? graph.getExpr(dim.dim_value()) : getSymbol(name)));
  }
  return dims;
}

Value Importer::addArgument(Type type, StringRef attribute, StringRef name) {
  graph.argumentAttributes.emplace_back().append(attribute, builder.getStringAttr(name));
  return function.front().addArgument(type, file.location);
}

LogicalResult Importer::importInputs() {
  for (const onnx::TensorProto &tensor : proto.initializer())
    initializers.try_emplace(tensor.name(), &tensor);
  for (const onnx::ValueInfoProto &input : proto.input()) {
    // Before IR version 4 initializers were listed among the inputs.
    if (initializers.contains(input.name()))
      continue;
    if (input.name().empty())
      return error() << "a graph input has no name";
    FailureOr<SmallVector<Dim>> dims = readInputDims(input);
    if (failed(dims))
      return failure();
    Type elementType =
        convertDataType(input.type().tensor_type().elem_type(), builder.getContext());
    Value argument = addArgument(graph.getType(*dims, elementType), "bppsa.input", input.name());
    for (auto [i, dim] : llvm::enumerate(*dims))
      if (auto symbol = dyn_cast<AffineSymbolExpr>(dim.size))
        graph.bindSymbol(symbol.getPosition(), argument, i);
    unsigned index = cast<BlockArgument>(argument).getArgNumber();
    arrays.push_back({input.name(), *dims, index, /*isInput=*/true});
    if (failed(define(input.name(), graph.make(argument, *dims))))
      return failure();
  }
  return success();
}

LogicalResult Importer::importInitializers() {
  for (const onnx::TensorProto &tensor : proto.initializer()) {
    if (tensor.name().empty())
      return error() << "an initializer has no name";
    std::string what = "initializer " + quoted(tensor.name());
    if (tensor.data_type() != onnx::TensorProto::FLOAT) {
      FailureOr<DenseElementsAttr> constant = decodeTensor(file, tensor, what);
      if (failed(constant) || failed(define(tensor.name(), graph.makeConstant(*constant))))
        return failure();
      continue;
    }
    FailureOr<RankedTensorType> type = getTensorType(file, tensor, what);
    if (failed(type))
      return failure();
    if (type->getNumElements() == 0)
      return error() << what << " has no elements, accepted: at least 1";
    if (failed(checkTensorData(file, tensor, *type, what)))
      return failure();
    Value argument = addArgument(*type, "bppsa.parameter", tensor.name());
    if (failed(define(tensor.name(), graph.make(argument, graph.makePinnedDims(type->getShape())))))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult Importer::emitUndefined(const Node &node, StringRef name) const {
  for (const onnx::NodeProto &other : proto.node())
    if (llvm::is_contained(other.output(), name.str()))
      return node.emitError() << "reads " << quoted(name)
                              << ", which only a later node defines: the graph is cyclic or its "
                                 "nodes are not in topological order";
  return node.emitError() << "reads " << quoted(name) << ", which nothing defines";
}

LogicalResult Importer::importNode(const onnx::NodeProto &nodeProto) {
  StringRef domain = nodeProto.domain();
  const OpRule *rule =
      domain.empty() || domain == "ai.onnx" ? findOp(nodeProto.op_type()) : nullptr;
  StringRef name = nodeProto.name();
  if (name.empty() && nodeProto.output_size() != 0)
    name = nodeProto.output(0);
  if (!rule)
    return error() << "node " << quoted(name) << ": op " << quoted(nodeProto.op_type())
                   << " of domain " << quoted(domain.empty() ? "ai.onnx" : domain)
                   << " is not supported; --list-support prints what is";
  if (!rule->opsets.contains(opset))
    return error() << "node " << quoted(name) << " (" << rule->name << "): the model has opset "
                   << opset << ", accepted: " << rule->opsets.first << " to " << rule->opsets.last;
  // Messages of emulated kernels name both.
  Location type = NameLoc::get(builder.getStringAttr(rule->name), file.location);
  graph.loc = NameLoc::get(builder.getStringAttr(name.empty() ? rule->name : name), type);
  Node node(graph, file, initializers, nodeProto, *rule, opset);
  for (const std::string &input : nodeProto.input()) {
    auto it = values.find(input);
    if (!input.empty() && it == values.end())
      return emitUndefined(node, input);
    node.inputs.push_back(input.empty() ? std::nullopt : std::make_optional(it->second));
  }
  if (failed(node.checkAttributes()) || failed(node.checkOperands()) || failed(rule->import(node)))
    return failure();
  for (auto [output, tensor] : llvm::zip(nodeProto.output(), node.outputs))
    if (!output.empty() && tensor && failed(define(output, std::move(*tensor))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

LogicalResult Importer::importOutputs() {
  graph.loc = file.location;
  if (proto.output_size() == 0)
    return error() << "the graph has no outputs";
  SmallVector<Value> results;
  llvm::StringSet<> names;
  for (const onnx::ValueInfoProto &output : proto.output()) {
    auto it = values.find(output.name());
    if (it == values.end())
      return error() << "graph output " << quoted(output.name()) << " is what nothing defines";
    if (!names.insert(output.name()).second)
      return error() << "graph output " << quoted(output.name()) << " is listed twice";
    results.push_back(graph.getValue(it->second));
    unsigned index = results.size() - 1;
    arrays.push_back({output.name(), it->second.dims, index, /*isInput=*/false});
    resultAttributes.emplace_back().append("bppsa.output", builder.getStringAttr(output.name()));
  }
  func::ReturnOp::create(builder, file.location, results);
  function.setType(
      builder.getFunctionType(function.front().getArgumentTypes(), ValueRange(results).getTypes()));
  return success();
}

/// Sets the sizes of all inputs and outputs, and their time and batch axes.
LogicalResult Importer::setAxes() {
  for (const BoundaryArray &array : arrays) {
    SmallVector<AffineExpr> sizes;
    for (auto [i, dim] : llvm::enumerate(array.dims)) {
      sizes.push_back(dim.size);
      if (graph.getRole(dim) == AxisRole::Time)
        array.setAttr(function, "bppsa.time_axis", builder.getI64IntegerAttr(i));
    }
    AffineMap shape = AffineMap::get(0, graph.symbols.size(), sizes, builder.getContext());
    array.setAttr(function, "bppsa.shape", AffineMapAttr::get(shape));
  }
  return setBatchAxes(function, graph, arrays, options.batchAxes);
}

FailureOr<OwningOpRef<ModuleOp>> Importer::run() {
  if (failed(readOpset()))
    return failure();
  OwningOpRef<ModuleOp> module = ModuleOp::create(file.location);
  builder.setInsertionPointToEnd(module->getBody());
  function =
      func::FuncOp::create(builder, file.location, "forward", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  if (failed(importInputs()) || failed(importInitializers()))
    return failure();
  for (const onnx::NodeProto &node : proto.node())
    if (failed(importNode(node)))
      return failure();
  if (failed(importOutputs()))
    return failure();
  auto getDictionary = [&](const NamedAttrList &attributes) {
    return attributes.getDictionary(builder.getContext());
  };
  function.setAllArgAttrs(llvm::map_to_vector(graph.argumentAttributes, getDictionary));
  function.setAllResultAttrs(llvm::map_to_vector(resultAttributes, getDictionary));
  if (failed(setAxes()))
    return failure();
  SmallVector<StringRef> names(graph.symbols.begin(), graph.symbols.end());
  (*module)->setAttr("bppsa.symbols", builder.getStrArrayAttr(names));
  if (!graph.leastSizes.empty())
    (*module)->setAttr("bppsa.least_sizes", builder.getDenseI64ArrayAttr(graph.leastSizes));
  if (failed(verify(*module)))
    return failure();
  return module;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

FailureOr<OwningOpRef<ModuleOp>> bppsa::importONNX(llvm::MemoryBufferRef buffer,
                                                   MLIRContext *context,
                                                   const ImportOptions &options) {
  context->loadDialect<BPPSADialect, affine::AffineDialect, arith::ArithDialect, func::FuncDialect,
                       linalg::LinalgDialect, math::MathDialect, tensor::TensorDialect,
                       vector::VectorDialect>();
  FailureOr<OnnxFile> file = parseOnnxFile(buffer, context);
  if (failed(file))
    return failure();
  // Each attempt that fails for want of a binding removes one symbol.
  Bindings bindings;
  while (true) {
    Importer importer(*file, options, bindings);
    FailureOr<OwningOpRef<ModuleOp>> module = failure();
    {
      // An error that the next attempt will not meet is not shown.
      ScopedDiagnosticHandler handler(
          context, [&](Diagnostic &) { return success(importer.isMissingBinding()); });
      module = importer.run();
    }
    std::optional<Bindings::value_type> missing = importer.getMissingBinding();
    if (succeeded(module) || !missing)
      return module;
    bindings.insert(*missing);
  }
}

FailureOr<OwningOpRef<ModuleOp>> bppsa::importONNX(StringRef path, MLIRContext *context,
                                                   const ImportOptions &options) {
  FailureOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = readModelFile(path, context);
  if (failed(buffer))
    return failure();
  return importONNX(**buffer, context, options);
}
