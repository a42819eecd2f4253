//===- Drawings.js - layers, patterns, trees and levels of a report -------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

//--- Markup ---

class Markup {
  constructor(text) { this.text = text; }
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function toText(value) {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(toText).join("");
  return String(value).replace(/[&<>"']/g, (c) => ENTITIES[c]);
}

/* The tag of template literals: escapes all values but results of `html`, and joins lists. */
function html(parts, ...values) {
  return new Markup(parts.reduce((text, part, i) => text + toText(values[i - 1]) + part));
}

//--- Numbers and names ---

const round = (value) => Number(value.toFixed(2));
const sum = (values) => values.reduce((total, value) => total + value, 0);

/* Three digits of a positive number. */
function formatDigits(value) {
  return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/* "12.3 M" for 12345678. */
function formatCount(number) {
  const units = ["", " k", " M", " G", " T", " P"];
  let value = number, unit = 0;
  for (; value >= 999.5 && unit + 1 < units.length; ++unit) value /= 1000;
  return unit === 0 ? String(number) : formatDigits(value) + units[unit];
}

/* "8 nonzeros, 50.00 % zero". */
function formatNonzeros({ rows, cols, nonzeros }) {
  const zeros = rows * cols > 0 ? 1 - nonzeros / rows / cols : 0;
  return `${formatCount(nonzeros)} nonzeros, ${(100 * zeros).toFixed(2)} % zero`;
}

const formatShape = (shape) => shape.join("x") || "scalar";
const formatShapes = (shapes) => shapes.map(formatShape).join(", ");
const getKind = (structure) => structure.replace(/^shared-/, "");

/* The class of the style sheet that colours `structure`. */
function getStyle(structure) {
  const styles = ["zero", "identity", "diagonal", "dense", "csr", "block"];
  return `s-${styles.includes(getKind(structure)) ? getKind(structure) : "other"}`;
}

/* The anchor of the picture of the links of a chain that begin with `first`. */
const getPatternId = (chain, first) => `chain-${chain.number}-link-${first}`;

//--- Layers and steps ---

function drawArrow(isDashed) {
  return html`<svg class="arrow" width="24" height="10" viewBox="0 0 24 10"><path class="${
    isDashed ? "line dashed" : "line"}" d="M1 5H17"/><path class="head" d="M16 1L23 5L16 9z"/></svg>`;
}

/* The operation, unless the layer is named after it. */
const drawOperation = ({ operation, name }) =>
  operation === name ? "" : html`<span>${operation}</span>`;

/* The first of the equal neighbours of `link`, which share a picture. */
function getFirstEqual(chain, link) {
  let first = 1;
  for (const { repeat } of chain.structures) {
    if (link < first + repeat) break;
    first += repeat;
  }
  return first;
}

function drawLayer(chain, layer) {
  const { operation, name, structure, rows, cols, nonzeros, shared, link } = layer;
  const samples = shared ? "shared by all samples" : "one for each sample";
  const title = `link ${link}, ${operation} of ${name}: ${structure}, ${rows} x ${cols}, ${
    nonzeros} nonzeros, ${samples}`;
  return html`<a class="box layer ${getStyle(structure)}" href="#${
    getPatternId(chain, getFirstEqual(chain, link))}" title="${title}"><b>${name}</b>${
    drawOperation(layer)}<span>${formatShape(layer.operand)} → ${formatShape(layer.result)}</span><span>${
    structure}</span><span>${formatNonzeros(layer)}</span></a>`;
}

/* Layers as boxes in the order of the forward pass, between the ends at which the chain is cut. */
function drawLayers(chain) {
  const hops = chain.layers.map((layer, i) =>
    html`<span class="hop">${drawArrow(i === 0)}${drawLayer(chain, layer)}</span>
`);
  return html`<h3>Layers, in the order of the forward pass</h3>
<div class="layers">
<span class="hop"><span class="box cut">${chain.begins}</span></span>
${hops}<span class="hop">${drawArrow(true)}<span class="box cut">${chain.ends}</span></span>
</div>
`;
}

/* Values that a step reads or returns, with an arrow to or from it. */
function drawPort(name, shapes, isRead) {
  if (shapes.length === 0) return "";
  return html`<span class="hop">${isRead ? "" : drawArrow(false)}<span class="box port"><b>${
    name}</b><span>${formatShapes(shapes)}</span></span>${isRead ? drawArrow(false) : ""}</span>
`;
}

function drawBody(chain) {
  const { step, structures: [matrix] } = chain;
  if (!matrix) return "";
  const operations = step.operations.map((each) => html`<span>${each.count} ${each.operation}</span>`);
  return html`<a class="box layer ${getStyle(matrix.structure)}" href="#${getPatternId(chain, 1)}"><b>${
    step.name}</b>${drawOperation(step)}<span>${matrix.structure}, ${matrix.rows} x ${
    matrix.cols}</span><span>${formatNonzeros(matrix)}</span>${operations}</a>
`;
}

function drawStep(chain) {
  const { step } = chain;
  const injected = step.injected.map(({ state, shape }) =>
    drawPort(`injected into state ${state}`, [shape], true));
  return html`<h3>The step that every link is</h3>
<div class="wide"><div class="step">
<div class="ports">
${drawPort("cotangents of states after the step", step.states, true)}${injected}${
  drawPort("saved", step.saved, true)}${drawPort("captures of all steps", step.captures, true)}</div>
${drawBody(chain)}<div class="ports">
${drawPort("cotangents of states before it", step.states, false)}${
  drawPort("emitted", step.emitted, false)}</div>
</div></div>
`;
}

//--- Zero patterns ---

/* Cells of equal share in a row are one rectangle; all rectangles of one share are one path. */
function drawCells(lines) {
  const paths = {};
  lines.forEach((line, y) => {
    for (const { 0: { length }, 1: digit, index } of line.matchAll(/([1-9])\1*/g))
      paths[digit] = `${paths[digit] ?? ""}M${index} ${y}h${length}v1h-${length}z`;
  });
  // Even a cell with a single nonzero is visible.
  return Object.entries(paths).map(([digit, path]) =>
    html`<path fill-opacity="${(0.25 + 0.75 * digit / 9).toFixed(2)}" d="${path}"/>`);
}

function drawPattern({ structure, rows, cols, picture }) {
  // The longer side is 72 pixels, the shorter at least 6.
  const [width, height] =
    [cols, rows].map((size) => Math.max(6, Math.floor(size * 72 / Math.max(rows, cols, 1))));
  const kind = getKind(structure);
  const [x, y] = picture?.length ? [picture[0].length, picture.length] : [1, 1];
  let cells = "";
  if (picture?.length) cells = drawCells(picture);
  else if (kind === "dense") cells = html`<rect width="1" height="1"/>`;
  else if (kind === "diagonal" || kind === "identity")
    cells = html`<path d="M0 0L.04 0L1 .96L1 1L.96 1L0 .04z"/>`;
  return html`<svg class="pattern ${getStyle(structure)}" width="${width}" height="${height}" viewBox="0 0 ${
    x} ${y}" preserveAspectRatio="none" role="img"><title>${structure}, ${rows} x ${
    cols}</title><rect class="paper" width="${x}" height="${y}"/>${cells}</svg>`;
}

function drawLinks(chain) {
  let first = 1;
  const figures = chain.structures.map((matrix) => {
    const last = first + matrix.repeat - 1;
    const numbers = last > first ? `${first} to ${last}` : first;
    const figure = html`<figure id="${getPatternId(chain, first)}">${drawPattern(matrix)}<figcaption>${
      numbers}: ${matrix.structure}<br>${matrix.rows} x ${matrix.cols}<br>${
      formatNonzeros(matrix)}</figcaption></figure>
`;
    first = last + 1;
    return figure;
  });
  const patterns = html`<div class="patterns">
${figures}</div>`;
  // More pictures than fit on a screen are folded.
  return html`<h3>Links, in the order in which cotangents pass</h3>
${figures.length > 24 ? html`<details><summary>${figures.length} kinds of links</summary>
${patterns}</details>` : patterns}
`;
}

//--- Trees ---

const TREE = { left: 96, top: 28, row: 30, height: 12 };

class Tree {
  constructor(plan, links) {
    this.plan = plan;
    this.links = links;
    this.cell = Math.min(44, Math.max(12, Math.floor(860 / (links + 1))));
    this.maxFlops = Math.max(...plan.levels.map((level) => level.max_flops));
    // Where each value is drawn, and the last element of the array that it covers.
    this.places = new Map();
    this.lines = "";
  }

  getX(position) { return TREE.left + (position + 0.5) * this.cell; }

  /* An element of the array: the seed or a link. */
  drawElement(element, matrix) {
    const x = this.getX(element), y = TREE.top;
    this.places.set(element, { x, y: y + 10, last: element });
    const shape = !matrix
      ? html`<circle class="vector" cx="${x}" cy="${y + 5}" r="5"><title>0: the seed</title></circle>`
      : html`<rect class="${getStyle(matrix.structure)}" x="${x - 5}" y="${y}" width="10" height="10"><title>${
        element}: ${matrix.structure} ${matrix.rows} x ${matrix.cols}, ${
        formatNonzeros(matrix)}</title></rect>`;
    return html`${shape}<text class="number" x="${x}" y="${y - 6}">${element}</text>`;
  }

  drawProduct(operation, y) {
    const { kind, left, right, out, flops, result, rows, cols } = operation;
    const operands = [left, right].filter((value) => value >= 0);
    const { last } = this.places.get(operands.at(-1));
    const x = this.getX(last), isVector = kind === "apply" || kind === "emit";
    const width = Math.max(4, 0.9 * this.cell * Math.sqrt(flops / (this.maxFlops || 1)));
    for (const place of operands.map((value) => this.places.get(value)))
      this.lines += `M${place.x} ${place.y}L${x} ${y}`;
    if (out >= 0) this.places.set(out, { x, y: y + TREE.height, last });
    return html`<rect class="${isVector ? "vector" : getStyle(result)}" x="${round(x - width / 2)}" y="${
      y}" width="${round(width)}" height="${TREE.height}" rx="${isVector ? 5 : 1}"><title>${kind} ${
      operands.join(", ")}: ${result} ${rows} x ${cols}, ${formatNonzeros(operation)}, ${
      formatCount(flops)} FLOP</title></rect>`;
  }

  draw(structures) {
    const rows = this.plan.levels.filter((level) => level.operations);
    if (rows.length === 0) return "";
    const width = TREE.left + (this.links + 1) * this.cell + 8;
    const height = TREE.top + (rows.length + 1) * TREE.row;
    const matrices = structures.flatMap((matrix) => Array(Math.min(matrix.repeat, this.links)).fill(matrix));
    const elements =
      [undefined, ...matrices.slice(0, this.links)].map((matrix, i) => this.drawElement(i, matrix));
    // Levels are numbered in each sweep.
    const numbers = {};
    const labels = [], products = [];
    rows.forEach(({ sweep, operations }, row) => {
      const y = TREE.top + (row + 1) * TREE.row;
      numbers[sweep] = (numbers[sweep] ?? 0) + 1;
      labels.push(html`<text class="label" x="4" y="${y + 10}">${sweep} ${numbers[sweep]}</text>`);
      products.push(operations.map((operation) => this.drawProduct(operation, y)));
    });
    return html`<div class="wide"><svg class="tree" width="${width}" height="${height}" viewBox="0 0 ${
      width} ${height}" role="img"><title>the products of ${
      this.plan.plan}</title><text class="label" x="4" y="${TREE.top + 9}">elements</text>${elements}${
      labels}<path class="line" d="${this.lines}"/>${products}</svg></div>
`;
  }
}

function drawTree(chain, plan) {
  const { drawing } = plan;
  if (!drawing) return new Tree(plan, chain.links).draw(chain.structures);
  return html`<p>${chain.links} links are too many to be drawn: this is ${drawing.plan} on the first ${
    drawing.links}.</p>
${new Tree(drawing, drawing.links).draw(chain.structures)}`;
}

//--- Levels ---

const BARS = { left: 130, width: 460, row: 20 };

/* A bar for each level, in parts for its products. */
function drawLevels(plan) {
  const levels = plan.levels.filter((level) => level.products.length > 0);
  const maxFlops = Math.max(1, ...levels.map((level) => level.flops * level.repeat));
  const width = BARS.left + BARS.width + 220, height = BARS.row * levels.length + 4;
  const bars = levels.map((level, i) => {
    const y = i * BARS.row + 4;
    let x = BARS.left;
    const parts = level.products.map(({ kind, first, second, result, count, flops }) => {
      const style = kind === "compose" || kind === "linearize" ? getStyle(result) : "vector";
      const part = Math.max(1, BARS.width * flops * level.repeat / maxFlops);
      const operands = second ? `${first} by ${second}` : first;
      x += part;
      return html`<rect class="${style}" x="${round(x - part)}" y="${y}" width="${
        round(part)}" height="14"><title>${count} ${kind} of ${operands}: ${
        formatCount(flops)} FLOP</title></rect>`;
    });
    const repeat = level.repeat > 1 ? ` x ${level.repeat}` : "";
    return html`<text class="label" x="4" y="${y + 11}">${level.sweep}${repeat}</text>${
      parts}<text class="value" x="${round(x + 6)}" y="${y + 11}">${
      formatCount(level.flops * level.repeat)} FLOP, at most ${formatCount(level.max_flops)}</text>`;
  });
  return html`<div class="wide"><svg class="levels" width="${width}" height="${height}" viewBox="0 0 ${
    width} ${height}" role="img"><title>the costs of the levels of ${plan.plan}</title>${bars}</svg></div>
`;
}
