//===- EmulatorWarp.cpp - operations of the lanes of a warp ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatorBlock.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstring>
#include <ios>

using namespace bppsa::runtime;
using namespace bppsa::runtime::emulator;

template <typename Visit> static void forLanes(uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1)
    visit(static_cast<uint32_t>(__builtin_ctz(lanes)));
}

static const char *name(const WarpOperation &operation) {
  static const char *names[] = {"shuffle", "vote", "bar.warp.sync", "mma"};
  return names[operation.kind];
}

/// PTX requires equal qualifiers and masks in all lanes, and the same instruction for `.aligned`
/// operations.
bool Block::matches(const Thread &first, const Thread &other) const {
  if (other.state != Thread::AtWarp)
    return false;
  const WarpOperation &a = *first.operation, &b = *other.operation;
  return a.kind == b.kind && a.mode == b.mode && a.mask == b.mask &&
         (a.kind != WarpOperation::Mma || !strcmp(first.site, other.site));
}

bool Block::resolve(uint32_t warp) {
  bool any = false;
  uint32_t lanes = lanesOf(warp), seen = 0;
  forLanes(lanes, [&](uint32_t lane) {
    Thread &first = threadOf(warp, lane);
    if ((seen >> lane & 1) != 0 || first.state != Thread::AtWarp)
      return;
    // The last warp may have fewer lanes than the mask.
    uint32_t group = first.operation->mask & lanes;
    bool complete = true;
    forLanes(group,
             [&](uint32_t other) { complete = complete && matches(first, threadOf(warp, other)); });
    if (!complete)
      return;
    execute(warp, group, first);
    forLanes(group, [&](uint32_t other) { setReady(threadOf(warp, other)); });
    seen |= group;
    any = true;
  });
  return any;
}

/// If no lane of a warp can run, a lane that waits for others waits forever, because block barriers
/// wait for it too.
void Block::checkStuck(uint32_t warp) {
  uint32_t lanes = lanesOf(warp);
  forLanes(lanes, [&](uint32_t lane) {
    Thread &thread = threadOf(warp, lane);
    if (thread.state != Thread::AtWarp)
      return;
    const WarpOperation &operation = *thread.operation;
    forLanes(operation.mask & lanes, [&](uint32_t otherLane) {
      const Thread &other = threadOf(warp, otherLane);
      if (matches(thread, other) || other.state == Thread::Polling)
        return;
      std::string what = text("the mask ", std::hex, std::showbase, operation.mask, std::dec,
                              " of the ", name(operation), " names lane ", otherLane, ", which ");
      if (other.state == Thread::Done)
        failThread(thread, what + "has exited", thread.site);
      if (other.state != Thread::AtWarp)
        failThread(thread, text(what, "waits at the barrier at ", other.site), thread.site);
      failThread(thread,
                 text("deadlock: ", what, "waits at the ", name(*other.operation), " with mask ",
                      std::hex, std::showbase, other.operation->mask, " at ", other.site),
                 thread.site);
    });
  });
}

void Block::execute(uint32_t warp, uint32_t group, Thread &first) {
  switch (first.operation->kind) {
  case WarpOperation::Shuffle:
    return shuffle(warp, group);
  case WarpOperation::Vote:
    return vote(warp, group, first.operation->mode);
  case WarpOperation::Barrier:
    return joinClocks(warp, group);
  case WarpOperation::Mma:
    return multiply(warp, first.operation->mode);
  }
}

/// Returns true if the source lane, as defined by PTX, is in range.
static bool sourceLane(const WarpOperation &operation, int lane, int &source) {
  int b = operation.lane & 31, clamp = operation.clamp & 31, segment = operation.clamp >> 8 & 31;
  int bound = (lane & segment) | (clamp & ~segment);
  switch (operation.mode) {
  case BPPSA_EMU_UP:
    source = lane - b;
    return source >= bound;
  case BPPSA_EMU_DOWN:
    source = lane + b;
    return source <= bound;
  case BPPSA_EMU_BFLY:
    source = lane ^ b;
    return source <= bound;
  default:
    source = (lane & segment) | (b & ~segment);
    return source <= bound;
  }
}

