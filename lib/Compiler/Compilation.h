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

/// The kernels of a program for GPUs: for the emulator or for devices.
struct DeviceCode {
  llvm::SmallVector<EmulatedKernel> emulated;
  llvm::SmallVector<GPUImage> images;
};

/// Runs one compilation. Every failure has been reported as a diagnostic when this returns.
class Compilation {
public:
  Compilation(mlir::MLIRContext &context, const ModelSource &source, CompileOptions options);

  /// The bytes of what the options ask for.
  mlir::FailureOr<std::string> run();
  // FunctionEmission.cpp
  /// A program for CPUs whose functions have no code yet.
  mlir::FailureOr<CompiledModel> compileToFunctions();
  /// The objects of the functions of `model` that are made of `root`, which nobody has linked.
  mlir::FailureOr<llvm::SmallVector<std::string>> compileFunctions(const CompiledModel &model,
                                                                   const std::string &root);
  /// What the user should know of a compilation that succeeded: warnings and notes.
  const std::vector<CompileDiagnostic> &getRemarks() const { return remarks; }

private:
  mlir::FailureOr<std::unique_ptr<llvm::MemoryBuffer>> read();
  llvm::LogicalResult import();
  mlir::FailureOr<ImportOptions> parseImportOptions();
  /// Lets `--loss=vjp` be on all outputs that it can be on, unless `--loss-on` says.
  void chooseLossOutputs();
  llvm::LogicalResult checkLossOutputs();
  void warn(std::string message) {
    remarks.push_back({CompileDiagnostic::Severity::Warning, std::move(message)});
  }
  /// Passes a warning or remark of the importer on; fails for others.
  llvm::LogicalResult collect(mlir::Diagnostic &diagnostic);
  /// Replaces `file` by the model in float32, where it has values of half precision.
  llvm::LogicalResult widen(std::unique_ptr<llvm::MemoryBuffer> &file);

  // Initializers.cpp
  /// Reads every `--freeze-rows`.
  llvm::LogicalResult freezeRows();
  /// Replaces `file` by the model with initializers in place of the Constant nodes that `--train`
  /// matches.
  llvm::LogicalResult trainConstants(std::unique_ptr<llvm::MemoryBuffer> &file);
  /// Replaces `file` by the model that `--untie` asks for.
  llvm::LogicalResult untie(std::unique_ptr<llvm::MemoryBuffer> &file);
  /// Replaces `file` by the model that `--training-mode` asks for.
  llvm::LogicalResult setTrainingMode(std::unique_ptr<llvm::MemoryBuffer> &file);
  // FixedAxes.cpp
  /// Replaces `file` by the model that `--dynamic` asks for.
  llvm::LogicalResult releaseAxes(std::unique_ptr<llvm::MemoryBuffer> &file);
  /// Names the options that say which axis carries samples, where data flow leaves it open.
  void noteUnknownSamples();
  /// Notes the axes of samples and steps that the exporter fixed though the graph, `file`, does not
  /// need it.
  void noteFixedAxes(const llvm::MemoryBuffer &file, const ImportOptions &importOptions);
  // Initializers.cpp
  /// Keeps `file` as the model to save, in the form for inference.
  llvm::LogicalResult loadImage(const llvm::MemoryBuffer &file);
  /// Freezes the parameters of `module`, made of `file`, that are not trained, and says what may be
  /// meant otherwise. Fails where nothing is left to train.
  llvm::LogicalResult settleInitializers(const llvm::MemoryBuffer &file);
  llvm::LogicalResult rollUpSteps();
  llvm::LogicalResult shapeLoops();
  llvm::LogicalResult checkLoopLimit(bool hasGraphs, bool hasVectors);
  llvm::LogicalResult adaptToLoops();
  llvm::LogicalResult runFrontend();
  /// Parts of the compilation that will begin, too.
  void expectParts(int64_t count) { expectedParts += count; }
  /// Tells the caller that a part begins. Fails where the caller wants no more.
  llvm::LogicalResult beginPart(const char *phase);
  /// Finds the processors to compile for.
  llvm::LogicalResult selectTargets();
  /// Imports the model and runs the phases up to the scan.
  llvm::LogicalResult prepare();
  /// Runs the passes that `build` adds on `target` and verifies the result.
  llvm::LogicalResult runPhase(llvm::StringRef name,
                               llvm::function_ref<void(mlir::OpPassManager &)> build,
                               mlir::ModuleOp target);
  llvm::LogicalResult dump(mlir::ModuleOp target, llvm::StringRef phase);
  mlir::FailureOr<std::string> lowerAndEmit();
  /// Outlines the kernels of `program`, on memrefs.
  llvm::LogicalResult lowerKernels(mlir::ModuleOp program);
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
  lower(mlir::ModuleOp part, const CPUTarget &target, llvm::StringRef name);
  ReportHeader getReportHeader();
  mlir::FailureOr<std::string> emitReport();
  mlir::FailureOr<std::string> emitText(mlir::ModuleOp program);
  mlir::FailureOr<std::string> emitInitializers();
  std::string describe();
  /// Emits the code of `program` and tables with its description.
  mlir::FailureOr<llvm::SmallVector<std::string>> emitObjects(mlir::ModuleOp program,
                                                              llvm::StringRef json);
  /// `passes`, or none with `-O0`.
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

  // Programs for GPUs (GPUEmission.cpp).
  /// What `splitDevice` makes of the kernels.
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
  /// Initializers that `--train` has made of Constant nodes.
  std::vector<std::string> trainedConstants;
  /// The error that nothing is trained; empty otherwise. Outputs that can have no loss come first.
  std::string nothingToTrain;
  /// Weights in Constant nodes, which are not trained.
  std::vector<std::string> constantWeights;
  /// Why initializers are trained or not, by name; for `info`.
  llvm::json::Object classification;
  std::mutex progressMutex;
  int64_t begunParts = 0, expectedParts = 0;
  bool isCancelled = false;
  /// What is in front of the names of phases where the IR after them is written.
  std::string dumpPrefix;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<CPUTarget> targets;
  llvm::SmallVector<ExportedFunction> functions;
};

/// The name of a phase on the command line.
llvm::StringRef getPhaseName(Phase phase);

/// The text of `operation` or of an LLVM module.
std::string print(mlir::Operation *operation, bool withLocations = false);
std::string print(const llvm::Module &module);

} // namespace bppsa

#endif // BPPSA_LIB_COMPILER_COMPILATION_H
