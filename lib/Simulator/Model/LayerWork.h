//===- LayerWork.h - layers of a training step in IR ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_SIMULATOR_MODEL_LAYERWORK_H
#define BPPSA_LIB_SIMULATOR_MODEL_LAYERWORK_H

#include "bppsa/Simulator/Model/ModelLayers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Counts the layers of a sequential step with static shapes. The result is empty if no node has
/// trained parameters.
std::vector<ModelLayer> countLayers(mlir::func::FuncOp step);

} // namespace bppsa

#endif // BPPSA_LIB_SIMULATOR_MODEL_LAYERWORK_H
