//===- InnerParameters.h - parameters inside of nodes -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INITIALIZERS_INNERPARAMETERS_H
#define BPPSA_LIB_IMPORT_INITIALIZERS_INNERPARAMETERS_H

#include "onnx.pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"

namespace bppsa {

namespace onnx = ::bppsa_onnx;

/// Calls `visit` on the graphs inside of the nodes of `graph`, in the order of the nodes, those
/// around others first.
void visitInnerGraphs(const onnx::GraphProto &graph,
                      llvm::function_ref<void(const onnx::GraphProto &)> visit);

/// The names of the float initializers of graphs inside of nodes that are parameters: those that
/// have elements and that nothing else in `model` is called.
llvm::StringSet<> findInnerParameters(const onnx::ModelProto &model);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_INNERPARAMETERS_H
