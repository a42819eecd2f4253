//===- CreateProgram.h - creates programs from interfaces -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_CREATEPROGRAM_H
#define BPPSA_LIB_CAPI_CREATEPROGRAM_H

#include "bppsa-c/Program.h"
#include "bppsa/Runtime/Session.h"

#include <memory>

namespace bppsa::capi {

/// `interface` must remain valid as long as `code` exists.
BppsaStatus createProgram(const runtime::ProgramInterface &interface, std::shared_ptr<void> code,
                          BppsaProgram *program) noexcept;

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_CREATEPROGRAM_H
