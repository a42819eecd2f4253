//===- Mappings.h - mappings of work to vectors -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PROGRAM_MAPPINGS_H
#define BPPSA_PROGRAM_MAPPINGS_H

namespace bppsa::program::mappings {

/// A vector holds one element of several samples, one sample per lane.
inline constexpr char kLanes[] = "lanes";
/// A vector holds hidden units of one sample.
inline constexpr char kUnits[] = "units";
/// In chains, a vector holds chunks of time, one per lane; elsewhere it holds hidden units.
inline constexpr char kChunks[] = "chunks";
/// A GPU thread block processes one sample.
inline constexpr char kBlocks[] = "blocks";

inline constexpr const char *kAll[] = {kLanes, kUnits, kChunks, kBlocks};

} // namespace bppsa::program::mappings

#endif // BPPSA_PROGRAM_MAPPINGS_H
