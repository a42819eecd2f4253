//===- Report.cpp - evaluations of plans as a page ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Report/Report.h"
#include "ReportDrawings.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace bppsa;
using llvm::formatv;
using llvm::raw_ostream;
using llvm::StringRef;

/// Nothing is loaded from anywhere. Colours of structures can be told apart by
/// lightness too, on paper and on dark screens.
static constexpr const char *kStyle = R"(
:root { --ink: #1b1f24; --soft: #5b6672; --paper: #ffffff; --sheet: #f3f5f7; --rule: #d3d9df;
  --dense: #b3402e; --csr: #23839c; --block: #7a4fa3; --diagonal: #5f8f2f; --identity: #9aa5b1;
  --other: #c28a1b; --vector: #37474f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaee; --soft: #9aa7b4; --paper: #14181d;
  --sheet: #1d232a; --rule: #39434e; --dense: #e8735f; --csr: #54b7d0; --block: #b48be0;
  --diagonal: #9bcf62; --identity: #66727f; --other: #e5b04a; --vector: #c7d0d8; } }
@media print { :root { --ink: #000; --soft: #444; --paper: #fff; --sheet: #fff; --rule: #999;
  --dense: #b3402e; --csr: #23839c; --block: #7a4fa3; --diagonal: #5f8f2f; --identity: #9aa5b1;
  --other: #c28a1b; --vector: #37474f; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  figure, table, svg { break-inside: avoid; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1080px; padding: 24px; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0 0 8px; } h2 { font-size: 19px; margin: 36px 0 8px; }
h3 { font-size: 16px; margin: 24px 0 6px; } p { margin: 6px 0; color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 8px 0; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 12px; border-bottom: 1px solid var(--rule); text-align: right; }
th:first-child { text-align: left; } thead th { background: var(--sheet); }
td { white-space: nowrap; }
td.best { font-weight: 700; } th.compiled { outline: 2px solid var(--ink); }
details { margin: 8px 0; } summary { cursor: pointer; } summary b { font-size: 16px; }
svg text.number { font-size: 9px; text-anchor: middle; }
.patterns { display: flex; flex-wrap: wrap; gap: 12px; }
figure { margin: 0; width: 128px; } figcaption { font-size: 12px; color: var(--soft); }
.paper { fill: var(--sheet); } .pattern { border: 1px solid var(--rule); }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
.line { stroke: var(--identity); stroke-width: .8; fill: none; } .vector { fill: var(--vector); }
.s-dense { color: var(--dense); } .s-csr { color: var(--csr); } .s-block { color: var(--block); }
.s-diagonal { color: var(--diagonal); } .s-identity, .s-zero { color: var(--identity); }
.s-other { color: var(--other); } [class*="s-"] { fill: currentColor; }
.layers { display: flex; flex-wrap: wrap; gap: 10px 0; }
.layers .hop:first-child { padding-left: 24px; }
.hop { display: flex; align-items: center; } .arrow { flex: none; } .head { fill: var(--soft); }
.arrow .line { stroke: var(--soft); stroke-width: 1.5; } .dashed { stroke-dasharray: 3 3; }
.box { display: block; width: 178px; padding: 4px 8px; font-size: 12px; text-decoration: none;
  border: 1px solid; border-radius: 3px; overflow-wrap: anywhere; break-inside: avoid; }
.box > * { display: block; color: var(--soft); } .box > b { color: var(--ink); }
.layer { background: var(--sheet); border-left-width: 7px; }
.cut { border: 1px dashed var(--soft); color: var(--soft); }
.port { border-color: var(--rule); } .step { display: inline-flex; }
.ports { display: flex; flex-direction: column; justify-content: space-around; gap: 6px; }
figure:target { outline: 2px solid var(--ink); outline-offset: 3px; }
.legend span { display: inline-block; margin-right: 14px; } .legend svg { vertical-align: -1px; }
)";

//===----------------------------------------------------------------------===//
// Parts of a chain
//===----------------------------------------------------------------------===//

/// What the links are, where the evaluation says it.
static void writeGraph(const ChainRecord &chain, int64_t number, raw_ostream &os) {
  if (chain.layers) {
    os << "<h3>Layers, in the order of the forward pass</h3>\n";
    drawLayers(chain, number, os);
  }
  if (chain.step) {
    os << "<h3>The step that every link is</h3>\n";
    drawStep(chain, number, os);
  }
}

/// What more pictures than a screen shows are folded into.
static constexpr size_t kMostOpenPictures = 24;

static void writeLinks(const ChainRecord &chain, int64_t number, raw_ostream &os) {
  bool isFolded = chain.structures.size() > kMostOpenPictures;
  os << "<h3>Links, in the order in which cotangents pass</h3>\n";
  if (isFolded)
    os << formatv("<details><summary>{0} kinds of links</summary>\n", chain.structures.size());
  os << "<div class=\"patterns\">\n";
  int64_t first = 1;
  for (const MatrixRecord &matrix : chain.structures) {
    os << "<figure id=\"" << getPatternId(number, first) << "\">";
    drawPattern(matrix, os);
    std::string numbers = std::to_string(first);
    if (matrix.repeat > 1)
      numbers += " to " + std::to_string(first + matrix.repeat - 1);
    os << formatv("<figcaption>{0}: {1}<br>{2} x {3}<br>{4}</figcaption></figure>\n", numbers,
                  escapeHTML(matrix.structure), matrix.rows, matrix.cols, formatNonzeros(matrix));
    first += matrix.repeat;
  }
  os << (isFolded ? "</div></details>\n" : "</div>\n");
}

/// A row of the table of plans; the smallest number stands out.
static void writeRow(const ChainRecord &chain, const llvm::Twine &name,
                     llvm::function_ref<int64_t(const PlanRecord &)> get, raw_ostream &os) {
  int64_t best = INT64_MAX;
  for (const PlanRecord &plan : chain.plans)
    best = std::min(best, get(plan));
  os << "<tr><th>" << escapeHTML(name.str()) << "</th>";
  for (const PlanRecord &plan : chain.plans)
    os << formatv("<td{0} title=\"{1}\">{2}</td>", get(plan) == best ? " class=\"best\"" : "",
                  get(plan), formatCount(get(plan)));
  os << "</tr>\n";
}

/// "1, 2 and 4 workers".
static std::string formatWorkers(llvm::ArrayRef<int64_t> workers) {
  std::string text;
  for (auto [i, count] : llvm::enumerate(workers))
    text += (i == 0 ? "" : i + 1 == workers.size() ? " and " : ", ") + std::to_string(count);
  return text + (workers.size() == 1 && workers.front() == 1 ? " worker" : " workers");
}

/// Which plan has the shortest time for which numbers of workers, and what the program has.
static void writeRecommendation(const ChainRecord &chain, llvm::ArrayRef<std::string> compiled,
                                raw_ostream &os) {
  llvm::MapVector<StringRef, std::vector<int64_t>> workersOf;
  for (auto [index, makespan] : llvm::enumerate(chain.plans.front().makespans)) {
    const PlanRecord *fastest = nullptr;
    for (const PlanRecord &plan : chain.plans)
      if (index < plan.makespans.size() &&
          (!fastest || plan.makespans[index].flops < fastest->makespans[index].flops))
        fastest = &plan;
    workersOf[fastest->plan].push_back(makespan.workers);
  }
  std::vector<std::string> parts;
  for (const auto &[plan, workers] : workersOf)
    parts.push_back(formatv("<b>{0}</b> for {1}", escapeHTML(plan), formatWorkers(workers)));
  os << "<p class=\"recommended\">By its counted work this chain is fastest with "
     << llvm::join(parts, ", ") << ".";
  if (!compiled.empty())
    os << " The program has " << escapeHTML(llvm::join(compiled, " and ")) << ".";
  os << "</p>\n";
}

static void writePlans(const ChainRecord &chain, llvm::ArrayRef<std::string> compiled,
                       raw_ostream &os) {
  os << "<h3>Plans</h3>\n";
  writeRecommendation(chain, compiled, os);
  os << "<div class=\"wide\"><table><thead><tr><th></th>";
  for (const PlanRecord &plan : chain.plans) {
    bool isCompiled = llvm::is_contained(compiled, plan.plan);
    os << (isCompiled ? "<th class=\"compiled\" title=\"in the program\">" : "<th>")
       << escapeHTML(plan.plan) << "</th>";
  }
  os << "</tr></thead><tbody>\n";
  auto add = [&](const llvm::Twine &name, int64_t PlanRecord::*field) {
    writeRow(chain, name, [&](const PlanRecord &plan) { return plan.*field; }, os);
  };
  add("depth", &PlanRecord::depth);
  add("steps", &PlanRecord::steps);
  add("compose", &PlanRecord::composes);
  add("apply", &PlanRecord::applies);
  add("FLOP", &PlanRecord::flops);
  add("FLOP on the critical path", &PlanRecord::criticalPathFlops);
  add("FLOP of the longest path without barriers", &PlanRecord::spanFlops);
  add("FLOP of the largest product", &PlanRecord::maxFlops);
  add("bytes moved", &PlanRecord::bytes);
  add("bytes of stored links", &PlanRecord::linkBytes);
  add("bytes of memory beside links", &PlanRecord::peakBytes);
  for (auto [index, makespan] : llvm::enumerate(chain.plans.front().makespans))
    writeRow(
        chain,
        "time of " + llvm::Twine(makespan.workers) +
            (makespan.workers == 1 ? " worker, in its FLOP" : " workers, in FLOP of one"),
        [index = index](const PlanRecord &plan) {
          return index < plan.makespans.size() ? plan.makespans[index].flops : 0;
        },
        os);
  os << "</tbody></table></div>\n";
}

static void writePlan(const ChainRecord &chain, const PlanRecord &plan,
                      llvm::ArrayRef<std::string> compiled, raw_ostream &os) {
  bool isCompiled = llvm::is_contained(compiled, plan.plan);
  os << formatv("<details{0}><summary><b>{1}</b>{2}: depth {3}, {4} compose, {5} apply, {6} FLOP, "
                "{7} on the critical path</summary>\n",
                isCompiled || compiled.empty() ? " open" : "", escapeHTML(plan.plan),
                isCompiled ? ", in the program" : "", plan.depth, formatCount(plan.composes),
                formatCount(plan.applies), formatCount(plan.flops),
                formatCount(plan.criticalPathFlops));
  drawTree(plan, chain.links, chain.structures, os);
  drawLevels(plan, os);
  // Products whose structure its name does not tell.
  bool isOpen = false;
  for (const LevelRecord &level : plan.levels) {
    if (!level.operations)
      continue;
    for (const OperationRecord &operation : *level.operations) {
      if (!operation.result.picture || operation.kind != "compose")
        continue;
      if (!std::exchange(isOpen, true))
        os << "<p>Zero patterns of products:</p><div class=\"patterns\">\n";
      const MatrixRecord &result = operation.result;
      os << "<figure>";
      drawPattern(result, os);
      os << formatv("<figcaption>{0}, {1}<br>{2} x {3}<br>{4}<br>{5} FLOP</figcaption></figure>\n",
                    operation.left, operation.right, result.rows, result.cols,
                    formatNonzeros(result), formatCount(operation.flops));
    }
  }
  os << (isOpen ? "</div></details>\n" : "</details>\n");
}

static void writeLegend(raw_ostream &os) {
  os << "<p class=\"legend\">";
  for (StringRef name : {"dense", "csr", "block", "diagonal", "identity", "vector"}) {
    std::string style = name == "vector" ? "vector" : getStructureClass(name);
    os << formatv("<span><svg width=\"11\" height=\"11\"><rect class=\"{0}\" width=\"11\" "
                  "height=\"11\"/></svg> {1}</span>",
                  style, name == "vector" ? "cotangent" : name);
  }
  os << "</p>\n<p>In a tree a row is a level and a column an element of the scanned array: 0 is "
        "the seed, k the link number k, and a product stands at its last element. A "
        "product is as wide as the square root of its FLOP. The bar of a level is as long as its "
        "FLOP.</p>\n";
}

//===----------------------------------------------------------------------===//
// The page
//===----------------------------------------------------------------------===//

static void writeChain(const ChainRecord &chain, const ReportHeader &header, int64_t number,
                       raw_ostream &os) {
  llvm::ArrayRef<std::string> compiled = chain.step ? header.plansOverTime : header.plansOfLayers;
  os << formatv("<section>\n<h2>{0}</h2>\n<p>{1} links, {2} {3}.</p>\n", escapeHTML(chain.name),
                chain.links, chain.batch, chain.batch == 1 ? "sample" : "samples");
  writeGraph(chain, number, os);
  writeLinks(chain, number, os);
  if (chain.device)
    drawDevice(*chain.device, os);
  if (!chain.plans.empty())
    writePlans(chain, compiled, os);
  for (const PlanRecord &plan : chain.plans)
    writePlan(chain, plan, compiled, os);
  os << "</section>\n";
}

llvm::Error bppsa::writeReport(StringRef evaluations, const ReportHeader &header, raw_ostream &os) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(evaluations);
  if (!value)
    return value.takeError();
  EvaluationRecord record;
  llvm::json::Path::Root root("evaluation");
  if (!fromJSON(*value, record, root))
    return root.getError();
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>"
     << escapeHTML(header.title) << "</title>\n<style>" << kStyle << "</style>\n</head>\n<body>\n"
     << "<h1>" << escapeHTML(header.title) << "</h1>\n";
  if (!header.facts.empty()) {
    os << "<table><tbody>\n";
    for (const auto &[name, text] : header.facts)
      os << "<tr><th>" << escapeHTML(name) << "</th><td>" << escapeHTML(text) << "</td></tr>\n";
    os << "</tbody></table>\n";
  }
  writeLegend(os);
  for (auto [number, chain] : llvm::enumerate(record.chains))
    writeChain(chain, header, number, os);
  if (record.chains.empty())
    os << "<p>There is no chain.</p>\n";
  os << "</body>\n</html>\n";
  return llvm::Error::success();
}
