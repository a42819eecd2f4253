# Part of the bppsa project, under the MIT License.
"""Drawings as SVG text, and the drawings of chains and trees that several pages share.

Drawings have a white background, so that they are readable in light and dark mode.
"""

import math

BLUE, ORANGE, GREEN, GRAY, PALE = "#1c64c8", "#d2500f", "#2b7a3e", "#57606a", "#d0d7de"
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"


class Drawing:
    def __init__(self, width, height, description):
        self.width, self.height = width, height
        self.parts = [
            f"<title>{escape(description)}</title>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        ]

    def line(self, x1, y1, x2, y2, color=GRAY, width=1.5, dash=None):
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{color}" '
            f'stroke-width="{width:g}"{extra}/>'
        )

    def arrow(self, x1, y1, x2, y2, color=GRAY, width=1.5, dash=None):
        length = math.hypot(x2 - x1, y2 - y1)
        dx, dy = (x2 - x1) / length, (y2 - y1) / length
        self.line(x1, y1, x2 - 5 * dx, y2 - 5 * dy, color, width, dash)
        corners = [(x2, y2)] + [
            (x2 - 8 * dx + side * 4 * dy, y2 - 8 * dy - side * 4 * dx) for side in (1, -1)
        ]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        self.parts.append(f'<polygon points="{points}" fill="{color}"/>')

    def curve(self, points, color, width=2.5, dash=None):
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polyline points="{text}" fill="none" stroke="{color}" stroke-width="{width:g}"{extra}/>'
        )

    def circle(self, x, y, radius, fill="#ffffff", stroke=GRAY):
        self.parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}" stroke="{stroke}" '
            'stroke-width="1.5"/>'
        )

    def box(self, x, y, width, height, fill="#ffffff", stroke=GRAY):
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" '
            f'fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'
        )

    def text(self, x, y, text, size=13, color="#1f2328", anchor="start", weight="normal"):
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{color}" '
            f'text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'
        )

    def write(self, path):
        body = "\n".join(self.parts)
        path.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" font-family="{FONT}" role="img">\n'
            f"{body}\n</svg>\n"
        )


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def draw_chain(drawing, left, right, y, count=8, color=ORANGE):
    """Draws `count` links that are applied one after the other, from right to left."""
    xs = [left + (right - left) * i / (count - 1) for i in range(count)]
    for i, x in enumerate(xs):
        if i:
            drawing.arrow(x - 9, y, xs[i - 1] + 9, y, color, 2)
    for x in xs:
        drawing.circle(x, y, 9, "#fdeee6", color)
    return xs


def draw_tree(drawing, left, right, y, step, count=8, color=BLUE):
    """Draws a balanced tree of products over `count` links; returns the place of its root."""
    level = [(left + (right - left) * i / (count - 1), y) for i in range(count)]
    places = list(level)
    while len(level) > 1:
        above = []
        for first, second in zip(level[::2], level[1::2], strict=True):
            parent = ((first[0] + second[0]) / 2, first[1] - step)
            for child in (first, second):
                drawing.line(child[0], child[1] - 9, parent[0], parent[1] + 8, color, 2)
            above.append(parent)
        places += above
        level = above
    for x, place in places:
        drawing.circle(x, place, 9, "#e6effb", color)
    return level[0]
