//===- EmulationCalls.cpp - NVVM intrinsics for emulated kernels ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulationParts.h"
#include "bppsa/Emulator/EmulatorInterface.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::emulation;

namespace {
class CallReplacer {
public:
  CallReplacer(llvm::CallInst &replaced, RuntimeCalls &runtimeCalls, Sites &callSites)
      : call(replaced), runtime(runtimeCalls), sites(callSites), builder(&replaced) {}

  /// Returns the replacement of a call of NVVM intrinsic `name`, without `llvm.nvvm.`. Returns the
  /// call itself if it is erased without a replacement, and null if the intrinsic is unknown.
  llvm::Value *replaceIntrinsic(StringRef name);
  llvm::Value *replaceArithmetic(StringRef name);
  llvm::Value *callAtSite(StringRef function, StringRef kind) {
    return runtime.call(builder, function, builder.getVoidTy(), {sites.get(call, kind)});
  }

private:
  llvm::Value *replaceRegister(StringRef name);
  llvm::Value *replaceBarrier(StringRef name);
  llvm::Value *replaceShuffle(StringRef name);
  llvm::Value *replaceVote(StringRef name);
  llvm::Value *replaceCopy(StringRef name);
  llvm::Value *multiply(StringRef function);

  llvm::Value *generic(unsigned argument) {
    return builder.CreateAddrSpaceCast(call.getArgOperand(argument), builder.getPtrTy());
  }
  llvm::Value *variable(llvm::Type *type) {
    llvm::BasicBlock &entry = call.getFunction()->getEntryBlock();
    llvm::IRBuilder<> atEntry(&entry, entry.getFirstInsertionPt());
    return atEntry.CreateAlloca(type, Generic);
  }
  llvm::Value *gather(unsigned begin, unsigned end);

  llvm::CallInst &call;
  RuntimeCalls &runtime;
  Sites &sites;
  llvm::IRBuilder<> builder;
};
} // namespace

llvm::Value *CallReplacer::replaceRegister(StringRef name) {
  if (name == "warpsize")
    return builder.getInt32(32);
  auto [base, axis] = name.split('.');
  bool known = name == "laneid" || (llvm::is_contained({"tid", "ntid", "ctaid", "nctaid"}, base) &&
                                    llvm::is_contained({"x", "y", "z"}, axis));
  if (!known)
    return nullptr;
  std::string function = "bppsa_emu_" + base.str() + (axis.empty() ? "" : "_") + axis.str();
  return runtime.call(builder, function, builder.getInt32Ty(), {}, /*pure=*/true);
}

/// Replaces barrier 0 of all threads; the hardware's other barriers are not supported.
llvm::Value *CallReplacer::replaceBarrier(StringRef name) {
  auto *number = dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
  if ((name != "all" && name != "aligned.all") || !number || !number->isZero())
    return nullptr;
  return callAtSite("bppsa_emu_barrier", "barrier");
}

/// Replaces `<mode>.<type>`; the types `f32p` and `i32p` also return a predicate.
llvm::Value *CallReplacer::replaceShuffle(StringRef name) {
  auto [modeName, type] = name.split('.');
  int mode = llvm::StringSwitch<int>(modeName)
                 .Case("up", BPPSA_EMU_UP)
                 .Case("down", BPPSA_EMU_DOWN)
                 .Case("bfly", BPPSA_EMU_BFLY)
                 .Case("idx", BPPSA_EMU_IDX)
                 .Default(-1);
  if (mode < 0 || !llvm::is_contained({"f32", "i32", "f32p", "i32p"}, type))
    return nullptr;
  bool withPredicate = type.ends_with("p");
  llvm::Value *inRange = withPredicate ? variable(builder.getInt8Ty())
                                       : llvm::ConstantPointerNull::get(builder.getPtrTy());
  llvm::Value *value = call.getArgOperand(1);
  llvm::Value *bits =
      runtime.call(builder, "bppsa_emu_shuffle", builder.getInt32Ty(),
                   {builder.getInt32(mode), call.getArgOperand(0),
                    builder.CreateBitCast(value, builder.getInt32Ty()), call.getArgOperand(2),
                    call.getArgOperand(3), inRange, sites.get(call, "shuffle")});
  llvm::Value *result = builder.CreateBitCast(bits, value->getType());
  if (!withPredicate)
    return result;
  llvm::Value *pair = builder.CreateInsertValue(llvm::PoisonValue::get(call.getType()), result, 0);
  llvm::Value *predicate = builder.CreateLoad(builder.getInt8Ty(), inRange);
  return builder.CreateInsertValue(pair, builder.CreateIsNotNull(predicate), 1);
}

