//===- InitAll.cpp - dialects, interfaces and passes of the project -------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/InitAll.h"
#include "bppsa/Compiler/Pipelines/CPULowering.h"
#include "bppsa/Compiler/Pipelines/GPULowering.h"
#include "bppsa/Compiler/Pipelines/Training.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/BufferizableOpInterfaceImpl.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/GraphBodies/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Structure/Passes.h"
#include "bppsa/Differentiation/Differentiation.h"
#include "bppsa/Differentiation/Passes.h"
#include "bppsa/Evaluation/Passes.h"
#include "bppsa/Transforms/Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

void bppsa::registerAllDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<BPPSADialect>();
  registerVJPExternalModels(registry);
  registerBufferizableOpInterfaceExternalModels(registry);
}

void bppsa::registerAllPasses() {
  mlir::registerAllPasses();
  registerBPPSABufferTransformsPasses();
  registerBPPSAConversionPasses();
  registerBPPSADifferentiationPasses();
  registerBPPSAEvaluationPasses();
  registerBPPSAGraphBodyTransformsPasses();
  registerBPPSALoopTransformsPasses();
  registerBPPSAScanTransformsPasses();
  registerBPPSAStructureTransformsPasses();
  registerBPPSATransformsPasses();
  registerCPULoweringPipeline();
  registerGPULoweringPipelines();
  registerTrainingPipelines();
}
