//===- ZeroBubbleTable.h - published bubble rates ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// GPU times in milliseconds from "Zero Bubble Pipeline Parallelism" (ICLR 2024), and the bubble
// rates published for them with four digits.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_SIMULATOR_ZEROBUBBLETABLE_H
#define BPPSA_UNITTESTS_SIMULATOR_ZEROBUBBLETABLE_H

#include "bppsa/Simulator/Placement.h"

namespace bppsa::schedule {

struct PublishedBubbles {
  int32_t stages, microbatches;
  double forward, backward, weight, hop;
  double oneForwardOneBackward, h1, h2, onep, twop;

  Pipeline getPipeline() const {
    return makePipeline(stages, microbatches, {forward, backward, weight, hop});
  }
};

// clang-format off
inline constexpr PublishedBubbles kPublishedBubbles[] = {
    {8, 24, 18.522, 18.086, 9.337, .601, .2431, .1585, .1083, .1585, .0433},
    {8, 32, 18.513, 18.086, 9.331, .626, .1985, .1242, .0837, .1242, .0039},
    {8, 64, 18.546, 18.097, 9.321, .762, .1240, .0674, .0444, .0674, .0026},
    {8, 24, 29.718, 29.444, 19.927, .527, .2347, .1323, .0698, .1323, .0029},
    {8, 32, 29.802, 29.428, 19.530, .577, .1898, .1045, .0559, .1045, .0022},
    {8, 64, 29.935, 29.621, 19.388, .535, .1091, .0554, .0294, .0554, .0010},
    {16, 48, 11.347, 11.248, 8.132, .377, .2552, .1397, .0672, .1397, .0066},
    {16, 64, 11.307, 11.254, 8.101, .379, .2082, .1088, .0516, .1088, .0054},
    {16, 128, 11.325, 11.308, 8.109, .378, .1251, .0576, .0266, .0576, .0028},
    {32, 96, 10.419, 10.207, 7.715, .408, .2646, .1421, .0641, .1421, .0038},
    {32, 128, 10.408, 10.204, 7.703, .408, .2168, .1106, .0490, .1106, .0029},
    {32, 256, 10.402, 10.248, 7.698, .460, .1352, .0594, .0257, .0594, .0018},
};
// clang-format on

} // namespace bppsa::schedule

#endif // BPPSA_UNITTESTS_SIMULATOR_ZEROBUBBLETABLE_H
