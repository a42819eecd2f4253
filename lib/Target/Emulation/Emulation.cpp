//===- Emulation.cpp - device modules for the CPU -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/Emulation.h"
#include "EmulationParts.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::emulation;

llvm::Constant *Sites::get(llvm::Instruction &instruction, StringRef kind) {
  llvm::Function *function = instruction.getFunction();
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (const llvm::MDNode *source = instruction.getMetadata(attrs::Source::getName()))
    stream << cast<llvm::MDString>(source->getOperand(0))->getString() << ", ";
  stream << kind << ' ' << ++counts[function][kind] << " of " << function->getName();
  llvm::IRBuilder<> builder(function->getContext());
  return builder.CreateGlobalString(text, "site", /*AddressSpace=*/0, function->getParent());
}

llvm::CallInst *RuntimeCalls::call(llvm::IRBuilder<> &builder, StringRef name, llvm::Type *result,
                                   ArrayRef<llvm::Value *> arguments, bool pure) {
  SmallVector<llvm::Type *> types;
  for (llvm::Value *argument : arguments)
    types.push_back(argument->getType());
  llvm::FunctionCallee callee =
      module.getOrInsertFunction(name, llvm::FunctionType::get(result, types, /*isVarArg=*/false));
  auto *function = cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  if (pure) {
    function->setDoesNotAccessMemory();
    function->setWillReturn();
  } else if (name == "bppsa_emu_access") {
    // The call may end the program, so no access may move before the call that reports it.
    function->setOnlyAccessesInaccessibleMemory();
  } else {
    function->setConvergent();
  }
  return builder.CreateCall(callee, arguments);
}

static bool isKernel(const llvm::Function &function) {
  return !function.isDeclaration() && (function.getCallingConv() == llvm::CallingConv::PTX_Kernel ||
                                       function.hasFnAttribute("nvvm.kernel"));
}

static unsigned blockLimit(const llvm::Function &kernel) {
  for (StringRef name : {"nvvm.reqntid", "nvvm.maxntid"}) {
    if (!kernel.hasFnAttribute(name))
      continue;
    unsigned limit = 1, size = 0;
    for (StringRef part : llvm::split(kernel.getFnAttribute(name).getValueAsString(), ','))
      if (!part.trim().getAsInteger(10, size))
        limit *= size;
    return limit;
  }
  return 0;
}

static llvm::Function *addBody(llvm::Function &kernel, StringRef symbol) {
  llvm::Module &module = *kernel.getParent();
  auto *pointer = llvm::PointerType::getUnqual(module.getContext());
  auto *type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), {pointer}, false);
  auto *body = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
  body->setVisibility(llvm::GlobalValue::HiddenVisibility);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "entry", body));
  SmallVector<llvm::Value *> arguments;
  for (auto [index, argument] : llvm::enumerate(kernel.args()))
    arguments.push_back(builder.CreateLoad(
        argument.getType(), builder.CreateLoad(pointer, builder.CreateConstInBoundsGEP1_64(
                                                            pointer, body->getArg(0), index))));
  builder.CreateCall(&kernel, arguments);
  builder.CreateRetVoid();
  return body;
}

static void finalizeFunction(llvm::Function &function) {
  function.setCallingConv(llvm::CallingConv::C);
  llvm::AttributeMask strings;
  for (llvm::Attribute attribute : function.getAttributes().getFnAttrs())
    if (attribute.isStringAttribute())
      strings.addAttribute(attribute.getKindAsString());
  function.removeFnAttrs(strings);
  if (function.isDeclaration())
    return;
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  // A thread that overflows the stack of its fiber must hit the guard page.
  function.addFnAttr("probe-stack", "inline-asm");
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    // All address spaces share the memory of the CPU.
    if (instruction.isAtomic())
      setAtomicSyncScopeID(&instruction, llvm::SyncScope::System);
    if (auto *call = dyn_cast<llvm::CallBase>(&instruction))
      call->setCallingConv(llvm::CallingConv::C);
    auto *alloca = dyn_cast<llvm::AllocaInst>(&instruction);
    if (!alloca || alloca->getAddressSpace() == Generic)
      continue;
    llvm::IRBuilder<> builder(alloca);
    llvm::AllocaInst *own =
        builder.CreateAlloca(alloca->getAllocatedType(), Generic, alloca->getArraySize());
    own->setAlignment(alloca->getAlign());
    alloca->replaceAllUsesWith(builder.CreateAddrSpaceCast(own, alloca->getType()));
    alloca->eraseFromParent();
  }
}

static SmallVector<llvm::GlobalVariable *> findGlobals(llvm::Module &device) {
  SmallVector<llvm::GlobalVariable *> globals;
  for (llvm::GlobalVariable &global : device.globals())
    if (global.getAddressSpace() != Shared && !global.getName().starts_with("llvm."))
      globals.push_back(&global);
  return globals;
}

