//===- CompiledErrors.cpp - Errors raised below compiled code -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/CompiledErrors.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Memory.h"

#include <algorithm>
#include <csetjmp>
#include <utility>
#include <vector>

using namespace bppsa::runtime;

namespace {
struct Catcher {
  jmp_buf target;
  Catcher *outer;
  std::exception_ptr error;
  std::vector<void *> blocks;
};
} // namespace

static thread_local Catcher *innermostCatcher = nullptr;

static thread_local bool areThrown = false;

ScopedThrowFailures::ScopedThrowFailures() : before(std::exchange(areThrown, true)) {}
ScopedThrowFailures::~ScopedThrowFailures() { areThrown = before; }

bool bppsa::runtime::throwsFailures() { return areThrown; }

bool bppsa::runtime::catchesFailures() { return innermostCatcher != nullptr; }

std::exception_ptr bppsa::runtime::catchFailure(void (*body)(void *), void *context) noexcept {
  Catcher catcher{{}, innermostCatcher, nullptr, {}};
  innermostCatcher = &catcher;
  if (setjmp(catcher.target) == 0)
    body(context);
  innermostCatcher = catcher.outer;
  if (catcher.error)
    for (void *block : catcher.blocks)
      freeBlock(block);
  return std::move(catcher.error);
}

void bppsa::runtime::failCompiled(std::exception_ptr error) noexcept {
  if (!innermostCatcher)
    orExit([&] { std::rethrow_exception(error); });
  innermostCatcher->error = std::move(error);
  longjmp(innermostCatcher->target, 1);
}

void bppsa::runtime::noteBlock(void *block) {
  if (innermostCatcher)
    innermostCatcher->blocks.push_back(block);
}

void bppsa::runtime::forgetBlock(void *block) {
  for (Catcher *catcher = innermostCatcher; catcher; catcher = catcher->outer) {
    auto found = std::find(catcher->blocks.rbegin(), catcher->blocks.rend(), block);
    if (found == catcher->blocks.rend())
      continue;
    *found = catcher->blocks.back();
    catcher->blocks.pop_back();
    return;
  }
}
