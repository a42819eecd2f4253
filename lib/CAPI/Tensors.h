//===- Tensors.h - converts DLPack tensors and arrays -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_TENSORS_H
#define BPPSA_LIB_CAPI_TENSORS_H

#include "bppsa-c/Program.h"
#include "bppsa/Runtime/Embedding/ArrayArgument.h"
#include "bppsa/Runtime/Files/Npz.h"

namespace bppsa::capi {

DLDataType toDLDataType(runtime::DType dtype);

/// Throws UsageError or Error for arrays that no model accepts.
runtime::ArrayArguments toArguments(const BppsaNamedArray *arrays, intptr_t count);

/// The tensor owns the memory.
DLManagedTensor *toManagedTensor(runtime::Array array);

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_TENSORS_H
