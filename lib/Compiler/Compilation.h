//===- Compilation.h - one run of the compiler ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_COMPILER_COMPILATION_H
#define BPPSA_LIB_COMPILER_COMPILATION_H

#include "bppsa/Compiler/Compiler.h"
#include "bppsa/Report/Report.h"
#include "bppsa/Support/RolledUpLoop.h"
#include "bppsa/Target/CPUObject.h"
#include "bppsa/Target/GPUObject.h"
#include "bppsa/Target/ProgramParts.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <mutex>

namespace bppsa {

struct DeviceCode {
  llvm::SmallVector<EmulatedKernel> emulated;
  llvm::SmallVector<GPUImage> images;
};

class Compilation {
public:
  Compilation(mlir::MLIRContext &context, const ModelSource &source, CompileOptions options);

  mlir::FailureOr<std::string> run();
  // FunctionEmission.cpp
  mlir::FailureOr<CompiledModel> compileToFunctions();
  /// Generates the unlinked objects of the functions of `model` with the root `root`.
  mlir::FailureOr<llvm::SmallVector<std::string>> compileFunctions(const CompiledModel &model,
                                                                   const std::string &root);
  const std::vector<CompileDiagnostic> &getRemarks() const { return remarks; }

private:
  mlir::FailureOr<std::unique_ptr<llvm::MemoryBuffer>> read();
  llvm::LogicalResult import();
  mlir::FailureOr<ImportOptions> parseImportOptions();
  void chooseLossOutputs();
  llvm::LogicalResult checkLossOutputs();
  void warn(std::string message) {
    remarks.push_back({CompileDiagnostic::Severity::Warning, std::move(message)});
  }
  llvm::LogicalResult collect(mlir::Diagnostic &diagnostic);
  llvm::LogicalResult widen(std::unique_ptr<llvm::MemoryBuffer> &file);

  // Initializers.cpp
  llvm::LogicalResult freezeRows();
  llvm::LogicalResult trainConstants(std::unique_ptr<llvm::MemoryBuffer> &file);
  llvm::LogicalResult untie(std::unique_ptr<llvm::MemoryBuffer> &file);
  llvm::LogicalResult setTrainingMode(std::unique_ptr<llvm::MemoryBuffer> &file);
  // FixedAxes.cpp
  llvm::LogicalResult releaseAxes(std::unique_ptr<llvm::MemoryBuffer> &file);
  void noteUnknownSamples();
  /// Notes axes that the exporter fixed although the graph does not need it.
  void noteFixedAxes(const llvm::MemoryBuffer &file, const ImportOptions &importOptions);
  // Initializers.cpp
  llvm::LogicalResult loadImage(const llvm::MemoryBuffer &file);
  /// Fails if no parameter is trained.
  llvm::LogicalResult settleInitializers(const llvm::MemoryBuffer &file);
  llvm::LogicalResult rollUpSteps();
  llvm::LogicalResult shapeLoops();
  llvm::LogicalResult checkLoopLimit(bool hasGraphs, bool hasVectors);
  llvm::LogicalResult adaptToLoops();
  llvm::LogicalResult runFrontend();
  void expectParts(int64_t count) { expectedParts += count; }
  /// Reports the begin of a part to the caller.
  llvm::LogicalResult beginPart(const char *phase);
  llvm::LogicalResult selectTargets();
  llvm::LogicalResult prepare();
  llvm::LogicalResult runPhase(llvm::StringRef name,
                               llvm::function_ref<void(mlir::OpPassManager &)> build,
                               mlir::ModuleOp target);
  llvm::LogicalResult dump(mlir::ModuleOp target, llvm::StringRef phase);
  mlir::FailureOr<std::string> lowerAndEmit();
  llvm::LogicalResult lowerKernels(mlir::ModuleOp program);
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
  lower(mlir::ModuleOp part, const CPUTarget &target, llvm::StringRef name);
  ReportHeader getReportHeader();
  mlir::FailureOr<std::string> emitReport();
  mlir::FailureOr<std::string> emitText(mlir::ModuleOp program);
  mlir::FailureOr<std::string> emitInitializers();
  std::string describe();
  mlir::FailureOr<llvm::SmallVector<std::string>> emitObjects(mlir::ModuleOp program,
                                                              llvm::StringRef json);
  CodePasses getPasses(CodePasses passes) const {
    return options.optLevel == 0 ? CodePasses::None : passes;
  }
  llvm::LogicalResult emitObject(llvm::Module &code, const CPUTarget &target, unsigned optLevel,
                                 std::string &object);
  llvm::LogicalResult emitHost(const ProgramParts &parts, std::string &object);
  llvm::LogicalResult emitKernels(const ProgramParts &parts, unsigned group,
                                  const CPUTarget &target, std::string &object);
  llvm::LogicalResult emitTables(const ProgramParts &parts, llvm::StringRef json,
                                 std::string &object);
  mlir::FailureOr<std::string> link(llvm::ArrayRef<std::string> objects);
  std::unique_ptr<llvm::MemoryBuffer> findStub();

