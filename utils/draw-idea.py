#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Draws the pictures of docs/Explanation/Idea.md into docs/_static."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

import svg  # noqa: E402

STATIC = ROOT / "docs" / "_static"


def draw_recurrence():
    drawing = svg.Drawing(
        760, 250, "A recurrence forward in time, and its cotangents backward in time"
    )
    xs = [150, 290, 430, 570]
    drawing.text(20, 78, "forward", 14, svg.GRAY, weight="bold")
    drawing.text(20, 178, "backward", 14, svg.ORANGE, weight="bold")
    drawing.arrow(108, 73, xs[0] - 32, 73, svg.GRAY, 2)
    drawing.text(108, 62, "h0", 13, anchor="middle")
    drawing.arrow(xs[0] - 32, 173, 100, 173, svg.ORANGE, 2)
    drawing.text(108, 162, "g0", 13, svg.ORANGE, "middle")
    for i, x in enumerate(xs, 1):
        drawing.box(x - 30, 55, 60, 36, "#f6f8fa")
        drawing.text(x, 78, "cell", 14, anchor="middle")
        drawing.arrow(x, 22, x, 53, svg.GRAY, 1.5)
        drawing.text(x + 8, 28, f"x{i}", 13)
        drawing.box(x - 30, 155, 60, 36, "#fdeee6", svg.ORANGE)
        drawing.text(x, 178, f"J{i}ᵀ", 14, svg.ORANGE, "middle")
        drawing.line(x, 93, x, 153, svg.PALE, 1.5, "4 4")
        drawing.text(x + 6, 128, "saved", 11, svg.GRAY)
        following = xs[i] if i < len(xs) else 680
        drawing.arrow(x + 32, 73, following - 32, 73, svg.GRAY, 2)
        drawing.text((x + following) / 2, 62, f"h{i}", 13, anchor="middle")
        drawing.arrow(following - 32, 173, x + 32, 173, svg.ORANGE, 2)
        drawing.text((x + following) / 2, 162, f"g{i}", 13, svg.ORANGE, "middle")
        drawing.arrow(x, 232, x, 193, svg.GREEN, 1.5)
        drawing.text(x + 8, 228, f"s{i}", 13, svg.GREEN)
    drawing.box(650, 55, 60, 136, "#f6f8fa")
    drawing.text(680, 128, "loss", 14, anchor="middle")
    drawing.write(STATIC / "idea-recurrence.svg")


def draw_orders():
    drawing = svg.Drawing(760, 250, "Eight links in order, and as a balanced tree")
    drawing.text(30, 34, "In order", 15, svg.ORANGE, weight="bold")
    drawing.text(30, 56, "8 dependent products of a matrix and a vector", 12, svg.GRAY)
    xs = svg.draw_chain(drawing, 40, 330, 150)
    for i, x in enumerate(xs, 1):
        drawing.text(x, 180, f"J{i}ᵀ", 12, anchor="middle")
    drawing.text(420, 34, "As a tree", 15, svg.BLUE, weight="bold")
    drawing.text(420, 56, "3 levels up; each level runs in parallel", 12, svg.GRAY)
    svg.draw_tree(drawing, 430, 720, 200, 42)
    for i in range(8):
        drawing.text(430 + 290 * i / 7, 230, f"J{i + 1}ᵀ", 12, anchor="middle")
    drawing.write(STATIC / "idea-orders.svg")


def draw_chunks():
    drawing = svg.Drawing(760, 290, "A chunked scan: aggregate, carry, run again")
    labels = ("1. aggregate", "2. carry", "3. run again")
    for label, y in zip(labels, (66, 150, 234), strict=True):
        drawing.text(20, y + 5, label, 14, weight="bold")
    lefts = [150, 300, 450, 600]
    for i, left in enumerate(lefts):
        for y, color, fill in ((66, svg.BLUE, "#e6effb"), (234, svg.ORANGE, "#fdeee6")):
            drawing.box(left, y - 26, 130, 52, "#ffffff", svg.PALE)
            xs = [left + 20 + 30 * k for k in range(4)]
            for k, x in enumerate(xs):
                if k:
                    drawing.arrow(x - 8, y, xs[k - 1] + 8, y, color)
            for x in xs:
                drawing.circle(x, y, 8, fill, color)
        middle = left + 65
        drawing.arrow(middle, 94, middle, 136, svg.BLUE)
        drawing.circle(middle, 150, 12, "#e6effb", svg.BLUE)
        drawing.arrow(middle, 164, middle, 206, svg.ORANGE)
        if i:
            drawing.arrow(middle - 14, 150, lefts[i - 1] + 65 + 14, 150, svg.ORANGE, 2)
    drawing.text(150, 28, "the steps of a chunk become one affine map; chunks run in parallel", 12, svg.GRAY)
    drawing.text(150, 280, "each chunk starts from its carry; chunks run in parallel", 12, svg.GRAY)
    drawing.write(STATIC / "idea-chunks.svg")


def draw_leaves():
    drawing = svg.Drawing(760, 230, "Parameter gradients are products over all steps, off the chain")
    xs = svg.draw_chain(drawing, 60, 420, 60, 6)
    drawing.text(60, 34, "cotangents g of all steps, by the chain or by a scan", 12, svg.GRAY)
    for x in xs:
        drawing.arrow(x, 71, x, 114, svg.GRAY)
    drawing.box(45, 116, 390, 40, "#eaf5ec", svg.GREEN)
    drawing.text(240, 141, "saved gates and states, T x B rows", 13, svg.GREEN, "middle")
    drawing.arrow(437, 136, 520, 136, svg.GREEN, 2)
    drawing.box(522, 96, 200, 80, "#eaf5ec", svg.GREEN)
    drawing.text(622, 130, "one large matrix product", 14, svg.GREEN, "middle")
    drawing.text(622, 152, "dW = gᵀ x", 14, svg.GREEN, "middle")
    drawing.text(60, 200, "No step waits for these products, so they fill all cores.", 12, svg.GRAY)
    drawing.write(STATIC / "idea-leaves.svg")


if __name__ == "__main__":
    draw_recurrence()
    draw_orders()
    draw_chunks()
    draw_leaves()
