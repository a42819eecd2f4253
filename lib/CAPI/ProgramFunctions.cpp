//===- ProgramFunctions.cpp - programs of other libraries -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ProgramFunctions.h"

using namespace bppsa::capi;

#define FUNCTION(NAME) reinterpret_cast<AnyFunction>(&NAME)

const AnyFunction bppsa::capi::programFunctions[] = {
    FUNCTION(bppsaGetLastError),
    FUNCTION(bppsaProgramDestroy),
    FUNCTION(bppsaProgramGetDescription),
    FUNCTION(bppsaProgramGetNumArrays),
    FUNCTION(bppsaProgramGetArray),
    FUNCTION(bppsaProgramSetThreads),
    FUNCTION(bppsaProgramSetAffinity),
    FUNCTION(bppsaProgramSetVariant),
    FUNCTION(bppsaProgramTuneVariant),
    FUNCTION(bppsaProgramSetHyperparameter),
    FUNCTION(bppsaProgramSetSeed),
    FUNCTION(bppsaProgramInfer),
    FUNCTION(bppsaProgramInferInto),
    FUNCTION(bppsaProgramEval),
    FUNCTION(bppsaProgramGrad),
    FUNCTION(bppsaProgramGradInto),
    FUNCTION(bppsaProgramStep),
    FUNCTION(bppsaProgramUpdate),
    FUNCTION(bppsaProgramFit),
    FUNCTION(bppsaProgramGetLosses),
    FUNCTION(bppsaProgramGetParameter),
    FUNCTION(bppsaProgramAllocate),
    FUNCTION(bppsaProgramGetResidualBytes),
    FUNCTION(bppsaProgramForward),
    FUNCTION(bppsaProgramGetUsedResidualBytes),
    FUNCTION(bppsaProgramBackward),
    FUNCTION(bppsaProgramReset),
    FUNCTION(bppsaProgramSave),
    FUNCTION(bppsaProgramSaveCheckpoint),
    FUNCTION(bppsaProgramLoadCheckpoint),
    nullptr,
};

size_t bppsa::capi::findNumber(AnyFunction function) {
  size_t number = 0;
  while (programFunctions[number] != function)
    ++number;
  return number;
}