void Block::shuffle(uint32_t warp, uint32_t group) {
  // Reading from an inactive lane is undefined, so return a recognizable NaN.
  constexpr uint32_t undefined = 0x7fdeadbe;
  forLanes(group, [&](uint32_t lane) {
    WarpOperation &operation = *threadOf(warp, lane).operation;
    int source = 0;
    operation.inRange = sourceLane(operation, static_cast<int>(lane), source);
    if (!operation.inRange)
      source = static_cast<int>(lane);
    bool takesPart = (group >> source & 1) != 0;
    operation.result =
        takesPart ? threadOf(warp, static_cast<uint32_t>(source)).operation->value : undefined;
  });
}

void Block::vote(uint32_t warp, uint32_t group, uint32_t mode) {
  uint32_t ballot = 0;
  forLanes(group, [&](uint32_t lane) {
    ballot |= uint32_t(threadOf(warp, lane).operation->value != 0) << lane;
  });
  uint32_t result = mode == BPPSA_EMU_ALL   ? ballot == group
                    : mode == BPPSA_EMU_ANY ? ballot != 0
                    : mode == BPPSA_EMU_UNI ? ballot == 0 || ballot == group
                                            : ballot;
  forLanes(group, [&](uint32_t lane) { threadOf(warp, lane).operation->result = result; });
}

void Block::joinClocks(uint32_t warp, uint32_t group) {
  Clock joined = {};
  forLanes(group, [&](uint32_t lane) {
    const Clock &clock = threadOf(warp, lane).clock;
    for (uint32_t i = 0; i < kWarpSize; ++i)
      joined[i] = std::max(joined[i], clock[i]);
  });
  forLanes(group, [&](uint32_t lane) {
    Thread &thread = threadOf(warp, lane);
    thread.clock = joined;
    ++thread.clock[lane];
  });
}

static double numberOf(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// Returns the elements per register: one for tf32, whose lower 13 bits are ignored, two for bf16.
static uint32_t getElementsPerRegister(uint32_t mode) {
  return mode == WarpOperation::BF16 ? 2 : 1;
}

static double numberOf(uint32_t mode, uint32_t bits, uint32_t i) {
  return numberOf(mode == WarpOperation::TF32 ? bits & 0xffffe000u
                  : i == 0                    ? bits << 16
                                              : bits & 0xffff0000u);
}

/// With n adjacent elements per register, lane 4g+t holds these elements:
///
/// - A (16 x 8n): rows g and g+8, starting at columns nt (a0, a1) and n(t+4) (a2, a3)
/// - B (8n x 8): column g, starting at rows nt (b0) and n(t+4) (b1)
/// - C and D (16 x 8): columns 2t and 2t+1 of rows g (c0, c1) and g+8 (c2, c3)
///
/// Products and their sum are exact before the final rounding.
void Block::multiply(uint32_t warp, uint32_t mode) {
  double a[16][16], b[16][8];
  uint32_t n = getElementsPerRegister(mode);
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const WarpOperation &operation = *threadOf(warp, lane).operation;
    uint32_t g = lane / 4, t = lane % 4;
    for (uint32_t i = 0; i < 4 * n; ++i)
      a[g + 8 * (i / n % 2)][n * (t + 4 * (i / n / 2)) + i % n] =
          numberOf(mode, operation.a[i / n], i % n);
    for (uint32_t i = 0; i < 2 * n; ++i)
      b[n * (t + 4 * (i / n)) + i % n][g] = numberOf(mode, operation.b[i / n], i % n);
  }
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    WarpOperation &operation = *threadOf(warp, lane).operation;
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
      double sum = operation.c[i];
      for (uint32_t k = 0; k < 8 * n; ++k)
        sum += a[row][k] * b[k][column];
      operation.d[i] = static_cast<float>(sum);
    }
  }
}
