//===- GPUMappingTest.cpp - hand-mapped loops, emulated -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Every kernel that a mapping can select runs the same loops, even if it would not be chosen for
// them, and must match the float64 interpreter.
//
//===----------------------------------------------------------------------===//

#include "EmulatedLibrary.h"
#include "bppsa/Compiler/Pipelines/CPULowering.h"
#include "bppsa/Compiler/Pipelines/GPULowering.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/InitAll.h"
#include "bppsa/Reference/Interpreter.h"
#include "bppsa/Runtime/ObjectInterface.h"
#include "bppsa/Target/GPUObject.h"
#include "bppsa/Target/ProgramParts.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"

#include <random>

using namespace mlir;
using namespace bppsa;
using namespace bppsa::runtime;

namespace {
/// State of the functions that host code calls.
struct Machine {
  Emulator emulator;
  EmulatedLibrary *kernels = nullptr;
  SmallVector<std::string> names;
};
Machine *machine = nullptr;

struct Descriptor {
  Descriptor(int64_t bytes, ArrayRef<int64_t> shape) {
    void *memory = machine->emulator.allocate(bytes);
    fields = {reinterpret_cast<int64_t>(memory), reinterpret_cast<int64_t>(memory), 0};
    llvm::append_range(fields, shape);
    int64_t stride = 1;
    fields.resize(3 + 2 * shape.size());
    for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
      fields[3 + shape.size() + i] = stride;
  }
  float *data() { return reinterpret_cast<float *>(fields[1]); }

  std::vector<int64_t> fields;
};
} // namespace

extern "C" {
void bppsa_test_launch(int64_t kernel, int64_t grid, int64_t, int64_t, int64_t block, int64_t,
                       int64_t, void **arguments, int64_t) {
  machine->kernels->launch(machine->emulator, machine->names[kernel], grid, block, arguments,
                           /*cooperative=*/false);
}
void bppsa_test_launch_cooperative(int64_t kernel, int64_t grid, int64_t, int64_t, int64_t block,
                                   int64_t, int64_t, void **arguments, int64_t) {
  machine->kernels->launch(machine->emulator, machine->names[kernel], grid, block, arguments,
                           /*cooperative=*/true);
}
int64_t bppsa_test_multiprocessors() { return Emulator::multiprocessors; }
void *bppsa_test_memory_alloc(uint64_t bytes) { return machine->emulator.allocate(bytes); }
void *bppsa_test_memory_aligned_alloc(uint64_t, uint64_t bytes) {
  return machine->emulator.allocate(bytes);
}
void bppsa_test_memory_free(void *memory) { machine->emulator.release(memory); }
void _mlir_ciface_bppsa_test_arena_take(bppsa_arena_slice *slice, int64_t, int64_t size) {
  void *memory = machine->emulator.allocate(size);
  *slice = {memory, memory, 0, size, 1};
}
void _mlir_ciface_bppsa_test_arena_drop(bppsa_arena_slice *slice) {
  machine->emulator.release(slice->allocated);
}
}

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

static void runPipeline(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(module.getContext());
  build(pm);
  if (failed(pm.run(module)))
    llvm::report_fatal_error("a pipeline failed");
}

/// Assigns the mapping `text` to loops on memory, and to the transitions among them.
static void mapByHand(ModuleOp module, llvm::StringRef text) {
  auto mapping = cast<GPUMappingAttr>(
      parseAttribute(("#bppsa.gpu_mapping<" + text + ">").str(), module.getContext()));
  bool isOfColumns = mapping.is(GPUKernel::ThreadPerColumn) || mapping.is(GPUKernel::ColumnTile) ||
                     mapping.is(GPUKernel::BlockPerColumn);
  int64_t mapped = 0;
  module.walk([&](Operation *op) {
    if (isOfColumns ? isa<TransitionOp>(op) : isa<RecurrenceOp, ChainOp, OuterSumOp>(op)) {
      op->setAttr("bppsa.mapping", mapping);
      ++mapped;
    }
  });
  EXPECT_GT(mapped, 0);
  EXPECT_TRUE(succeeded(verify(module)));
}

