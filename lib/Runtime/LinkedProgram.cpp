//===- LinkedProgram.cpp - The program this library is linked into --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Session.h"

using namespace bppsa::runtime;

ProgramInterface bppsa::runtime::linkedProgram() {
  return {bppsa_model_json, bppsa_model_json_size,  bppsa_model_onnx, bppsa_model_onnx_size,
          bppsa_functions,  bppsa_instruction_sets, &bppsa_kernels};
}
