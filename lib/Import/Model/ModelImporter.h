//===- ModelImporter.h - one attempt to import a model ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_MODEL_MODELIMPORTER_H
#define BPPSA_LIB_IMPORT_MODEL_MODELIMPORTER_H

#include "../Graph/SampleAxes.h"
#include "../Loops/StreamPlan.h"
#include "Bindings.h"
#include "GraphImporter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace bppsa {

/// Loads what imported functions are made of.
void loadImportedDialects(mlir::MLIRContext *context);

/// One attempt to import a graph.
class ModelImporter {
public:
  /// `innerNames` are those of the parameters of graphs inside of nodes. With a `stream`, the graph
  /// is the body of a loop over its steps.
  ModelImporter(const OnnxFile &file, const llvm::StringSet<> &innerNames,
                const ImportOptions &options, const GraphBindings &bindings,
                const StreamPlan *stream);

  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> run();

  /// After a failed attempt: the binding of a symbol that was missing, by name.
  std::optional<Bindings::value_type> getMissingBinding() const;
  bool isMissingBinding() const { return graph.pendingBinding.has_value(); }
  /// After an attempt: the value of that name, or null where it has not been imported; and the
  /// names of the symbols, by position.
  const Tensor *lookup(llvm::StringRef name) { return scope.lookup(name).value_or(nullptr); }
  llvm::ArrayRef<std::string> getSymbols() const { return graph.symbols; }

private:
  mlir::InFlightDiagnostic error() const { return mlir::emitError(file.location); }
  /// The error that a graph output is a list of tensors.
  mlir::LogicalResult requireTensor(const std::string &name, const Tensor &tensor) const;

  mlir::LogicalResult readOpset();
  mlir::LogicalResult importInputs();
  mlir::LogicalResult importInitializers();
  mlir::LogicalResult importParameter(const onnx::TensorProto &tensor);
  mlir::LogicalResult importOutputs();
  mlir::LogicalResult setAxes();
  /// Warns of initializers that are not trained though nobody froze them.
  mlir::LogicalResult checkStatistics();
  void warnOfUntrained();

  /// A new argument of the function, which is `role`.
  mlir::Value addArgument(mlir::Type type, mlir::NamedAttribute role);
  /// A new argument for the graph input `name` of sizes `dims`.
  Tensor addInput(const std::string &name, llvm::ArrayRef<Dim> dims, mlir::Type elementType);
  void addOutput(const std::string &name, const Tensor &tensor);
  /// Makes what the function returns its results.
  void setResults();
  mlir::FailureOr<llvm::SmallVector<Dim>> readInputDims(const onnx::ValueInfoProto &input);
  /// The symbol of that name, or what it is bound to.
  mlir::AffineExpr getSymbol(const std::string &name);
  mlir::AffineExpr makeSymbol(const std::string &name);

  // Stream.cpp
  /// The sizes of the array of an input or output whose graph has sizes `dims`.
  llvm::SmallVector<Dim> getStreamDims(const StreamAxes &axes, llvm::ArrayRef<Dim> dims);
  /// Imports the graph as the body of a loop, and its outputs.
  mlir::LogicalResult importStream();
  // StreamLookups.cpp
  /// Takes the nodes out of `body` that pick rows of a parameter by the input `name`, whose values
  /// are `sequence`, and imports them for all steps and rows at once: the gradient of a table is
  /// one sum then. Returns what they define, as sequences.
  mlir::FailureOr<llvm::SmallVector<std::pair<std::string, Tensor>>>
  hoistLookups(onnx::GraphProto &body, llvm::StringRef name, const Tensor &sequence);
  mlir::LogicalResult checkStreamOutput(const std::string &name, const Tensor &tensor) const;
  mlir::LogicalResult checkCarried(const std::string &name, const Tensor &before,
                                   const Tensor &after) const;
  mlir::LogicalResult setStreamAxes();

  const OnnxFile &file;
  const onnx::GraphProto &proto;
  const ImportOptions &options;
  const GraphBindings &bindings;
  const StreamPlan *stream;
  mlir::OpBuilder builder;
  GraphBuilder graph;
  GraphImporter nodes;
  /// Those of graphs inside of nodes.
  llvm::SmallVector<const onnx::TensorProto *> innerParameters;
  Scope scope;
  llvm::StringMap<unsigned> symbolPositions;
  mlir::func::FuncOp function;
  llvm::SmallVector<BoundaryArray> arrays;
  /// The arrays of a stream, by the names of the inputs.
  llvm::SmallVector<std::pair<std::string, Tensor>> streamInputs;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::NamedAttrList> resultAttributes;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_MODEL_MODELIMPORTER_H
