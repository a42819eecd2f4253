//===- IndexOps.h - ops that pick elements by index -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INDEXOPS_H
#define BPPSA_LIB_IMPORT_INDEXOPS_H

#include "GraphBuilder.h"

namespace bppsa {

/// `data` with the order of dimension `axis` turned round.
Tensor makeReversed(GraphBuilder &graph, const Tensor &data, int64_t axis);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INDEXOPS_H
