//===- GraphImporter.h - nodes of a graph and of graphs inside --*- C++ -*-===//
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

/// Initializers of the main graph by name.
using Initializers = llvm::StringMap<const onnx::TensorProto *>;

/// The values that nodes of a graph can read, by name: its own, and those of the graphs around it.
class Scope {
public:
  /// What stands inside of this scope for `outer`, a value of a graph around it.
  using Capture = std::function<mlir::FailureOr<Tensor>(llvm::StringRef name, const Tensor &outer)>;

  explicit Scope(Scope *parent = nullptr, Capture capture = {})
      : parent(parent), capture(std::move(capture)) {}

  /// False where this graph defines the name already.
  bool define(llvm::StringRef name, Tensor tensor) {
    return values.try_emplace(name, std::move(tensor)).second;
  }
  /// Null where nothing defines the name. Fails after an error where the value cannot be captured.
  mlir::FailureOr<const Tensor *> lookup(llvm::StringRef name);

private:
  Scope *parent;
  Capture capture;
  llvm::StringMap<Tensor> values;
};

/// Imports nodes, one after the other.
class GraphImporter {
public:
  GraphImporter(const OnnxFile &file, GraphBuilder &graph) : file(file), graph(graph) {}

  const OnnxFile &file;
  GraphBuilder &graph;
  int64_t opset = 0;
  Initializers initializers;
  /// Float initializers of graphs inside of nodes: they are constants.
  std::vector<std::string> innerConstants;
  /// Nodes that normalise by the statistics of the batch wherever the model runs.
  std::vector<std::string> batchStatistics;

  /// Imports the nodes of `proto`. What they define is in `scope` then.
  mlir::LogicalResult importNodes(const onnx::GraphProto &proto, Scope &scope);
  /// The outputs of `proto`, whose nodes are imported.
  mlir::FailureOr<llvm::SmallVector<Tensor>> getOutputs(const onnx::GraphProto &proto,
                                                        Scope &scope) const;
  /// Imports the initializers, as constants, and nodes of a graph inside of a node; returns its
  /// outputs. Its inputs are in `scope` already.
  mlir::FailureOr<llvm::SmallVector<Tensor>> importBody(const onnx::GraphProto &proto,
                                                        Scope &scope);
  /// Adds `tensor` to `scope`, or fails after an error.
  mlir::LogicalResult define(Scope &scope, const std::string &name, Tensor tensor) const;

private:
  /// Of graphs inside of nodes: loops import theirs several times, loops inside of loops more
  /// often.
  static constexpr int64_t maxInnerNodes = 1 << 17;

  mlir::InFlightDiagnostic error() const { return mlir::emitError(file.location); }
  mlir::LogicalResult importNode(const onnx::GraphProto &proto, const onnx::NodeProto &node,
                                 Scope &scope);

  int64_t numInnerNodes = 0;
};

/// The row of the table for `node`; null if there is none.
const OpRule *findRule(const onnx::NodeProto &node);

/// The name of `node`, or that of its first output where it has none.
llvm::StringRef getNodeName(const onnx::NodeProto &node);

/// Every node of `graph` has a row in the table. Otherwise one error names all ops that have none,
/// each with the rewrite that helps, where there is one.
mlir::LogicalResult requireSupported(const onnx::GraphProto &graph, mlir::Location location);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_MODEL_GRAPHIMPORTER_H
