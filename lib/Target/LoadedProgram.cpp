//===- LoadedProgram.cpp - load programs into this process ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/LoadedProgram.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/MemoryMapper.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace bppsa;
using namespace llvm;
using namespace llvm::orc;

/// One session per program, so that all its resources are released together.
struct LoadedProgram::Session {
  Session(std::unique_ptr<ExecutorProcessControl> control,
          std::unique_ptr<jitlink::JITLinkMemoryManager> memory)
      : execution(std::move(control)), layer(execution, std::move(memory)),
        program(execution.createBareJITDylib("program")) {
    // The lookup returns the error.
    execution.setErrorReporter([](Error error) { consumeError(std::move(error)); });
  }
  ~Session() { cantFail(execution.endSession()); }

  Error add(const std::vector<std::string> &objects, const std::vector<Symbol> &symbols);

  ExecutionSession execution;
  ObjectLinkingLayer layer;
  JITDylib &program;
};

/// Reserves contiguous memory for all objects, because code and data reach each other with 32-bit
/// displacements.
static Expected<std::unique_ptr<jitlink::JITLinkMemoryManager>>
createMemory(const std::vector<std::string> &objects) {
  size_t bytes = size_t(1) << 20;
  for (const std::string &object : objects)
    bytes += 2 * object.size();
  return MapperJITLinkMemoryManager::CreateWithMapper<InProcessMemoryMapper>(
      alignTo(bytes, size_t(1) << 20));
}

Error LoadedProgram::Session::add(const std::vector<std::string> &objects,
                                  const std::vector<Symbol> &symbols) {
  SymbolMap map;
  for (auto [name, address] : symbols)
    map[execution.intern(name)] = {ExecutorAddr::fromPtr(address), JITSymbolFlags::Exported};
  if (Error error = program.define(absoluteSymbols(std::move(map))))
    return error;
  for (const char *library : {"libc.so.6", "libm.so.6"}) {
    auto generator = DynamicLibrarySearchGenerator::Load(library, /*GlobalPrefix=*/'\0');
    if (!generator)
      return generator.takeError();
    program.addGenerator(std::move(*generator));
  }
  for (const std::string &object : objects)
    if (Error error = layer.add(program, MemoryBuffer::getMemBufferCopy(object)))
      return error;
  return Error::success();
}

LoadedProgram::LoadedProgram(std::unique_ptr<Session> session) : session(std::move(session)) {}
LoadedProgram::~LoadedProgram() = default;

std::unique_ptr<LoadedProgram> LoadedProgram::create(const std::vector<std::string> &objects,
                                                     const std::vector<Symbol> &symbols,
                                                     std::string &error) {
  auto report = [&](Error failed) {
    error = "the program cannot be linked in memory: " + toString(std::move(failed));
    return nullptr;
  };
  auto control = SelfExecutorProcessControl::Create();
  if (!control)
    return report(control.takeError());
  auto memory = createMemory(objects);
  if (!memory)
    return report(memory.takeError());
  auto session = std::make_unique<Session>(std::move(*control), std::move(*memory));
  if (Error failed = session->add(objects, symbols))
    return report(std::move(failed));
  return std::unique_ptr<LoadedProgram>(new LoadedProgram(std::move(session)));
}

void *LoadedProgram::lookup(const char *symbol) {
  Expected<ExecutorSymbolDef> found = session->execution.lookup({&session->program}, symbol);
  if (found)
    return found->getAddress().toPtr<void *>();
  consumeError(found.takeError());
  return nullptr;
}
