//===- bppsa-lsp-server.cpp - language server for bppsa IR ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/InitAll.h"
#include "bppsa/Support/InitTool.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  bppsa::initTool();
  mlir::DialectRegistry registry;
  bppsa::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
