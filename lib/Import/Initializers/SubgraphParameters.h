//===- SubgraphParameters.h - parameters in subgraphs -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INITIALIZERS_SUBGRAPHPARAMETERS_H
#define BPPSA_LIB_IMPORT_INITIALIZERS_SUBGRAPHPARAMETERS_H

#include "onnx.pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"

namespace bppsa {

namespace onnx = ::bppsa_onnx;

/// Calls `visit` on the subgraphs of the nodes of `graph`, in node order, outer graphs first.
void visitSubgraphs(const onnx::GraphProto &graph,
                    llvm::function_ref<void(const onnx::GraphProto &)> visit);

/// Returns the nonempty float initializers of subgraphs whose name is unique in `model`.
llvm::StringSet<> findInnerParameters(const onnx::ModelProto &model);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_SUBGRAPHPARAMETERS_H
