//===- bppsa-opt.cpp - runs passes on textual IR --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/InitAll.h"
#include "bppsa/Support/InitTool.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  bppsa::initTool();
  mlir::DialectRegistry registry;
  bppsa::registerAllDialects(registry);
  bppsa::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "bppsa optimizer driver\n", registry));
}
