//===- StatisticLayout.h - Pass::Statistic as libMLIR has it --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Included before everything that is written with MLIR.
//
// Debian's LLVM is built without statistics, and Statistic.h turns them on where there are
// assertions: Pass::Statistic would have members that its constructor, which is in libMLIR, does
// not initialize.
#ifndef NDEBUG
#define NDEBUG
#include "llvm/ADT/Statistic.h"
#undef NDEBUG
#endif
