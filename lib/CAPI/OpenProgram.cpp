//===- OpenProgram.cpp - opens the program of a shared library ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CreateProgram.h"

BppsaStatus bppsaProgramOpen(BppsaProgram *program) {
  return bppsa::capi::createProgram(bppsa::runtime::linkedProgram(), /*code=*/nullptr, program);
}
