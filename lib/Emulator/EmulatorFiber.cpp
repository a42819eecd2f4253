//===- EmulatorFiber.cpp - stacks of fibers and their switches ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatorFiber.h"

#include <cstdint>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

using namespace bppsa::runtime::emulator;

// In the x86-64 System V convention, rbx, rbp and r12 to r15 are callee-saved. All fibers have the
// same floating-point mode.
asm(R"(
  .text
  .p2align 4
  .globl bppsa_emu_switch
  .hidden bppsa_emu_switch
  .type bppsa_emu_switch, @function
bppsa_emu_switch:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
  .size bppsa_emu_switch, .-bppsa_emu_switch
)");

static size_t guardBytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

char *StackPool::take() {
  if (!unused.empty()) {
    char *stack = unused.back();
    unused.pop_back();
    return stack;
  }
  void *memory = mmap(nullptr, guardBytes() + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  if (mprotect(memory, guardBytes(), PROT_NONE) != 0) {
    munmap(memory, guardBytes() + kStackBytes);
    throw std::bad_alloc();
  }
  return static_cast<char *>(memory) + guardBytes();
}

StackPool::~StackPool() {
  for (char *stack : unused)
    munmap(stack - guardBytes(), guardBytes() + kStackBytes);
}

void *bppsa::runtime::emulator::prepareStack(char *stack, void (*entry)()) {
  // Six registers, the return address of the switch, and a null one for `entry`. The stack pointer
  // on entry is 8 below a multiple of 16.
  void *frame[8] = {};
  frame[6] = reinterpret_cast<void *>(entry);
  char *start = stack + kStackBytes - sizeof frame;
  memcpy(start, frame, sizeof frame);
  return start;
}
