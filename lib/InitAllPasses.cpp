//===- InitAllPasses.cpp - register all passes ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllPasses.h"
#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Codegen/CPU/Passes.h"
#include "bppsa/Codegen/GPU/Passes.h"
#include "bppsa/Compiler/Pipelines/CPULowering.h"
#include "bppsa/Compiler/Pipelines/GPULowering.h"
#include "bppsa/Compiler/Pipelines/Training.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/CostModel/Passes.h"
#include "bppsa/Dialect/BGPU/Transforms/Mapping/Passes.h"
#include "bppsa/Dialect/BGPU/Transforms/Passes.h"
#include "bppsa/Dialect/BGPU/Transforms/Streams/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/GraphBodies/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h"
#include "bppsa/Dialect/Dist/Transforms/Passes.h"
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h"
#include "bppsa/Differentiation/Passes.h"
#include "bppsa/InitAll.h"

void bppsa::registerAllPasses() {
  mlir::registerAllPasses();
  bgpu::registerBGPUTransformsPasses();
  registerBGPUMappingPasses();
  registerBGPUStreamsPasses();
  registerBPPSABackwardOrderPasses();
  registerBPPSABufferTransformsPasses();
  registerBPPSACPUCodegenPasses();
  registerBPPSACPUKernelsPasses();
  registerBPPSAConversionPasses();
  registerBPPSADifferentiationPasses();
  registerBPPSAGPUCodegenPasses();
  registerBPPSAGraphBodyTransformsPasses();
  registerBPPSALoopTransformsPasses();
  registerBPPSACostModelPasses();
  registerBPPSAScanTransformsPasses();
  registerDistTransformsPasses();
  registerJacobianTransformsPasses();
  registerCPULoweringPipeline();
  registerGPULoweringPipelines();
  registerTrainingPipelines();
}
