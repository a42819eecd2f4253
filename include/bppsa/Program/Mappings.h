//===- Mappings.h - how kernels map work to vectors -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PROGRAM_MAPPINGS_H
#define BPPSA_PROGRAM_MAPPINGS_H

namespace bppsa::program::mappings {

/// A vector holds samples, one in each lane.
inline constexpr char kLanes[] = "lanes";
/// A vector holds hidden units of one sample.
inline constexpr char kUnits[] = "units";
/// A vector holds chunks of time in chains, and units elsewhere.
inline constexpr char kChunks[] = "chunks";
/// A sample has a block of threads of a GPU.
inline constexpr char kBlocks[] = "blocks";

inline constexpr const char *kAll[] = {kLanes, kUnits, kChunks, kBlocks};

} // namespace bppsa::program::mappings

#endif // BPPSA_PROGRAM_MAPPINGS_H