llvm::Value *CallReplacer::replaceVote(StringRef name) {
  int mode = llvm::StringSwitch<int>(name)
                 .Case("all.sync", BPPSA_EMU_ALL)
                 .Case("any.sync", BPPSA_EMU_ANY)
                 .Case("uni.sync", BPPSA_EMU_UNI)
                 .Case("ballot.sync", BPPSA_EMU_BALLOT)
                 .Default(-1);
  if (mode < 0)
    return nullptr;
  llvm::Value *result = runtime.call(
      builder, "bppsa_emu_vote", builder.getInt32Ty(),
      {builder.getInt32(mode), call.getArgOperand(0),
       builder.CreateZExt(call.getArgOperand(1), builder.getInt32Ty()), sites.get(call, "vote")});
  return builder.CreateTrunc(result, call.getType());
}

/// Replaces `{ca,cg}.shared.global.<bytes>[.s]`, and commit and wait operations.
llvm::Value *CallReplacer::replaceCopy(StringRef name) {
  llvm::Type *none = builder.getVoidTy();
  if (name == "commit.group")
    return runtime.call(builder, "bppsa_emu_copy_commit", none, {});
  if (name == "wait.group")
    return runtime.call(builder, "bppsa_emu_copy_wait", none, {call.getArgOperand(0)});
  if (name == "wait.all")
    return runtime.call(builder, "bppsa_emu_copy_wait_all", none, {});
  uint64_t bytes = 0;
  bool withSize = name.consume_back(".s");
  if (!(name.consume_front("ca.") || name.consume_front("cg.")) ||
      !name.consume_front("shared.global.") || name.getAsInteger(10, bytes))
    return nullptr;
  llvm::Value *size = builder.getInt64(bytes);
  llvm::Value *sourceSize =
      withSize ? builder.CreateZExt(call.getArgOperand(2), builder.getInt64Ty()) : size;
  return runtime.call(builder, "bppsa_emu_copy_async", none,
                      {generic(0), generic(1), size, sourceSize, sites.get(call, "cp.async")});
}

llvm::Value *CallReplacer::gather(unsigned begin, unsigned end) {
  llvm::Type *type = call.getArgOperand(begin)->getType();
  llvm::Value *array = variable(llvm::ArrayType::get(type, end - begin));
  for (unsigned i = begin; i < end; ++i)
    builder.CreateStore(call.getArgOperand(i),
                        builder.CreateConstInBoundsGEP1_64(type, array, i - begin));
  return array;
}

llvm::Value *CallReplacer::multiply(StringRef function) {
  llvm::Value *a = gather(0, 4), *b = gather(4, 6), *c = gather(6, 10);
  llvm::Value *d = variable(llvm::ArrayType::get(builder.getFloatTy(), 4));
  runtime.call(builder, function, builder.getVoidTy(), {a, b, c, d, sites.get(call, "mma")});
  return builder.CreateLoad(call.getType(), d);
}

llvm::Value *CallReplacer::replaceIntrinsic(StringRef name) {
  if (name.consume_front("read.ptx.sreg."))
    return replaceRegister(name);
  if (name.consume_front("barrier.cta.sync."))
    return replaceBarrier(name);
  if (name.consume_front("shfl.sync."))
    return replaceShuffle(name);
  if (name.consume_front("vote."))
    return replaceVote(name);
  if (name.consume_front("cp.async."))
    return replaceCopy(name);
  if (name == "bar.warp.sync")
    return runtime.call(builder, "bppsa_emu_warp_barrier", builder.getVoidTy(),
                        {call.getArgOperand(0), sites.get(call, "bar.warp.sync")});
  if (name == "mma.m16n8k8.row.col.tf32")
    return multiply("bppsa_emu_mma_m16n8k8_tf32");
  if (name == "mma.m16n8k16.row.col.bf16")
    return multiply("bppsa_emu_mma_m16n8k16_bf16");
  if (name == "f2tf32.rna")
    return runtime.call(builder, "bppsa_emu_tf32", call.getType(), {call.getArgOperand(0)},
                        /*pure=*/true);
  if (name == "ff2bf16x2.rn")
    return builder.CreateBitCast(runtime.call(builder, "bppsa_emu_bf16x2", builder.getInt32Ty(),
                                              {call.getArgOperand(0), call.getArgOperand(1)},
                                              /*pure=*/true),
                                 call.getType());
  if (name.starts_with("membar."))
    return builder.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  return replaceArithmetic(name);
}

static const char *findApproximation(StringRef name) {
  return llvm::StringSwitch<const char *>(name)
      .Cases({"ex2.approx", "ex2.approx.f32"}, "bppsa_emu_ex2")
      .Cases({"lg2.approx.f", "lg2.approx.f32"}, "bppsa_emu_lg2")
      .Cases({"rcp.approx.f", "rcp.approx.f32"}, "bppsa_emu_rcp")
      .Cases({"sqrt.approx.f", "sqrt.approx.f32"}, "bppsa_emu_sqrt")
      .Cases({"rsqrt.approx.f", "rsqrt.approx.f32"}, "bppsa_emu_rsqrt")
      .Cases({"sin.approx.f", "sin.approx.f32"}, "bppsa_emu_sin")
      .Cases({"cos.approx.f", "cos.approx.f32"}, "bppsa_emu_cos")
      .Case("tanh.approx.f32", "bppsa_emu_tanh")
      .Case("saturate.f", "bppsa_emu_saturate")
      .Default(nullptr);
}

