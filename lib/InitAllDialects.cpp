//===- InitAllDialects.cpp - register all dialects ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
// Separate from the passes, so that programs that only compile models do not link unused MLIR
// passes.
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllDialects.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/BufferizableOpInterfaceImpl.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Dialect/Dist/Transforms/BufferizableOpInterfaceImpl.h"
#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"
#include "bppsa/Dialect/Jacobian/Transforms/BufferizableOpInterfaceImpl.h"
#include "bppsa/Differentiation/Differentiation.h"
#include "bppsa/InitAll.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

void bppsa::registerAllDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<BPPSADialect, bgpu::BGPUDialect, dist::DistDialect, jacobian::JacobianDialect>();
  registerVJPExternalModels(registry);
  registerBufferizableOpInterfaceExternalModels(registry);
  dist::registerBufferizableOpInterfaceExternalModels(registry);
  jacobian::registerBufferizableOpInterfaceExternalModels(registry);
}
