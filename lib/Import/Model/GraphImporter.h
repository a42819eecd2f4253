//===- GraphImporter.h - import nodes and subgraphs -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_MODEL_GRAPHIMPORTER_H
#define BPPSA_LIB_IMPORT_MODEL_GRAPHIMPORTER_H

#include "../Graph/GraphBuilder.h"
#include "OnnxFile.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace bppsa {

struct OpRule;

using Initializers = llvm::StringMap<const onnx::TensorProto *>;

/// The values visible to the nodes of a graph, by name: its values and the values of enclosing
/// graphs.
class Scope {
public:
  /// Returns the value inside this scope that represents `outer`, a value of an enclosing graph.
  using Capture = std::function<mlir::FailureOr<Tensor>(llvm::StringRef name, const Tensor &outer)>;

  explicit Scope(Scope *parent = nullptr, Capture capture = {})
      : parent(parent), capture(std::move(capture)) {}

  /// Returns false if this graph already defines the name.
  bool define(llvm::StringRef name, Tensor tensor) {
    return values.try_emplace(name, std::move(tensor)).second;
  }
  /// Returns null if the name is undefined. Emits an error if the value cannot be captured.
  mlir::FailureOr<const Tensor *> lookup(llvm::StringRef name);

private:
  Scope *parent;
  Capture capture;
  llvm::StringMap<Tensor> values;
};

class GraphImporter {
public:
  GraphImporter(const OnnxFile &file, GraphBuilder &graph) : file(file), graph(graph) {}

  const OnnxFile &file;
  GraphBuilder &graph;
  int64_t opset = 0;
  Initializers initializers;
  /// Names of float initializers in subgraphs that are constants.
  std::vector<std::string> innerConstants;
  /// Nodes that normalize by batch statistics in every mode.
  std::vector<std::string> batchStatistics;

  mlir::LogicalResult importNodes(const onnx::GraphProto &proto, Scope &scope);
  mlir::FailureOr<llvm::SmallVector<Tensor>> getOutputs(const onnx::GraphProto &proto,
                                                        Scope &scope) const;
  /// Imports the initializers (as constants) and nodes of a subgraph whose inputs `scope` holds.
  mlir::FailureOr<llvm::SmallVector<Tensor>> importBody(const onnx::GraphProto &proto,
                                                        Scope &scope);
  mlir::LogicalResult define(Scope &scope, const std::string &name, Tensor tensor) const;

private:
  /// Limits the nodes in subgraphs, because nested loops import their bodies repeatedly.
  static constexpr int64_t maxInnerNodes = 1 << 17;

  mlir::InFlightDiagnostic error() const { return mlir::emitError(file.location); }
  mlir::LogicalResult importNode(const onnx::GraphProto &proto, const onnx::NodeProto &node,
                                 Scope &scope);

  int64_t numInnerNodes = 0;
};

const OpRule *findRule(const onnx::NodeProto &node);

/// Returns the name of `node`, or of its first output if it has none.
llvm::StringRef getNodeName(const onnx::NodeProto &node);

/// Emits one error that names all ops of `graph` without a row in the support table.
mlir::LogicalResult requireSupported(const onnx::GraphProto &graph, mlir::Location location);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_MODEL_GRAPHIMPORTER_H