static void callEntry(ModuleOp program, llvm::ArrayRef<Descriptor *> arguments) {
  runPipeline(program, [](OpPassManager &pm) { buildCPUCodePipeline(pm, {}); });
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> host = translateModuleToLLVMIR(program, context);
  ASSERT_TRUE(host);
  defineLaunchFunctions(*host, machine->names);
  // The run time in this program has no device.
  const std::pair<llvm::StringRef, llvm::StringRef> prefixes[] = {
      {"bppsa_rt_", "bppsa_test_"},
      {"_mlir_ciface_bppsa_rt_", "_mlir_ciface_bppsa_test_"},
      {"_mlir_memref_to_llvm_", "bppsa_test_memory_"}};
  for (llvm::Function &function : *host)
    for (auto [own, other] : prefixes)
      if (llvm::StringRef rest = function.getName(); rest.consume_front(own))
        function.setName(other + rest);
  void *library = loadLibrary(*host, /*optLevel=*/0);
  auto *entry = reinterpret_cast<void (*)(void *, void *, void *, void *, void *, void *)>(
      dlsym(library, "_mlir_ciface_entry"));
  ASSERT_TRUE(entry);
  // Surplus arguments are ignored.
  void *pointers[6] = {};
  for (auto [pointer, argument] : llvm::zip(pointers, arguments))
    pointer = argument->fields.data();
  entry(pointers[0], pointers[1], pointers[2], pointers[3], pointers[4], pointers[5]);
}

/// Runs `entry` of `source` with its loops mapped to `mapping`. Returns its first result, which has
/// the shape `resultShape`.
static std::vector<float> emulate(ModuleOp source, llvm::StringRef mapping,
                                  llvm::ArrayRef<Array> inputs, ArrayRef<int64_t> resultShape) {
  OwningOpRef<ModuleOp> program = source.clone();
  runPipeline(*program, buildGPUOutliningPipeline);
  mapByHand(*program, mapping);
  auto function = program->lookupSymbol<func::FuncOp>("entry");
  function->setAttr("llvm.emit_c_interface", UnitAttr::get(source.getContext()));
  runPipeline(*program,
              [](OpPassManager &pm) { buildGPULaunchPipeline(pm, TensorPrecision::FP32); });
  Machine own;
  machine = &own;
  own.names = collectGPUKernels(*program);
  OwningOpRef<ModuleOp> device = std::move(splitDevice(*program, /*maxGroups=*/1).front());
  runPipeline(*device, buildGPUCodePipeline);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateDevice(*device, context, "sm_80", /*optLevel=*/0);
  EmulatedLibrary kernels(*code, /*optLevel=*/1);
  own.kernels = &kernels;

  std::vector<Descriptor> arrays;
  for (const Array &input : inputs) {
    arrays.emplace_back(input.getNumElements() * sizeof(float), input.shape);
    std::copy(input.reals.begin(), input.reals.end(), arrays.back().data());
  }
  int64_t size = ShapedType::getNumElements(resultShape);
  arrays.emplace_back(size * sizeof(float), resultShape);
  SmallVector<Descriptor *> arguments;
  for (Descriptor &array : arrays)
    arguments.push_back(&array);
  callEntry(*program, arguments);
  float *result = arrays[inputs.size()].data();
  return std::vector<float>(result, result + size);
}

/// Compares the results for each of `mappings` with the interpreter.
static void compare(llvm::StringRef text, llvm::ArrayRef<const char *> mappings) {
  DialectRegistry registry = makeRegistry();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  ASSERT_TRUE(module);
  auto function = module->lookupSymbol<func::FuncOp>("entry");
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
  std::vector<Array> inputs;
  for (Type type : function.getArgumentTypes()) {
    // Dynamic sizes: seven steps of three samples.
    SmallVector<int64_t> shape(cast<ShapedType>(type).getShape());
    for (auto [i, size] : llvm::enumerate(shape))
      if (ShapedType::isDynamic(size))
        size = i + 3 == shape.size() ? 7 : 3;
    Array array = Array::makeZeros(shape);
    for (double &element : array.reals)
      element = uniform(random);
    inputs.push_back(std::move(array));
  }
  FailureOr<std::vector<Array>> expected = Interpreter(*module).call("entry", inputs);
  ASSERT_TRUE(succeeded(expected));
  const Array &reference = expected->front();
  for (const char *mapping : mappings) {
    std::vector<float> found = emulate(*module, mapping, inputs, reference.shape);
    ASSERT_EQ(found.size(), reference.reals.size());
    double worst = 0;
    for (auto [a, b] : llvm::zip_equal(found, reference.reals))
      worst = std::max(worst, std::isfinite(a) ? std::abs(a - b) : 1e9);
    EXPECT_LT(worst, 2e-6) << mapping;
  }
}