static LogicalResult moveGlobals(MutableArrayRef<llvm::GlobalVariable *> globals,
                                 std::string &error) {
  for (llvm::GlobalVariable *&global : globals) {
    if (global->isDeclaration()) {
      error = "the device module does not define " + global->getName().str();
      return failure();
    }
    auto *own = new llvm::GlobalVariable(*global->getParent(), global->getValueType(),
                                         global->isConstant(), llvm::GlobalValue::InternalLinkage,
                                         global->getInitializer(), "", global);
    own->setAlignment(global->getAlign());
    own->takeName(global);
    global->replaceAllUsesWith(
        llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(own, global->getType()));
    global->eraseFromParent();
    global = own;
  }
  return success();
}

namespace {
struct Retargeted {
  llvm::Function *kernel;
  llvm::Function *body;
  SharedLayout layout;
  unsigned blockLimit;
};
} // namespace

static void addRegistration(llvm::Module &module, ArrayRef<Retargeted> kernels,
                            ArrayRef<llvm::GlobalVariable *> globals) {
  llvm::LLVMContext &context = module.getContext();
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto *function = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                          "bppsa_register_kernels", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  RuntimeCalls runtime(module);
  const llvm::DataLayout &layout = module.getDataLayout();
  for (llvm::GlobalVariable *global : globals)
    runtime.call(builder, "bppsa_emu_add_global", builder.getVoidTy(),
                 {global, builder.getInt64(layout.getTypeAllocSize(global->getValueType())),
                  builder.getInt32(!global->isConstant())});
  for (const Retargeted &kernel : kernels) {
    for (const SharedArray &array : kernel.layout.arrays)
      runtime.call(builder, "bppsa_emu_add_shared", builder.getVoidTy(),
                   {kernel.body, builder.getInt64(array.offset), builder.getInt64(array.bytes)});
    if (kernel.blockLimit != 0)
      runtime.call(builder, "bppsa_emu_limit_block", builder.getVoidTy(),
                   {kernel.body, builder.getInt32(kernel.blockLimit)});
  }
  builder.CreateRetVoid();
  llvm::appendToGlobalCtors(module, function, /*Priority=*/65535);
}

static LogicalResult checkKernel(const llvm::Function &kernel, const SharedLayout &layout,
                                 std::string &error) {
  constexpr uint64_t staticLimit = 48 << 10;
  std::string name = "kernel " + kernel.getName().str();
  if (layout.sharedBytes > staticLimit)
    error = name + " has " + std::to_string(layout.sharedBytes) +
            " bytes of shared arrays; at most " + std::to_string(staticLimit) + " may be static";
  else if (llvm::any_of(kernel.args(), [](auto &argument) { return argument.hasByValAttr(); }))
    error = name + " has an argument that is passed by value in memory";
  return failure(!error.empty());
}

static void finalizeModule(llvm::Module &module) {
  for (llvm::NamedMDNode &metadata : llvm::make_early_inc_range(module.named_metadata()))
    module.eraseNamedMetadata(&metadata);
  for (llvm::Function &function : module)
    finalizeFunction(function);
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  module.setTargetTriple(triple);
  module.setDataLayout(triple.computeDataLayout());
}

FailureOr<SmallVector<EmulatedKernel>> bppsa::retargetForEmulation(llvm::Module &device,
                                                                   std::string &error) {
  error.clear();
  SmallVector<llvm::Function *> kernels;
  for (llvm::Function &function : device)
    if (isKernel(function))
      kernels.push_back(&function);
  SmallVector<llvm::GlobalVariable *> globals = findGlobals(device);
  Sites sites;
  // The emulator's functions check the memory that they are passed.
  if (failed(announceAccesses(device, sites, error)) || failed(replaceCalls(device, sites, error)))
    return failure();
  auto layouts = placeSharedArrays(device, kernels, error);
  if (failed(layouts) || failed(moveGlobals(globals, error)))
    return failure();

  SmallVector<Retargeted> retargeted;
  for (llvm::Function *kernel : kernels) {
    retargeted.push_back({kernel, nullptr, (*layouts)[kernel], blockLimit(*kernel)});
    if (failed(checkKernel(*kernel, retargeted.back().layout, error)))
      return failure();
  }
  finalizeModule(device);
  SmallVector<EmulatedKernel> result;
  for (Retargeted &kernel : retargeted) {
    std::string name = kernel.kernel->getName().str();
    kernel.body = addBody(*kernel.kernel, "bppsa_emulated_" + name);
    result.push_back({name, kernel.body->getName().str(), kernel.layout.sharedBytes});
  }
  addRegistration(device, retargeted, globals);
  llvm::raw_string_ostream stream(error);
  if (llvm::verifyModule(device, &stream))
    return failure();
  return result;
}
