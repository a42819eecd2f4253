//===- MarkZeros.cpp - pruned initializers --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Import/ImportONNX.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include <cstring>

using namespace mlir;
using namespace bppsa;

static SmallVector<bool> findNonzeros(const OnnxImage &image,
                                      const OnnxImage::Parameter &parameter) {
  SmallVector<bool> nonzeros;
  int64_t count = ShapedType::getNumElements(parameter.shape);
  for (int64_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, image.bytes.data() + parameter.offset + i * parameter.stride,
                sizeof(value));
    nonzeros.push_back(value != 0);
  }
  return nonzeros;
}

int64_t bppsa::markZeros(ModuleOp module, const OnnxImage &image) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  Builder builder(module.getContext());
  llvm::StringMap<const OnnxImage::Parameter *> parameters;
  for (const OnnxImage::Parameter &parameter : image.parameters)
    parameters.try_emplace(parameter.name, &parameter);
  int64_t count = 0;
  for (unsigned i = 0, e = forward.getNumArguments(); i < e; ++i) {
    auto name = attrs::Parameter::ofArgument(forward, i);
    const OnnxImage::Parameter *parameter = name ? parameters.lookup(name.getValue()) : nullptr;
    if (!parameter || parameter->shape.size() < 2)
      continue;
    SmallVector<bool> nonzeros = findNonzeros(image, *parameter);
    if (!llvm::is_contained(nonzeros, false))
      continue;
    auto type = RankedTensorType::get(parameter->shape, builder.getI1Type());
    attrs::Nonzeros::setOfArgument(forward, i, DenseElementsAttr::get(type, nonzeros));
    ++count;
  }
  return count;
}
