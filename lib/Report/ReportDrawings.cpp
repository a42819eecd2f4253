//===- ReportDrawings.cpp - pictures of a report --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ReportDrawings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>

using namespace bppsa;
using llvm::formatv;
using llvm::raw_ostream;
using llvm::StringRef;

std::string bppsa::escapeHTML(StringRef text) {
  std::string escaped;
  for (char c : text)
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    case '\'':
      escaped += "&#39;";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

std::string bppsa::formatCount(int64_t number) {
  static const char *const units[] = {"", " k", " M", " G", " T", " P"};
  double value = double(number);
  size_t unit = 0;
  for (; std::abs(value) >= 999.5 && unit + 1 < std::size(units); ++unit)
    value /= 1000;
  if (unit == 0)
    return std::to_string(number);
  int digits = std::abs(value) < 9.995 ? 2 : std::abs(value) < 99.95 ? 1 : 0;
  return formatv("{0}{1}", llvm::format("%.*f", digits, value), units[unit]);
}

std::string bppsa::formatNonzeros(const MatrixRecord &matrix) {
  double elements = double(matrix.rows) * double(matrix.cols);
  double zeros = elements > 0 ? 1 - double(matrix.nonzeros) / elements : 0;
  return formatv("{0} nonzeros, {1} % zero", formatCount(matrix.nonzeros),
                 llvm::format("%.2f", 100 * zeros));
}

std::string bppsa::getStructureClass(StringRef structure) {
  structure.consume_front("shared-");
  return llvm::StringSwitch<std::string>(structure)
      .Cases({"zero", "identity", "diagonal", "dense", "csr", "block"}, "s-" + structure.str())
      .Default("s-other");
}

//===----------------------------------------------------------------------===//
// Zero patterns
//===----------------------------------------------------------------------===//

/// Cells of the same share in a row are one rectangle, and all rectangles of one
/// share one path.
static void drawCells(llvm::ArrayRef<std::string> lines, raw_ostream &os) {
  std::map<char, std::string> paths;
  for (auto [y, line] : llvm::enumerate(lines))
    for (size_t x = 0; x < line.size();) {
      size_t end = line.find_first_not_of(line[x], x);
      size_t width = (end == std::string::npos ? line.size() : end) - x;
      if (line[x] >= '1' && line[x] <= '9')
        paths[line[x]] += formatv("M{0} {1}h{2}v1h-{2}z", x, y, width).str();
      x += width;
    }
  // A cell with one entry is seen.
  for (const auto &[digit, path] : paths)
    os << formatv("<path fill-opacity=\"{0}\" d=\"{1}\"/>",
                  llvm::format("%.2f", 0.25 + 0.75 * (digit - '0') / 9), path);
}

void bppsa::drawPattern(const MatrixRecord &matrix, raw_ostream &os) {
  // The longer side is 72 pixels, the shorter at least 6.
  int64_t longest = std::max<int64_t>({matrix.rows, matrix.cols, 1});
  int64_t width = std::max<int64_t>(matrix.cols * 72 / longest, 6);
  int64_t height = std::max<int64_t>(matrix.rows * 72 / longest, 6);
  std::vector<std::string> lines = matrix.picture.value_or(std::vector<std::string>());
  size_t cols = lines.empty() ? 1 : std::max<size_t>(lines.front().size(), 1);
  size_t rows = std::max<size_t>(lines.size(), 1);
  os << formatv("<svg class=\"pattern {0}\" width=\"{1}\" height=\"{2}\" viewBox=\"0 0 {3} {4}\" "
                "preserveAspectRatio=\"none\" role=\"img\"><title>{5}, {6} x {7}</title>"
                "<rect class=\"paper\" width=\"{3}\" height=\"{4}\"/>",
                getStructureClass(matrix.structure), width, height, cols, rows,
                escapeHTML(matrix.structure), matrix.rows, matrix.cols);
  StringRef structure = matrix.structure;
  structure.consume_front("shared-");
  if (!lines.empty())
    drawCells(lines, os);
  else if (structure == "dense")
    os << "<rect width=\"1\" height=\"1\"/>";
  else if (structure == "diagonal" || structure == "identity")
    os << "<path d=\"M0 0L.04 0L1 .96L1 1L.96 1L0 .04z\"/>";
  os << "</svg>";
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

namespace {
/// Where a value is drawn, and the last element of the array that is in it.
struct Place {
  double x = 0, y = 0;
  int64_t last = 0;
};

class TreeDrawing {
public:
  TreeDrawing(llvm::ArrayRef<LevelRecord> levels, StringRef plan, int64_t numLinks, raw_ostream &os)
      : levels(levels), plan(plan), numLinks(numLinks), os(os),
        cell(std::clamp<int64_t>(860 / (numLinks + 1), 12, 44)) {}

  void draw(llvm::ArrayRef<MatrixRecord> structures);

private:
  static constexpr int64_t kLeft = 96, kTop = 28, kRow = 30, kHeight = 12;

  double getX(int64_t position) const { return kLeft + (position + 0.5) * cell; }
  void drawElements(llvm::ArrayRef<MatrixRecord> structures);
  void drawElementNumber(int64_t element);
  void drawLevel(const LevelRecord &level, int64_t number, int64_t row);
  void drawProduct(const OperationRecord &operation, double y);

  llvm::ArrayRef<LevelRecord> levels;
  StringRef plan;
  int64_t numLinks;
  raw_ostream &os;
  int64_t cell;
  /// Of the costliest product.
  int64_t maxFlops = 0;
  std::map<int64_t, Place> places;
  /// Lines are drawn under the products.
  std::string lines, products;
};
} // namespace

void TreeDrawing::drawElementNumber(int64_t element) {
  os << formatv("<text class=\"number\" x=\"{0}\" y=\"{1}\">{2}</text>", getX(element), kTop - 6,
                element);
}

/// The elements of the array: the seed and the links.
void TreeDrawing::drawElements(llvm::ArrayRef<MatrixRecord> structures) {
  os << formatv("<text class=\"label\" x=\"4\" y=\"{0}\">elements</text>", kTop + 9);
  os << formatv("<circle class=\"vector\" cx=\"{0}\" cy=\"{1}\" r=\"5\"><title>0: the "
                "seed</title></circle>",
                getX(0), kTop + 5);
  places[0] = {getX(0), kTop + 10.0, 0};
  drawElementNumber(0);
  int64_t link = 1;
  for (const MatrixRecord &matrix : structures)
    for (int64_t i = 0; i < matrix.repeat && link <= numLinks; ++i, ++link) {
      os << formatv("<rect class=\"{0}\" x=\"{1}\" y=\"{2}\" width=\"10\" height=\"10\">"
                    "<title>{3}: {4} {5} x {6}, {7}</title></rect>",
                    getStructureClass(matrix.structure), getX(link) - 5, kTop, link,
                    escapeHTML(matrix.structure), matrix.rows, matrix.cols, formatNonzeros(matrix));
      places[link] = {getX(link), kTop + 10.0, link};
      drawElementNumber(link);
    }
}

void TreeDrawing::drawProduct(const OperationRecord &operation, double y) {
  const MatrixRecord &result = operation.result;
  const Place &left = places[operation.left];
  int64_t last = operation.right < 0 ? left.last : places[operation.right].last;
  double x = getX(last);
  double share = maxFlops > 0 ? double(operation.flops) / maxFlops : 0;
  double width = std::max(4.0, 0.9 * cell * std::sqrt(share));
  auto drawLine = [&](int64_t value) {
    if (value >= 0)
      lines += formatv("M{0} {1}L{2} {3}", places[value].x, places[value].y, x, y).str();
  };
  drawLine(operation.left);
  drawLine(operation.right);
  bool isVector = operation.kind == "apply" || operation.kind == "emit";
  products += formatv("<rect class=\"{0}\" x=\"{1}\" y=\"{2}\" width=\"{3}\" height=\"{4}\" "
                      "rx=\"{5}\"><title>{6} {7}{8}: {9} {10} x {11}, {12}, {13} "
                      "FLOP</title></rect>",
                      isVector ? "vector" : getStructureClass(result.structure), x - width / 2, y,
                      width, kHeight, isVector ? 5 : 1, escapeHTML(operation.kind), operation.left,
                      operation.right < 0 ? "" : ", " + std::to_string(operation.right),
                      escapeHTML(result.structure), result.rows, result.cols,
                      formatNonzeros(result), formatCount(operation.flops))
                  .str();
  if (operation.out >= 0)
    places[operation.out] = {x, y + kHeight, last};
}

void TreeDrawing::drawLevel(const LevelRecord &level, int64_t number, int64_t row) {
  double y = kTop + row * kRow;
  os << formatv("<text class=\"label\" x=\"4\" y=\"{0}\">{1} {2}</text>", y + 10,
                escapeHTML(level.sweep), number);
  for (const OperationRecord &operation : *level.operations)
    drawProduct(operation, y);
}

void TreeDrawing::draw(llvm::ArrayRef<MatrixRecord> structures) {
  int64_t rows = 0;
  for (const LevelRecord &level : levels) {
    rows += level.operations.has_value();
    maxFlops = std::max(maxFlops, level.maxFlops);
  }
  if (rows == 0)
    return;
  int64_t width = kLeft + (numLinks + 1) * cell + 8, height = kTop + (rows + 1) * kRow;
  os << formatv(
      "<div class=\"wide\"><svg class=\"tree\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 "
      "{0} {1}\" role=\"img\"><title>the products of {2}</title>",
      width, height, escapeHTML(plan));
  drawElements(structures);
  // Levels are numbered in each sweep.
  std::map<std::string, int64_t> numbers;
  int64_t row = 0;
  for (const LevelRecord &level : levels)
    if (level.operations)
      drawLevel(level, ++numbers[level.sweep], ++row);
  os << "<path class=\"line\" d=\"" << lines << "\"/>" << products << "</svg></div>\n";
}

void bppsa::drawTree(const PlanRecord &plan, int64_t numLinks,
                     llvm::ArrayRef<MatrixRecord> structures, raw_ostream &os) {
  if (!plan.drawing)
    return TreeDrawing(plan.levels, plan.plan, numLinks, os).draw(structures);
  os << formatv("<p>{0} links are too many to be drawn: this is {1} on the first {2}.</p>\n",
                numLinks, escapeHTML(plan.drawing->plan), plan.drawing->links);
  TreeDrawing(plan.drawing->levels, plan.drawing->plan, plan.drawing->links, os).draw(structures);
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

void bppsa::drawLevels(const PlanRecord &plan, raw_ostream &os) {
  constexpr int64_t left = 130, full = 460, row = 20;
  auto hasProducts = [](const LevelRecord &level) { return !level.products.empty(); };
  int64_t most = 1;
  for (const LevelRecord &level : plan.levels)
    most = std::max(most, level.flops * level.repeat);
  os << formatv(
      "<div class=\"wide\"><svg class=\"levels\" width=\"{0}\" height=\"{1}\" viewBox=\"0 "
      "0 {0} {1}\" role=\"img\"><title>the costs of the levels of {2}</title>",
      left + full + 220, row * plan.levels.size() + 4, escapeHTML(plan.plan));
  for (auto [index, level] : llvm::enumerate(llvm::make_filter_range(plan.levels, hasProducts))) {
    int64_t y = index * row + 4;
    std::string repeat = level.repeat > 1 ? formatv(" x {0}", level.repeat).str() : "";
    os << formatv("<text class=\"label\" x=\"4\" y=\"{0}\">{1}{2}</text>", y + 11,
                  escapeHTML(level.sweep), repeat);
    double x = left;
    for (const ProductRecord &product : level.products) {
      bool isMatrix = product.kind == "compose" || product.kind == "linearize";
      double width = std::max(1.0, double(full) * product.flops * level.repeat / most);
      std::string operands =
          product.second.empty() ? product.first : product.first + " by " + product.second;
      os << formatv(
          "<rect class=\"{0}\" x=\"{1}\" y=\"{2}\" width=\"{3}\" height=\"14\"><title>{4} "
          "{5} of {6}: {7} FLOP</title></rect>",
          isMatrix ? getStructureClass(product.result) : "vector", x, y, width, product.count,
          escapeHTML(product.kind), escapeHTML(operands), formatCount(product.flops));
      x += width;
    }
    os << formatv("<text class=\"value\" x=\"{0}\" y=\"{1}\">{2} FLOP, at most {3}</text>", x + 6,
                  y + 11, formatCount(level.flops * level.repeat), formatCount(level.maxFlops));
  }
  os << "</svg></div>\n";
}
