//===- EmulationMemory.cpp - memory of emulated kernels -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../PassAnalyses.h"
#include "EmulationParts.h"
#include "bppsa/Emulator/EmulatorInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Transforms/Scalar/ScalarizeMaskedMemIntrin.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::emulation;

namespace {
struct Access {
  llvm::Value *pointer;
  /// A constant, or an integer of any width.
  llvm::Value *bytes;
  uint32_t flags;
  llvm::Align alignment;
};
} // namespace

static Access makeAccess(llvm::Instruction &instruction, llvm::Value *pointer, llvm::Type *type,
                         uint32_t flags, llvm::Align alignment) {
  uint64_t bytes = instruction.getDataLayout().getTypeStoreSize(type);
  auto *size = llvm::ConstantInt::get(llvm::Type::getInt64Ty(instruction.getContext()), bytes);
  if (instruction.isAtomic())
    flags |= BPPSA_EMU_ATOMIC;
  return {pointer, size, flags, alignment};
}

static SmallVector<Access, 2> findAccesses(llvm::Instruction &instruction) {
  if (auto *load = dyn_cast<llvm::LoadInst>(&instruction))
    return {
        makeAccess(instruction, load->getPointerOperand(), load->getType(), 0, load->getAlign())};
  if (auto *store = dyn_cast<llvm::StoreInst>(&instruction))
    return {makeAccess(instruction, store->getPointerOperand(), store->getValueOperand()->getType(),
                       BPPSA_EMU_WRITE, store->getAlign())};
  if (auto *update = dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return {makeAccess(instruction, update->getPointerOperand(), update->getType(), BPPSA_EMU_WRITE,
                       update->getAlign())};
  if (auto *exchange = dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return {makeAccess(instruction, exchange->getPointerOperand(),
                       exchange->getNewValOperand()->getType(), BPPSA_EMU_WRITE,
                       exchange->getAlign())};
  SmallVector<Access, 2> accesses;
  if (auto *transfer = dyn_cast<llvm::MemTransferInst>(&instruction))
    accesses.push_back({transfer->getRawSource(), transfer->getLength(), 0,
                        transfer->getSourceAlign().valueOrOne()});
  if (auto *memory = dyn_cast<llvm::MemIntrinsic>(&instruction))
    accesses.push_back({memory->getRawDest(), memory->getLength(), BPPSA_EMU_WRITE,
                        memory->getDestAlign().valueOrOne()});
  return accesses;
}

static bool isOpaque(const llvm::Instruction &instruction) {
  auto *call = dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && !isa<llvm::MemIntrinsic>(call) && call->mayReadOrWriteMemory() &&
         !call->onlyAccessesInaccessibleMemory() && !call->isAssumeLikeIntrinsic() &&
         !call->getCalledFunction()->getName().starts_with("llvm.nvvm.") &&
         call->getIntrinsicID() != llvm::Intrinsic::trap;
}

/// Splits masked loads and stores into accesses of their active elements, as NVPTX does.
static void splitMaskedAccesses(llvm::Module &module) {
  llvm::PassBuilder builder;
  PassAnalyses analyses(builder);
  llvm::ScalarizeMaskedMemIntrinPass pass;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      pass.run(function, analyses.functions);
}

LogicalResult bppsa::emulation::announceAccesses(llvm::Module &module, Sites &sites,
                                                 std::string &error) {
  splitMaskedAccesses(module);
  RuntimeCalls runtime(module);
  SmallVector<llvm::Instruction *> instructions;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      instructions.push_back(&instruction);
  for (llvm::Instruction *instruction : instructions) {
    if (isOpaque(*instruction)) {
      error = "the emulator does not know " +
              cast<llvm::CallBase>(instruction)->getCalledFunction()->getName().str() + " (in " +
              instruction->getFunction()->getName().str() + ")";
      return failure();
    }
    for (const Access &access : findAccesses(*instruction)) {
      const llvm::Value *object = llvm::getUnderlyingObject(access.pointer, /*MaxLookup=*/0);
      if (isa<llvm::AllocaInst>(object))
        continue;
      llvm::IRBuilder<> builder(instruction);
      uint32_t flags = access.flags | llvm::Log2(access.alignment) << BPPSA_EMU_ALIGNMENT_SHIFT;
      if (access.pointer->getType()->getPointerAddressSpace() == Shared ||
          object->getType()->getPointerAddressSpace() == Shared)
        flags |= BPPSA_EMU_SHARED;
      llvm::Value *pointer = builder.CreateAddrSpaceCast(access.pointer, builder.getPtrTy());
      llvm::Value *bytes = builder.CreateZExtOrTrunc(access.bytes, builder.getInt64Ty());
      llvm::Constant *site = sites.get(*instruction, instruction->getOpcodeName());
      runtime.call(builder, "bppsa_emu_access", builder.getVoidTy(),
                   {pointer, bytes, builder.getInt32(flags), site});
      if (isa<llvm::LoadInst>(instruction) && instruction->isAtomic())
        runtime.call(builder, "bppsa_emu_poll", builder.getVoidTy(), {pointer, bytes, site});
    }
  }
  return success();
}

/// Gap between arrays, so that an out-of-bounds index does not reach the next array.
static constexpr uint64_t kRedZone = 64;

namespace {
/// Places each array at exactly its declared alignment: `ptxas` promises no more, so accesses that
/// need more must fail.
struct Placement {
  SharedLayout layout;
  uint64_t next = 0;

  uint64_t add(uint64_t bytes, llvm::Align alignment) {
    uint64_t offset = llvm::alignTo(next, alignment);
    if (llvm::isAligned(llvm::Align(2 * alignment.value()), offset))
      offset += alignment.value();
    next = offset + bytes + kRedZone;
    layout.arrays.push_back({offset, bytes});
    layout.sharedBytes = llvm::alignTo(layout.sharedBytes, alignment) + bytes;
    return offset;
  }
};
} // namespace

static void replaceGlobal(llvm::GlobalVariable &global,
                          llvm::function_ref<llvm::Value *(llvm::IRBuilder<> &)> makeAddress) {
  llvm::MapVector<llvm::Function *, llvm::Value *> addresses;
  for (llvm::Use &use : llvm::make_early_inc_range(global.uses())) {
    auto *user = cast<llvm::Instruction>(use.getUser());
    llvm::Value *&address = addresses[user->getFunction()];
    if (!address) {
      llvm::BasicBlock &entry = user->getFunction()->getEntryBlock();
      llvm::IRBuilder<> builder(&entry, entry.getFirstInsertionPt());
      address = builder.CreateAddrSpaceCast(makeAddress(builder), global.getType());
    }
    use.set(address);
  }
}

static LogicalResult checkShared(const llvm::GlobalVariable &global, std::string &error) {
  bool initialized = global.hasInitializer() && !isa<llvm::UndefValue>(global.getInitializer());
  if (!initialized && llvm::all_of(global.users(), llvm::IsaPred<llvm::Instruction>))
    return success();
  error = "shared array " + global.getName().str() +
          (initialized ? " has an initial value" : " is the initial value of another variable");
  return failure();
}

FailureOr<llvm::MapVector<llvm::Function *, SharedLayout>>
bppsa::emulation::placeSharedArrays(llvm::Module &module, ArrayRef<llvm::Function *> kernels,
                                    std::string &error) {
  SmallVector<llvm::GlobalVariable *> arrays;
  for (llvm::GlobalVariable &global : module.globals())
    if (global.getAddressSpace() == Shared)
      arrays.push_back(&global);
  SmallVector<llvm::Constant *> constants(arrays.begin(), arrays.end());
  llvm::convertUsersOfConstantsToInstructions(constants);

  RuntimeCalls runtime(module);
  const llvm::DataLayout &dataLayout = module.getDataLayout();
  Placement common;
  llvm::MapVector<llvm::Function *, Placement> placements;
  // Arrays used by several kernels come first, at the same offset in all kernels.
  for (bool single : {false, true}) {
    if (single)
      for (llvm::Function *kernel : kernels)
        placements[kernel] = common;
    for (llvm::GlobalVariable *array : arrays) {
      if (failed(checkShared(*array, error)))
        return failure();
      llvm::SmallSetVector<llvm::Function *, 4> users;
      for (llvm::User *user : array->users())
        users.insert(cast<llvm::Instruction>(user)->getFunction());
      bool isSingle = users.size() == 1 && llvm::is_contained(kernels, users.front());
      if (isSingle != single)
        continue;
      uint64_t offset = 0;
      if (!array->isDeclaration() && !users.empty())
        offset =
            (single ? placements[users.front()] : common)
                .add(dataLayout.getTypeAllocSize(array->getValueType()),
                     array->getAlign().value_or(dataLayout.getABITypeAlign(array->getValueType())));
      replaceGlobal(*array, [&](llvm::IRBuilder<> &builder) -> llvm::Value * {
        if (array->isDeclaration())
          return runtime.call(builder, "bppsa_emu_dynamic_shared", builder.getPtrTy(), {},
                              /*pure=*/true);
        return runtime.call(builder, "bppsa_emu_shared", builder.getPtrTy(),
                            {builder.getInt64(offset)}, /*pure=*/true);
      });
    }
  }
  for (llvm::GlobalVariable *array : arrays)
    array->eraseFromParent();
  llvm::MapVector<llvm::Function *, SharedLayout> layouts;
  for (auto &[kernel, placement] : placements)
    layouts[kernel] = placement.layout;
  return layouts;
}
