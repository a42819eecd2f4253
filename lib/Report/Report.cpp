//===- Report.cpp - HTML reports of plan evaluations ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Fills Report.html with data. Its scripts render the page, so the keys that they read are checked
// here.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Report/Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace bppsa;
namespace json = llvm::json;
using llvm::StringRef;

/// Defines `kPage`, which is Report.html with its style sheet and scripts, and `kForm`, which is
/// EvaluationForm.json.
#include "ReportFiles.inc"

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool reportAt(json::Path path, llvm::StringLiteral message) {
  path.report(message);
  return false;
}

/// Checks an evaluation against EvaluationForm.json, which specifies the type of each value.
class FormCheck {
public:
  bool check(const json::Value &value, const json::Value &form, json::Path path) const {
    if (std::optional<StringRef> type = form.getAsString()) {
      const json::Object *record = records.getAsObject()->getObject(*type);
      return record ? checkRecord(value, *record, path) : checkType(value, *type, path);
    }
    const json::Array *items = value.getAsArray();
    if (!items)
      return reportAt(path, "expected array");
    for (auto [index, item] : llvm::enumerate(*items))
      if (!check(item, form.getAsArray()->front(), path.index(index)))
        return false;
    return true;
  }

private:
  static bool checkType(const json::Value &value, StringRef type, json::Path path) {
    if (type == "string")
      return value.kind() == json::Value::String || reportAt(path, "expected string");
    if (type == "boolean")
      return value.kind() == json::Value::Boolean || reportAt(path, "expected boolean");
    return value.kind() == json::Value::Number || reportAt(path, "expected number");
  }

  bool checkRecord(const json::Value &value, const json::Object &record, json::Path path) const {
    const json::Object *object = value.getAsObject();
    if (!object)
      return reportAt(path, "expected object");
    for (const auto &[key, form] : record) {
      StringRef name = key;
      bool isOptional = name.consume_back("?");
      const json::Value *member = object->get(name);
      if (!member && !isOptional)
        return reportAt(path.field(name), "missing value");
      if (member && !check(*member, form, path.field(name)))
        return false;
    }
    return true;
  }

  json::Value records = llvm::cantFail(json::parse(kForm));
};

/// Checks that layers refer to links of their chain and that the chain names its two ends.
static bool checkLayers(const json::Object &chain, json::Path path) {
  const json::Array *layers = chain.getArray("layers");
  if (!layers)
    return true;
  for (StringRef key : {"begins", "ends"})
    if (!chain.get(key))
      return reportAt(path.field(key), "missing value");
  for (auto [index, layer] : llvm::enumerate(*layers)) {
    std::optional<int64_t> link = layer.getAsObject()->getInteger("link");
    if (!link || *link < 1 || *link > chain.getInteger("links").value_or(0))
      return reportAt(path.field("layers").index(index).field("link"),
                      "expected a link of the chain");
  }
  return true;
}

static bool checkRatios(const json::Object &chain, json::Path path) {
  const json::Object *gpu = chain.getObject("gpu");
  if (!gpu)
    return true;
  const json::Array &ratios = *gpu->getArray("ratios");
  auto hasAllLengths = [&](const json::Value &row) {
    return row.getAsArray()->size() == gpu->getArray("lengths")->size();
  };
  if (ratios.size() == gpu->getArray("batches")->size() && llvm::all_of(ratios, hasAllLengths))
    return true;
  return reportAt(path.field("gpu").field("ratios"),
                  "expected a row for each batch and a column for each length");
}

static bool checkEvaluation(const json::Value &evaluation, const FormCheck &form, json::Path path) {
  const json::Object *object = evaluation.getAsObject();
  if (object && object->getInteger("format").value_or(1) != 1)
    return reportAt(path.field("format"), "expected format 1");
  if (!form.check(evaluation, "evaluation", path))
    return false;
  json::Path chains = path.field("chains");
  for (auto [index, chain] : llvm::enumerate(*object->getArray("chains"))) {
    json::Path chainPath = chains.index(index);
    if (!checkLayers(*chain.getAsObject(), chainPath) ||
        !checkRatios(*chain.getAsObject(), chainPath))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The page
//===----------------------------------------------------------------------===//

static json::Object makeData(json::Value evaluation, const ReportHeader &header) {
  json::Array facts;
  for (const auto &[name, text] : header.facts)
    facts.push_back(json::Array{name, text});
  return json::Object{{"title", header.title},
                      {"facts", std::move(facts)},
                      {"plans_over_time", json::Array(header.plansOverTime)},
                      {"plans_of_layers", json::Array(header.plansOfLayers)},
                      {"evaluation", std::move(evaluation)}};
}

llvm::Error bppsa::writeReport(StringRef evaluations, const ReportHeader &header,
                               llvm::raw_ostream &os) {
  llvm::Expected<json::Value> evaluation = json::parse(evaluations);
  if (!evaluation)
    return evaluation.takeError();
  // A reported path refers to the keys of the form.
  FormCheck form;
  json::Path::Root root("evaluation");
  if (!checkEvaluation(*evaluation, form, root))
    return root.getError();
  std::string data;
  llvm::raw_string_ostream(data) << json::Value(makeData(std::move(*evaluation), header));
  auto [begin, end] = StringRef(kPage).split("{{data}}");
  os << begin;
  // In JSON, `<` occurs only in strings; escaping it prevents the data from closing the script
  // element.
  llvm::interleave(llvm::split(data, '<'), os, [&](StringRef part) { os << part; }, "\\u003c");
  os << end;
  return llvm::Error::success();
}