llvm::Value *CallReplacer::replaceArithmetic(StringRef fullName) {
  auto [front, back] = fullName.split(".ftz");
  bool flushes = front.size() != fullName.size();
  std::string name = (front + back).str();
  SmallVector<llvm::Value *> operands(call.args());
  auto flush = [&](llvm::Value *value) -> llvm::Value * {
    if (!flushes || !value->getType()->isFloatTy())
      return value;
    return runtime.call(builder, "bppsa_emu_flush", value->getType(), {value}, /*pure=*/true);
  };
  for (llvm::Value *&operand : operands)
    operand = flush(operand);
  llvm::Type *type = call.getType();
  auto intrinsic = [&](llvm::Intrinsic::ID id) {
    return flush(builder.CreateIntrinsic(id, {type}, operands));
  };
  if (const char *function = findApproximation(name))
    return flush(runtime.call(builder, function, type, operands, /*pure=*/true));
  StringRef base = StringRef(name).rsplit('.').first;
  if (!llvm::is_contained({"f", "d", "f32", "f64"}, StringRef(name).rsplit('.').second))
    return nullptr;
  if (base == "fma.rn")
    return intrinsic(llvm::Intrinsic::fma);
  if (base == "add.rn")
    return flush(builder.CreateFAdd(operands[0], operands[1]));
  if (base == "mul.rn")
    return flush(builder.CreateFMul(operands[0], operands[1]));
  if (base == "div.rn" || base == "div.approx" || base == "div.full")
    return flush(builder.CreateFDiv(operands[0], operands[1]));
  if (base == "rcp.rn")
    return flush(builder.CreateFDiv(llvm::ConstantFP::get(type, 1.0), operands[0]));
  llvm::Intrinsic::ID id = llvm::StringSwitch<llvm::Intrinsic::ID>(base)
                               .Case("fabs", llvm::Intrinsic::fabs)
                               .Case("fmin", llvm::Intrinsic::minnum)
                               .Case("fmax", llvm::Intrinsic::maxnum)
                               .Cases({"sqrt", "sqrt.rn"}, llvm::Intrinsic::sqrt)
                               .Default(llvm::Intrinsic::not_intrinsic);
  return id == llvm::Intrinsic::not_intrinsic ? nullptr : intrinsic(id);
}

static StringRef findOperation(const llvm::InlineAsm &assembly) {
  StringRef text = StringRef(assembly.getAsmString()).trim();
  auto [operation, operands] = text.split(' ');
  SmallVector<StringRef> parts;
  operands.split(parts, ',');
  bool unary = parts.size() == 2 && parts[0].trim() == "$0" && parts[1].trim() == "$1;";
  return unary ? operation : StringRef();
}

static llvm::Value *replaceCall(llvm::CallInst &call, RuntimeCalls &runtime, Sites &sites,
                                std::string &what) {
  CallReplacer replacer(call, runtime, sites);
  if (auto *assembly = dyn_cast<llvm::InlineAsm>(call.getCalledOperand())) {
    what = "inline assembly '" + assembly->getAsmString().str() + "'";
    StringRef operation = findOperation(*assembly);
    return findApproximation(operation) || operation.contains(".ftz")
               ? replacer.replaceArithmetic(operation)
               : nullptr;
  }
  llvm::Function *callee = call.getCalledFunction();
  if (!callee) {
    what = "calls through pointers";
    return nullptr;
  }
  StringRef name = callee->getName();
  what = name.str();
  if (name == "llvm.trap" || name == "__assertfail")
    return replacer.callAtSite("bppsa_emu_trap", "trap");
  if (name.consume_front("llvm.nvvm."))
    return replacer.replaceIntrinsic(name);
  bool own = !callee->isDeclaration() || callee->isIntrinsic() || name.starts_with("bppsa_emu_");
  return own ? &call : nullptr;
}

LogicalResult bppsa::emulation::replaceCalls(llvm::Module &module, Sites &sites,
                                             std::string &error) {
  RuntimeCalls runtime(module);
  SmallVector<llvm::CallBase *> calls;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = dyn_cast<llvm::CallBase>(&instruction))
        calls.push_back(call);
  for (llvm::CallBase *base : calls) {
    auto *call = dyn_cast<llvm::CallInst>(base);
    std::string what = "invoke";
    llvm::Value *value = call ? replaceCall(*call, runtime, sites, what) : nullptr;
    if (!value) {
      error = "the emulator does not know " + what + " (in " +
              base->getFunction()->getName().str() + ")";
      return failure();
    }
    if (value == call)
      continue;
    if (!call->getType()->isVoidTy())
      call->replaceAllUsesWith(value);
    call->eraseFromParent();
  }
  for (llvm::Function &function : llvm::make_early_inc_range(module))
    if (function.use_empty() && function.isDeclaration())
      function.eraseFromParent();
  return success();
}
