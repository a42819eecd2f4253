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

void loadImportedDialects(mlir::MLIRContext *context);

/// One attempt to import a graph.
class ModelImporter {
public:
  /// `innerNames` holds the names of the parameters in subgraphs.
  ModelImporter(const OnnxFile &file, const llvm::StringSet<> &innerNames,
                const ImportOptions &options, const GraphBindings &bindings,
                const StreamPlan *stream);

  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> run();

  /// Returns the symbol binding, by name, that a failed attempt lacked.
  std::optional<Bindings::value_type> getMissingBinding() const;
  bool isMissingBinding() const { return graph.pendingBinding.has_value(); }
  /// Available after an attempt: the imported value `name` (or null), and the names of the symbols
  /// by position.
  const Tensor *lookup(llvm::StringRef name) { return scope.lookup(name).value_or(nullptr); }
  llvm::ArrayRef<std::string> getSymbols() const { return graph.symbols; }

private:
  mlir::InFlightDiagnostic error() const { return mlir::emitError(file.location); }
  mlir::LogicalResult requireTensor(const std::string &name, const Tensor &tensor) const;

  mlir::LogicalResult readOpset();
  mlir::LogicalResult importInputs();
  mlir::LogicalResult importInitializers();
  mlir::LogicalResult importParameter(const onnx::TensorProto &tensor);
  mlir::LogicalResult importOutputs();
  mlir::LogicalResult setAxes();
  /// Checks running statistics, and warns about initializers that are not trained although the user
  /// did not freeze them.
  mlir::LogicalResult checkStatistics();
  void warnOfUntrained();

  mlir::Value addArgument(mlir::Type type, mlir::NamedAttribute role);
  Tensor addInput(const std::string &name, llvm::ArrayRef<Dim> dims, mlir::Type elementType);
  void addOutput(const std::string &name, const Tensor &tensor);
  void setResults();
  mlir::FailureOr<llvm::SmallVector<Dim>> readInputDims(const onnx::ValueInfoProto &input);
  mlir::AffineExpr getSymbol(const std::string &name);
  mlir::AffineExpr makeSymbol(const std::string &name);

  // Stream.cpp
  llvm::SmallVector<Dim> getStreamDims(const StreamAxes &axes, llvm::ArrayRef<Dim> dims);
  mlir::LogicalResult importStream();
  // StreamLookups.cpp
  /// Removes from `body` the nodes that look up rows of a parameter by the input `name`, and
  /// imports them for all steps and rows of `sequence` at once, so the gradient of the table is a
  /// single sum.
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
  llvm::SmallVector<const onnx::TensorProto *> innerParameters;
  Scope scope;
  llvm::StringMap<unsigned> symbolPositions;
  mlir::func::FuncOp function;
  llvm::SmallVector<BoundaryArray> arrays;
  /// The arrays of a stream, by the names of the graph inputs.
  llvm::SmallVector<std::pair<std::string, Tensor>> streamInputs;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::NamedAttrList> resultAttributes;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_MODEL_MODELIMPORTER_H
