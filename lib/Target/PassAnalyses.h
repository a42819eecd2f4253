//===- PassAnalyses.h - analyses for LLVM passes ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_TARGET_PASSANALYSES_H
#define BPPSA_LIB_TARGET_PASSANALYSES_H

#include "llvm/Passes/PassBuilder.h"

namespace bppsa {

struct PassAnalyses {
  explicit PassAnalyses(llvm::PassBuilder &builder) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(callGraph);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, callGraph, modules);
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
};

} // namespace bppsa

#endif // BPPSA_LIB_TARGET_PASSANALYSES_H
