//===- LayerGraphDrawing.cpp - layers and steps of a report ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Boxes are text of the page, so that a browser wraps lines of them and their
// text; arrows are drawn.
//
//===----------------------------------------------------------------------===//

#include "ReportDrawings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace bppsa;
using llvm::formatv;
using llvm::raw_ostream;
using llvm::StringRef;

static std::string formatShape(const ShapeRecord &shape) {
  return shape.empty()
             ? "scalar"
             : llvm::join(llvm::map_range(shape, [](int64_t size) { return std::to_string(size); }),
                          "x");
}

static void drawArrow(bool isDashed, raw_ostream &os) {
  os << formatv("<svg class=\"arrow\" width=\"24\" height=\"10\" viewBox=\"0 0 24 10\">"
                "<path class=\"{0}\" d=\"M1 5H17\"/><path class=\"head\" "
                "d=\"M16 1L23 5L16 9z\"/></svg>",
                isDashed ? "line dashed" : "line");
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

std::string bppsa::getPatternId(int64_t chain, int64_t firstLink) {
  return formatv("chain-{0}-link-{1}", chain, firstLink);
}

/// The first of the equal neighbours of `link`, which share a picture.
static int64_t getFirstEqual(llvm::ArrayRef<MatrixRecord> structures, int64_t link) {
  int64_t first = 1;
  for (const MatrixRecord &matrix : structures) {
    if (link < first + matrix.repeat)
      break;
    first += matrix.repeat;
  }
  return first;
}

static void drawLayer(const LayerRecord &layer, StringRef pattern, raw_ostream &os) {
  const MatrixRecord &matrix = layer.matrix;
  std::string samples = layer.shared ? "shared by all samples" : "one for each sample";
  os << formatv("<a class=\"box layer {0}\" href=\"#{1}\" title=\"link {2}, {3} of {4}: {5}, "
                "{6} x {7}, {8} nonzeros, {9}\">",
                getStructureClass(matrix.structure), pattern, layer.link,
                escapeHTML(layer.operation), escapeHTML(layer.name), escapeHTML(matrix.structure),
                matrix.rows, matrix.cols, matrix.nonzeros, samples);
  os << "<b>" << escapeHTML(layer.name) << "</b>";
  if (layer.operation != layer.name)
    os << "<span>" << escapeHTML(layer.operation) << "</span>";
  os << formatv("<span>{0} &#8594; {1}</span><span>{2}</span><span>{3}</span></a>",
                formatShape(layer.operand), formatShape(layer.result), escapeHTML(matrix.structure),
                formatNonzeros(matrix));
}

void bppsa::drawLayers(const ChainRecord &chain, int64_t number, raw_ostream &os) {
  os << "<div class=\"layers\">\n<span class=\"hop\"><span class=\"box cut\">"
     << escapeHTML(chain.begins) << "</span></span>\n";
  for (auto [index, layer] : llvm::enumerate(*chain.layers)) {
    os << "<span class=\"hop\">";
    drawArrow(/*isDashed=*/index == 0, os);
    drawLayer(layer, getPatternId(number, getFirstEqual(chain.structures, layer.link)), os);
    os << "</span>\n";
  }
  os << "<span class=\"hop\">";
  drawArrow(/*isDashed=*/true, os);
  os << "<span class=\"box cut\">" << escapeHTML(chain.ends) << "</span></span>\n</div>\n";
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static std::string formatShapes(llvm::ArrayRef<ShapeRecord> shapes) {
  return llvm::join(llvm::map_range(shapes, formatShape), ", ");
}

/// Values of one kind, with an arrow from or to the step.
static void drawPort(StringRef name, const std::string &shapes, bool enters, raw_ostream &os) {
  if (shapes.empty())
    return;
  os << "<span class=\"hop\">";
  if (!enters)
    drawArrow(/*isDashed=*/false, os);
  os << "<span class=\"box port\"><b>" << escapeHTML(name) << "</b><span>" << shapes
     << "</span></span>";
  if (enters)
    drawArrow(/*isDashed=*/false, os);
  os << "</span>\n";
}

static void drawBody(const StepRecord &step, const MatrixRecord &matrix, StringRef pattern,
                     raw_ostream &os) {
  os << formatv("<a class=\"box layer {0}\" href=\"#{1}\"><b>{2}</b>",
                getStructureClass(matrix.structure), pattern, escapeHTML(step.name));
  if (step.operation != step.name)
    os << "<span>" << escapeHTML(step.operation) << "</span>";
  os << formatv("<span>{0}, {1} x {2}</span><span>{3}</span>", escapeHTML(matrix.structure),
                matrix.rows, matrix.cols, formatNonzeros(matrix));
  for (const BodyRecord &operation : step.operations)
    os << formatv("<span>{0} {1}</span>", operation.count, escapeHTML(operation.operation));
  os << "</a>\n";
}

void bppsa::drawStep(const ChainRecord &chain, int64_t number, raw_ostream &os) {
  const StepRecord &step = *chain.step;
  os << "<div class=\"wide\"><div class=\"step\">\n<div class=\"ports\">\n";
  drawPort("cotangents of states after the step", formatShapes(step.states), /*enters=*/true, os);
  for (const InjectedRecord &injected : step.injected)
    drawPort("injected into state " + std::to_string(injected.state), formatShape(injected.shape),
             /*enters=*/true, os);
  drawPort("saved", formatShapes(step.saved), /*enters=*/true, os);
  drawPort("captures of all steps", formatShapes(step.captures), /*enters=*/true, os);
  os << "</div>\n";
  if (!chain.structures.empty())
    drawBody(step, chain.structures.front(), getPatternId(number, 1), os);
  os << "<div class=\"ports\">\n";
  drawPort("cotangents of states before it", formatShapes(step.states), /*enters=*/false, os);
  drawPort("emitted", formatShapes(step.emitted), /*enters=*/false, os);
  os << "</div>\n</div></div>\n";
}
