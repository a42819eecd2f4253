//===- ConstantWeights.h - weights in Constant nodes ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Some converters write every weight as a Constant node, which is not trained.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INITIALIZERS_CONSTANTWEIGHTS_H
#define BPPSA_LIB_IMPORT_INITIALIZERS_CONSTANTWEIGHTS_H

#include "../Model/OnnxFile.h"
#include <string>
#include <vector>

namespace bppsa {

/// Returns the float values of the Constant node `node`, or nullopt for other nodes or element
/// types.
std::optional<onnx::TensorProto> getFloatConstant(const onnx::NodeProto &node);

/// Returns the outputs of Constant nodes that look like weights: float arrays of rank 2 or more
/// that reach a weight input of a product through layout changes only.
std::vector<std::string> findConstantWeights(const onnx::ModelProto &model);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_CONSTANTWEIGHTS_H
