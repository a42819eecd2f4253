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

/// The float values of the Constant node `node`; nothing for any other node or element type.
std::optional<onnx::TensorProto> getFloatConstant(const onnx::NodeProto &node);

/// The names of the outputs of Constant nodes, in all graphs and functions, that look like weights:
/// float arrays of rank 2 or more that reach a weight input of a product (MatMul, Gemm, Conv, the
/// recurrent layers, Einsum, a Gather with computed indices) through changes of layout only.
std::vector<std::string> findConstantWeights(const onnx::ModelProto &model);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_CONSTANTWEIGHTS_H
