//===- SharedCode.cpp - code shared within a module -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/SharedCode.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace bppsa;

static std::string makeSymbol(StringRef name, FunctionType type) {
  std::string symbol = name.str();
  llvm::raw_string_ostream stream(symbol);
  for (Type input : type.getInputs())
    stream << "_" << input;
  for (char &c : symbol)
    if (!llvm::isAlnum(c))
      c = '_';
  symbol.erase(llvm::unique(symbol, [](char a, char b) { return a == '_' && b == '_'; }),
               symbol.end());
  return symbol;
}

static func::FuncOp getOrCreate(ModuleOp module, Location loc, std::string symbol,
                                FunctionType type) {
  while (auto found = module.lookupSymbol<func::FuncOp>(symbol)) {
    if (found.getFunctionType() == type)
      return found;
    symbol += "_";
  }
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto created = func::FuncOp::create(builder, loc, symbol, type);
  created.setPrivate();
  created->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  return created;
}

void bppsa::emitSharedCall(OpBuilder &builder, ModuleOp module, Location loc, StringRef name,
                           ValueRange arguments,
                           function_ref<void(OpBuilder &, ValueRange)> emitBody) {
  auto type = builder.getFunctionType(arguments.getTypes(), {});
  func::FuncOp function = getOrCreate(module, loc, makeSymbol(name, type), type);
  if (function.isExternal()) {
    OpBuilder inside = OpBuilder::atBlockBegin(function.addEntryBlock());
    emitBody(inside, function.getArguments());
    func::ReturnOp::create(inside, loc);
  }
  func::CallOp::create(builder, loc, function, arguments);
}
