//===- ProgramImage.cpp - executables without a linker --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/ProgramImage.h"
#include "bppsa/Runtime/ProgramImage.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ExecutionEngine/JITLink/x86_64.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/MemoryMapper.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <sys/mman.h>

using namespace mlir;
using namespace bppsa;
using namespace llvm::orc;
namespace rt = bppsa::runtime;

/// Placeholder addresses of imports, out of reach of relative addressing, so code reaches them only
/// through memory.
static constexpr uint64_t kImports = rt::kImageAddress << 1;
static constexpr unsigned kPageSize = 4096;

namespace {
struct Image {
  uint64_t span = 0;
  std::vector<rt::ImageSegment> segments;
  std::string bytes;
  std::vector<std::string> names;
  std::vector<std::pair<uint64_t, uint64_t>> places;
};

class ImageMapper final : public MemoryMapper {
public:
  explicit ImageMapper(Image &image) : image(image) {}

  unsigned getPageSize() override { return kPageSize; }

  void reserve(size_t bytes, OnReservedFunction onReserved) override {
    ExecutorAddr start(rt::kImageAddress + image.span);
    image.span += llvm::alignTo(bytes, kPageSize);
    onReserved(ExecutorAddrRange(start, bytes));
  }

  char *prepare(llvm::jitlink::LinkGraph &graph, ExecutorAddr, size_t bytes) override {
    return graph.allocateBuffer(bytes).data();
  }

  void initialize(AllocInfo &info, OnInitializedFunction onInitialized) override {
    for (const AllocInfo::SegInfo &segment : info.Segments) {
      MemProt protection = segment.AG.getMemProt();
      auto has = [&](MemProt one) { return (protection & one) != MemProt::None; };
      uint64_t flags = (has(MemProt::Read) ? PROT_READ : 0) |
                       (has(MemProt::Write) ? PROT_WRITE : 0) |
                       (has(MemProt::Exec) ? PROT_EXEC : 0);
      image.segments.push_back({(info.MappingBase + segment.Offset).getValue(),
                                segment.ContentSize + segment.ZeroFillSize, image.bytes.size(),
                                flags});
      image.bytes.append(segment.WorkingMem, segment.ContentSize);
      image.bytes.append(segment.ZeroFillSize, '\0');
    }
    onInitialized(info.MappingBase);
  }

  void deinitialize(ArrayRef<ExecutorAddr>, OnDeinitializedFunction done) override {
    done(llvm::Error::success());
  }
  void release(ArrayRef<ExecutorAddr>, OnReleasedFunction done) override {
    done(llvm::Error::success());
  }

private:
  Image &image;
};

/// Treats every undefined name as an import from the run time or the C library.
class ImportGenerator final : public DefinitionGenerator {
public:
  explicit ImportGenerator(Image &image) : image(image) {}

  llvm::Error tryToGenerate(LookupState &, LookupKind, JITDylib &dylib, JITDylibLookupFlags,
                            const SymbolLookupSet &wanted) override {
    SymbolMap symbols;
    for (const auto &[name, flags] : wanted) {
      symbols[name] = {ExecutorAddr(kImports + image.names.size()), llvm::JITSymbolFlags::Exported};
      image.names.push_back((*name).str());
    }
    return dylib.define(absoluteSymbols(std::move(symbols)));
  }

private:
  Image &image;
};

/// Records the places in linked code that contain addresses of imports.
class ImportPlaces final : public ObjectLinkingLayer::Plugin {
public:
  explicit ImportPlaces(Image &image) : image(image) {}

  void modifyPassConfig(MaterializationResponsibility &, llvm::jitlink::LinkGraph &,
                        llvm::jitlink::PassConfiguration &config) override {
    config.PreFixupPasses.push_back([this](llvm::jitlink::LinkGraph &graph) -> llvm::Error {
      for (llvm::jitlink::Block *block : graph.blocks())
        for (llvm::jitlink::Edge &edge : block->edges())
          if (llvm::Error error = note(*block, edge))
            return error;
      return llvm::Error::success();
    });
  }

  llvm::Error notifyFailed(MaterializationResponsibility &) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(JITDylib &, ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(JITDylib &, ResourceKey, ResourceKey) override {}

private:
  llvm::Error note(const llvm::jitlink::Block &block, const llvm::jitlink::Edge &edge) {
    uint64_t target = edge.getTarget().getAddress().getValue();
    if (!edge.isRelocation() || target < kImports)
      return llvm::Error::success();
    uint64_t number = target - kImports;
    if (edge.getKind() != llvm::jitlink::x86_64::Pointer64 || edge.getAddend() != 0)
      return llvm::createStringError("the code refers to '" + image.names[number] +
                                     "' in a way that needs a linker");
    image.places.emplace_back(block.getFixupAddress(edge).getValue(), number);
    return llvm::Error::success();
  }

  Image &image;
};
} // namespace

static llvm::Expected<std::vector<uint64_t>> linkObjects(ArrayRef<std::string> objects,
                                                         Image &image) {
  size_t bytes = size_t(1) << 20;
  for (const std::string &object : objects)
    bytes += 2 * object.size();
  auto control = SelfExecutorProcessControl::Create();
  if (!control)
    return control.takeError();
  ExecutionSession session(std::move(*control));
  llvm::scope_exit end([&] { llvm::cantFail(session.endSession()); });
  session.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  ObjectLinkingLayer layer(
      session, std::make_unique<MapperJITLinkMemoryManager>(llvm::alignTo(bytes, size_t(1) << 20),
                                                            std::make_unique<ImageMapper>(image)));
  layer.addPlugin(std::make_shared<ImportPlaces>(image));
  JITDylib &program = session.createBareJITDylib("program");
  program.addGenerator(std::make_unique<ImportGenerator>(image));
  for (const std::string &object : objects)
    if (llvm::Error error = layer.add(program, llvm::MemoryBuffer::getMemBufferCopy(object)))
      return error;
  std::vector<uint64_t> addresses;
  for (const char *name : rt::kImageSymbols) {
    llvm::Expected<ExecutorSymbolDef> found = session.lookup({&program}, name);
    if (!found)
      return found.takeError();
    addresses.push_back(found->getAddress().getValue());
  }
  return addresses;
}

template <typename T> static void append(std::string &bytes, const T &value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

FailureOr<std::string> bppsa::linkImage(StringRef stub, ArrayRef<std::string> objects,
                                        std::string &error) {
  Image image;
  llvm::Expected<std::vector<uint64_t>> symbols = linkObjects(objects, image);
  if (!symbols) {
    error = "the program cannot be linked: " + llvm::toString(symbols.takeError());
    return failure();
  }
  std::string names;
  std::vector<uint64_t> starts;
  for (const std::string &name : image.names) {
    starts.push_back(names.size());
    names.append(name.c_str(), name.size() + 1);
  }
  rt::ImageHeader header = {
      image.span, image.segments.size(), image.places.size(), names.size(), {}};
  llvm::copy(*symbols, header.symbols);
  std::string program = stub.str();
  rt::ImageEnd end = {program.size(), {}};
  llvm::copy(StringRef(rt::kImageMagic), end.magic);
  append(program, header);
  for (const rt::ImageSegment &segment : image.segments)
    append(program, segment);
  for (auto [place, number] : image.places)
    append(program, rt::ImageImport{place, starts[number]});
  program += names + image.bytes;
  append(program, end);
  return program;
}
