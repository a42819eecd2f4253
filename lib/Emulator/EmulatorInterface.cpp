//===- EmulatorInterface.cpp - functions called by kernels ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Emulator/EmulatorInterface.h"
#include "EmulatorBlock.h"
#include "bppsa/Runtime/Error.h"

#include <cmath>
#include <cstring>

using namespace bppsa::runtime;
using namespace bppsa::runtime::emulator;

/// Waits for the other lanes; the results are set on return.
static void meet(WarpOperation &operation, const char *site) {
  Thread &thread = currentThread();
  if ((operation.mask >> thread.lane() & 1) == 0)
    failThread(thread, "the mask of a warp operation does not include the lane itself", site);
  thread.operation = &operation;
  thread.block->wait(thread, Thread::AtWarp, site);
}

extern "C" {

uint32_t bppsa_emu_tid_x() { return currentThread().at.x; }
uint32_t bppsa_emu_tid_y() { return currentThread().at.y; }
uint32_t bppsa_emu_tid_z() { return currentThread().at.z; }
uint32_t bppsa_emu_ntid_x() { return currentThread().block->launch.block.x; }
uint32_t bppsa_emu_ntid_y() { return currentThread().block->launch.block.y; }
uint32_t bppsa_emu_ntid_z() { return currentThread().block->launch.block.z; }
uint32_t bppsa_emu_ctaid_x() { return currentThread().block->at.x; }
uint32_t bppsa_emu_ctaid_y() { return currentThread().block->at.y; }
uint32_t bppsa_emu_ctaid_z() { return currentThread().block->at.z; }
uint32_t bppsa_emu_nctaid_x() { return currentThread().block->launch.grid.x; }
uint32_t bppsa_emu_nctaid_y() { return currentThread().block->launch.grid.y; }
uint32_t bppsa_emu_nctaid_z() { return currentThread().block->launch.grid.z; }
uint32_t bppsa_emu_laneid() { return currentThread().lane(); }

void *bppsa_emu_shared(uint64_t offset) { return currentThread().block->shared.data() + offset; }

void *bppsa_emu_dynamic_shared() {
  SharedMemory &shared = currentThread().block->shared;
  return shared.data() + shared.dynamicOffset();
}

void bppsa_emu_access(const void *address, uint64_t bytes, uint32_t flags, const char *site) {
  Thread &thread = currentThread();
  if ((flags & BPPSA_EMU_WRITE) || !(flags & BPPSA_EMU_ATOMIC))
    thread.polled = nullptr;
  if (bytes > 0)
    thread.block->access(thread, address, bytes, flags, site);
}

void bppsa_emu_poll(const void *address, uint64_t bytes, const char *site) {
  Thread &thread = currentThread();
  if (bytes != sizeof(uint32_t) && bytes != sizeof(uint64_t))
    failThread(thread, text("atomic load of ", bytes, " bytes; 4 or 8 are supported"), site);
  thread.block->poll(thread, address, bytes, site);
}

void bppsa_emu_copy_async(void *shared, const void *global, uint64_t bytes, uint64_t sourceBytes,
                          const char *site) {
  Thread &thread = currentThread();
  if (sourceBytes > bytes)
    failThread(thread, text("cp.async of ", sourceBytes, " bytes to a place for ", bytes), site);
  thread.block->issueCopy(thread, {static_cast<char *>(shared), static_cast<const char *>(global),
                                   bytes, sourceBytes, /*group=*/0, site});
}

void bppsa_emu_copy_commit() { ++currentThread().copyGroup; }

void bppsa_emu_copy_wait(uint32_t groups) {
  Thread &thread = currentThread();
  if (thread.copyGroup > groups)
    thread.block->completeCopies(thread, thread.copyGroup - groups);
}

void bppsa_emu_copy_wait_all() {
  bppsa_emu_copy_commit();
  bppsa_emu_copy_wait(0);
}

void bppsa_emu_barrier(const char *site) {
  Thread &thread = currentThread();
  thread.block->wait(thread, Thread::AtBarrier, site);
}

void bppsa_emu_warp_barrier(uint32_t mask, const char *site) {
  WarpOperation operation{WarpOperation::Barrier};
  operation.mask = mask;
  meet(operation, site);
}

uint32_t bppsa_emu_shuffle(uint32_t mode, uint32_t mask, uint32_t value, uint32_t lane,
                           uint32_t clamp, uint8_t *inRange, const char *site) {
  WarpOperation operation{WarpOperation::Shuffle, mode, mask, value, lane, clamp};
  meet(operation, site);
  if (inRange)
    *inRange = operation.inRange;
  return operation.result;
}

uint32_t bppsa_emu_vote(uint32_t mode, uint32_t mask, uint32_t predicate, const char *site) {
  WarpOperation operation{WarpOperation::Vote, mode, mask, predicate};
  meet(operation, site);
  return operation.result;
}

static void multiply(uint32_t mode, const uint32_t *a, const uint32_t *b, const float *c, float *d,
                     const char *site) {
  Thread &thread = currentThread();
  if (thread.block->lanesOf(thread.index / kWarpSize) != ~0u)
    failThread(thread, "mma in a warp that has less than 32 threads", site);
  WarpOperation operation{WarpOperation::Mma, mode};
  operation.a = a;
  operation.b = b;
  operation.c = c;
  operation.d = d;
  meet(operation, site);
}

void bppsa_emu_mma_m16n8k8_tf32(const uint32_t *a, const uint32_t *b, const float *c, float *d,
                                const char *site) {
  multiply(WarpOperation::TF32, a, b, c, d, site);
}

void bppsa_emu_mma_m16n8k16_bf16(const uint32_t *a, const uint32_t *b, const float *c, float *d,
                                 const char *site) {
  multiply(WarpOperation::BF16, a, b, c, d, site);
}

float bppsa_emu_flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
float bppsa_emu_ex2(float value) { return std::exp2(value); }
float bppsa_emu_lg2(float value) { return std::log2(value); }
float bppsa_emu_rcp(float value) { return 1.0f / value; }
float bppsa_emu_sqrt(float value) { return std::sqrt(value); }
float bppsa_emu_rsqrt(float value) { return static_cast<float>(1.0 / std::sqrt(double(value))); }
float bppsa_emu_sin(float value) { return std::sin(value); }
float bppsa_emu_cos(float value) { return std::cos(value); }
float bppsa_emu_tanh(float value) { return std::tanh(value); }
/// NaN becomes zero, as in PTX.
float bppsa_emu_saturate(float value) {
  return value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f;
}

static uint32_t bitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

uint32_t bppsa_emu_tf32(float value) {
  return std::isnan(value) ? 0x7fffffffu : (bitsOf(value) + 0x1000u) & 0xffffe000u;
}

static uint32_t roundToBF16(float value) {
  uint32_t bits = bitsOf(value);
  return std::isnan(value) ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

uint32_t bppsa_emu_bf16x2(float high, float low) {
  return roundToBF16(high) << 16 | roundToBF16(low);
}

void bppsa_emu_trap(const char *site) { failThread(currentThread(), "trap", site); }
}
