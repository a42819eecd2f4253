//===- EmulatorInterface.h - functions called by kernels --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_EMULATOR_EMULATORINTERFACE_H
#define BPPSA_EMULATOR_EMULATORINTERFACE_H

#include <cstdint>

/// The binary interface between the emulator and kernels retargeted from NVVM to the CPU. A kernel
/// is the body of one CUDA thread. `site` is a source location, a string with the lifetime of the
/// program.
extern "C" {

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

uint32_t bppsa_emu_tid_x();
uint32_t bppsa_emu_tid_y();
uint32_t bppsa_emu_tid_z();
uint32_t bppsa_emu_ntid_x();
uint32_t bppsa_emu_ntid_y();
uint32_t bppsa_emu_ntid_z();
uint32_t bppsa_emu_ctaid_x();
uint32_t bppsa_emu_ctaid_y();
uint32_t bppsa_emu_ctaid_z();
uint32_t bppsa_emu_nctaid_x();
uint32_t bppsa_emu_nctaid_y();
uint32_t bppsa_emu_nctaid_z();
uint32_t bppsa_emu_laneid();

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void *bppsa_emu_shared(uint64_t offset);
/// Dynamic shared memory follows the static arrays.
void *bppsa_emu_dynamic_shared();

enum : uint32_t {
  BPPSA_EMU_WRITE = 1,
  BPPSA_EMU_SHARED = 2,
  BPPSA_EMU_ATOMIC = 4,
  /// The remaining bits hold the binary logarithm of the alignment.
  BPPSA_EMU_ALIGNMENT_SHIFT = 8,
};

/// Precedes every access except to thread-local variables.
void bppsa_emu_access(const void *address, uint64_t bytes, uint32_t flags, const char *site);

/// Precedes every atomic load, after bppsa_emu_access. A thread that reloads the same value with no
/// other access in between is spinning, and yields until the value changes.
void bppsa_emu_poll(const void *address, uint64_t bytes, const char *site);

/// cp.async: fills `bytes` at `shared` with `sourceBytes` bytes from `global` and zeros. Completes
/// when the thread waits for its group, as late as PTX allows.
void bppsa_emu_copy_async(void *shared, const void *global, uint64_t bytes, uint64_t sourceBytes,
                          const char *site);
void bppsa_emu_copy_commit();
/// Waits for all but the last `groups` groups.
void bppsa_emu_copy_wait(uint32_t groups);
void bppsa_emu_copy_wait_all();

//===----------------------------------------------------------------------===//
// Barriers and warp operations
//===----------------------------------------------------------------------===//

void bppsa_emu_barrier(const char *site);
void bppsa_emu_warp_barrier(uint32_t mask, const char *site);

enum : uint32_t { BPPSA_EMU_UP, BPPSA_EMU_DOWN, BPPSA_EMU_BFLY, BPPSA_EMU_IDX };
/// shfl.sync on 32 bits; `inRange` may be null.
uint32_t bppsa_emu_shuffle(uint32_t mode, uint32_t mask, uint32_t value, uint32_t lane,
                           uint32_t clamp, uint8_t *inRange, const char *site);

enum : uint32_t { BPPSA_EMU_ALL, BPPSA_EMU_ANY, BPPSA_EMU_UNI, BPPSA_EMU_BALLOT };
uint32_t bppsa_emu_vote(uint32_t mode, uint32_t mask, uint32_t predicate, const char *site);

/// mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32: d[4] = a[4] * b[2] + c[4].
void bppsa_emu_mma_m16n8k8_tf32(const uint32_t *a, const uint32_t *b, const float *c, float *d,
                                const char *site);
/// mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, with two elements per register of `a` and
/// `b`.
void bppsa_emu_mma_m16n8k16_bf16(const uint32_t *a, const uint32_t *b, const float *c, float *d,
                                 const char *site);

//===----------------------------------------------------------------------===//
// Arithmetic, correctly rounded even if approximate on a GPU.
//===----------------------------------------------------------------------===//

float bppsa_emu_flush(float value);
float bppsa_emu_ex2(float value);
float bppsa_emu_lg2(float value);
float bppsa_emu_rcp(float value);
float bppsa_emu_sqrt(float value);
float bppsa_emu_rsqrt(float value);
float bppsa_emu_sin(float value);
float bppsa_emu_cos(float value);
float bppsa_emu_tanh(float value);
float bppsa_emu_saturate(float value);
/// cvt.rna.tf32.f32: rounds to 19 bits, ties away from zero.
uint32_t bppsa_emu_tf32(float value);
/// cvt.rn.bf16x2.f32: rounds each value to 16 bits, ties to even.
uint32_t bppsa_emu_bf16x2(float high, float low);

[[noreturn]] void bppsa_emu_trap(const char *site);

//===----------------------------------------------------------------------===//
// Registration of a program by its constructors
//===----------------------------------------------------------------------===//

void bppsa_emu_add_global(const void *address, uint64_t bytes, uint32_t writable);
void bppsa_emu_add_shared(void (*kernel)(void **), uint64_t offset, uint64_t bytes);
void bppsa_emu_limit_block(void (*kernel)(void **), uint32_t threads);
}

#endif // BPPSA_EMULATOR_EMULATORINTERFACE_H
