//===- bppsa-reduce.cpp - shrinks IR that makes a test fail ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/InitAll.h"
#include "bppsa/Support/InitTool.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  bppsa::initTool();
  mlir::DialectRegistry registry;
  bppsa::registerAllDialects(registry);
  bppsa::registerAllPasses();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
