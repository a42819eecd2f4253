#ifndef TMP_CPU_H
#define TMP_CPU_H
#include "mlir/Pass/PassManager.h"
namespace bppsa { struct CPULoweringOptions { int64_t registers=32, vectorBits=512; }; void buildCPULoweringPipeline(mlir::OpPassManager&, const CPULoweringOptions&);}
#endif