  using DeviceGroups = llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>>;
  mlir::FailureOr<std::string> lowerAndEmitGPU();
  void noteSingleStreams(mlir::ModuleOp program);
  llvm::LogicalResult lowerDevice(mlir::ModuleOp group, unsigned number);
  std::unique_ptr<llvm::Module> translateGroup(mlir::ModuleOp group, unsigned number,
                                               llvm::LLVMContext &llvmContext, unsigned optLevel);
  mlir::FailureOr<std::string> emitGPUText(mlir::ModuleOp program);
  mlir::FailureOr<std::string> emitGroupPTX(mlir::ModuleOp group, unsigned number);
  mlir::FailureOr<std::string> emitDevicePTX(DeviceGroups groups);
  llvm::LogicalResult emitImages(DeviceGroups groups,
                                 llvm::function_ref<llvm::LogicalResult()> emitHost,
                                 llvm::SmallVectorImpl<GPUImage> &images);
  llvm::LogicalResult emitEmulatedGroup(mlir::ModuleOp group, unsigned number, std::string &object,
                                        llvm::SmallVectorImpl<EmulatedKernel> &kernels);
  llvm::LogicalResult emitEmulated(DeviceGroups groups,
                                   llvm::function_ref<llvm::LogicalResult()> emitHost,
                                   llvm::MutableArrayRef<std::string> objects,
                                   llvm::SmallVectorImpl<EmulatedKernel> &kernels);
  llvm::LogicalResult emitGPUHost(mlir::ModuleOp program, llvm::ArrayRef<std::string> kernels,
                                  std::string &object);
  llvm::LogicalResult emitGPUTables(llvm::ArrayRef<std::string> kernels, const DeviceCode &code,
                                    std::string &object);
  mlir::FailureOr<std::string> emitGPUProgram(mlir::ModuleOp program);
  std::unique_ptr<llvm::LLVMContext> createLLVMContext();
  mlir::InFlightDiagnostic fail(const llvm::Twine &message);

  mlir::MLIRContext &context;
  const ModelSource &source;
  CompileOptions options;
  std::vector<CompileDiagnostic> remarks;
  OnnxImage image;
  std::vector<RolledUpLoop> rolledUp;
  std::vector<std::string> trainedConstants;
  /// The error that nothing is trained, or empty. Errors about outputs that cannot have a loss take
  /// precedence.
  std::string nothingToTrain;
  /// Weights in Constant nodes, which are not trained.
  std::vector<std::string> constantWeights;
  llvm::json::Object classification;
  std::mutex progressMutex;
  int64_t begunParts = 0, expectedParts = 0;
  bool isCancelled = false;
  std::string dumpPrefix;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<CPUTarget> targets;
  llvm::SmallVector<ExportedFunction> functions;
};

llvm::StringRef getPhaseName(Phase phase);

std::string print(mlir::Operation *operation, bool withLocations = false);
std::string print(const llvm::Module &module);

} // namespace bppsa

#endif // BPPSA_LIB_COMPILER_COMPILATION_H
