//===- InitAllPasses.cpp - passes of the project and of MLIR --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllPasses.h"
#include "bppsa/Compiler/Pipelines/CPULowering.h"
#include "bppsa/Compiler/Pipelines/GPULowering.h"
#include "bppsa/Compiler/Pipelines/Training.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BGPU/Transforms/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Device/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/GraphBodies/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Kernels/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Schedule/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Structure/Passes.h"
#include "bppsa/Differentiation/Passes.h"
#include "bppsa/Evaluation/Passes.h"
#include "bppsa/InitAll.h"
#include "bppsa/Transforms/Passes.h"

void bppsa::registerAllPasses() {
  mlir::registerAllPasses();
  bgpu::registerBGPUTransformsPasses();
  registerBPPSABufferTransformsPasses();
  registerBPPSAConversionPasses();
  registerBPPSADeviceTransformsPasses();
  registerBPPSADifferentiationPasses();
  registerBPPSAEvaluationPasses();
  registerBPPSAGraphBodyTransformsPasses();
  registerBPPSAKernelTransformsPasses();
  registerBPPSALoopTransformsPasses();
  registerBPPSAScanTransformsPasses();
  registerBPPSAScheduleTransformsPasses();
  registerBPPSAStructureTransformsPasses();
  registerBPPSATransformsPasses();
  registerCPULoweringPipeline();
  registerGPULoweringPipelines();
  registerTrainingPipelines();
}