TEST(GPUMappingTest, Recurrences) {
  compare(R"(
    func.func @entry(%x: tensor<6x3x20xf32>, %h0: tensor<3x20xf32>, %r: tensor<20x20xf32>) -> tensor<7x3x20xf32> {
      %h = bppsa.recurrence sequences(%x : tensor<6x3x20xf32>) initial(%h0 : tensor<3x20xf32>)
          captures(%r : tensor<20x20xf32>) -> (tensor<7x3x20xf32>) {
      ^bb0(%xt: vector<20xf32>, %ht: vector<20xf32>, %rc: vector<20x20xf32>):
        %0 = bppsa.matvec %rc, %ht plus %xt : vector<20x20xf32>, vector<20xf32> plus vector<20xf32> -> vector<20xf32>
        %1 = math.tanh %0 : vector<20xf32>
        bppsa.yield %1 : vector<20xf32>
      }
      return %h : tensor<7x3x20xf32>
    })",
          {"block_per_row, threads = 32, stages = 8", "block_per_row, threads = 64, stages = 2",
           "block_per_row, threads = 64, parts = 2", "block_per_row, threads = 96, parts = 4",
           "block_per_row, threads = 160, parts = 8, stages = 4",
           "block_per_row, threads = 32, matrices = memory", "cooperative, threads = 256, rows = 1",
           "cooperative, threads = 256, rows = 4", "cooperative, threads = 256, rows = 8"});
}

static const char *const chain = R"(
    func.func @entry(%a: tensor<?x?x18xf32>, %g: tensor<?x18xf32>, %r: tensor<18x18xf32>) -> tensor<?x18xf32> {
      %g0 = bppsa.chain PLAN saved(%a : tensor<?x?x18xf32>) seeds(%g : tensor<?x18xf32>)
          captures(%r : tensor<18x18xf32>) -> (tensor<?x18xf32>) {
      ^bb0(%at: vector<18xf32>, %gt: vector<18xf32>, %rc: vector<18x18xf32>):
        %0 = arith.mulf %at, %gt : vector<18xf32>
        %1 = bppsa.matvec transposed %rc, %0 : vector<18x18xf32>, vector<18xf32> -> vector<18xf32>
        bppsa.yield %1 : vector<18xf32>
      }
      return %g0 : tensor<?x18xf32>
    })";

static std::string chainWith(const char *plan) {
  std::string text = chain;
  return text.replace(text.find("PLAN"), 4, plan);
}

TEST(GPUMappingTest, Chains) {
  compare(chainWith(""),
          {"block_per_row, threads = 32, stages = 8", "block_per_row, threads = 64, parts = 2",
           "block_per_row, threads = 32, matrices = memory, stages = 2",
           "cooperative, threads = 256, rows = 2"});
}

TEST(GPUMappingTest, Transitions) {
  const char *const mappings[] = {
      "thread_per_column, threads = 32, stages = 4",
      "thread_per_column, threads = 32, parts = 4, stages = 8",
      "thread_per_column, threads = 32, parts = 8",
      "thread_per_column, threads = 32, matrices = shared, stages = 2",
      "column_tile, threads = 32, columns = 1, stages = 8",
      "column_tile, threads = 64, columns = 3",
      "column_tile, threads = 64, columns = 4, matrices = memory, stages = 2",
      "block_per_column, threads = 32, stages = 8",
      "block_per_column, threads = 160, parts = 8",
      "block_per_column, threads = 64, matrices = memory, stages = 4"};
  compare(chainWith("plan <chunked, 2>"), mappings);
  // Leaves of one step.
  compare(chainWith("plan <blelloch>"), {mappings[1], mappings[3], mappings[6], mappings[8]});
}

TEST(GPUMappingTest, ProductsOfAllSteps) {
  compare(R"(
    func.func @entry(%x: tensor<6x3x16xf32>, %w: tensor<24x16xf32>) -> tensor<6x3x24xf32> {
      %y = bppsa.recurrence sequences(%x : tensor<6x3x16xf32>) captures(%w : tensor<24x16xf32>)
          outputs(tensor<6x3x24xf32>) {
      ^bb0(%xt: vector<16xf32>, %wc: vector<24x16xf32>):
        %0 = bppsa.matvec %wc, %xt : vector<24x16xf32>, vector<16xf32> -> vector<24xf32>
        bppsa.yield %0 : vector<24xf32>
      }
      return %y : tensor<6x3x24xf32>
    })",
          {"tiled_product, threads = 128", "block_per_row, threads = 32",
           "block_per_row, threads = 64, parts = 2",
           "block_per_row, threads = 32, matrices = memory"});
}

TEST(GPUMappingTest, OuterSums) {
  compare(R"(
    func.func @entry(%a: tensor<9x3x20xf32>, %b: tensor<9x3x12xf32>) -> tensor<20x12xf32> {
      %s = bppsa.outer_sum %a, %b : tensor<9x3x20xf32>, tensor<9x3x12xf32> -> tensor<20x12xf32>
      return %s : tensor<20x12xf32>
    })",
          {"tiled_product, threads = 128", "thread_per_element, threads = 256"});
}
