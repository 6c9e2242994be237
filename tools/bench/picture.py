"""The growth curve as a picture: time per pod over the number of nodes, both logarithmic, as SVG.

On such axes growth in proportion is a straight line under 45 degrees, drawn thin through each curve's first point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 460
LEFT, RIGHT, TOP, BOTTOM = 60, 40, 64, 50
COLOURS = ("#2563eb", "#d97706", "#059669", "#7c3aed")
LEGEND = "dashed: in proportion to the nodes; ×: kube-scheduler"

Point = tuple[float, float]

_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #374151 }
.title { font-size: 15px; font-weight: 600 }
.grid { stroke: #9ca3af; stroke-opacity: .35 }
.curve { fill: none; stroke-width: 2.5 }
.linear { fill: none; stroke-width: 1; stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) { text { fill: #d1d5db } }
"""


def growth_picture(title: str, curves: Mapping[str, Sequence[Point]], marks: Mapping[str, Sequence[Point]]) -> str:
    """`curves`: name -> (nodes, microseconds per pod); `marks`: single points of somebody else's, by the same names."""
    xs = [x for points in (*curves.values(), *marks.values()) for x, _ in points]
    ys = [y for points in (*curves.values(), *marks.values()) for _, y in points]
    axes = _Axes(min(xs), max(xs), min(ys) * 0.8, max(ys) * 1.25)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text class="title" x="{LEFT}" y="24">{escape(title)}</text>',
        f'<text x="{LEFT}" y="46">{LEGEND}</text>',
        *axes.drawn(),
    ]
    for place, (name, points) in enumerate(curves.items()):
        colour = COLOURS[place % len(COLOURS)]
        parts += _curve(axes, name, points, colour)
        parts += [
            f'<path d="M{axes.x(x) - 5:.1f} {axes.y(y) - 5:.1f}l10 10m0 -10l-10 10" stroke="{colour}" '
            f'stroke-width="2"><title>kube-scheduler, {escape(name)}: {x:,.0f} nodes, {y:,.0f} us</title></path>'
            for x, y in marks.get(name, ())
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Axes:
    """From nodes and microseconds to places in the picture."""

    def __init__(self, left: float, right: float, low: float, high: float) -> None:
        self.left, self.right, self.low, self.high = left, right, low, high

    def x(self, nodes: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * log10(nodes / self.left) / (log10(self.right / self.left) or 1)

    def y(self, microseconds: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * log10(microseconds / self.low) / log10(self.high / self.low)

    def drawn(self) -> list[str]:
        bottom = HEIGHT - BOTTOM
        parts = []
        for nodes in _ticks(self.left, self.right):
            x = self.x(nodes)
            parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}"/>')
            parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{nodes:,}</text>')
        for microseconds in _ticks(self.low, self.high):
            y = self.y(microseconds)
            parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
            parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{microseconds:,}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 10}" text-anchor="middle">nodes</text>')
        return parts


def _curve(axes: _Axes, name: str, points: Sequence[Point], colour: str) -> list[str]:
    places = [f"{axes.x(x):.1f} {axes.y(y):.1f}" for x, y in points]
    (first_x, first_y), (last_x, last_y) = points[0], points[-1]
    # The line of proportion leaves the picture where it gets too high.
    end = min(last_x, first_x * axes.high / first_y)
    linear = f"M{places[0]}L{axes.x(end):.1f} {axes.y(first_y * end / first_x):.1f}"
    dots = [
        f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="4" fill="{colour}">'
        f"<title>{escape(name)}: {x:,.0f} nodes, {y:,.0f} us</title></circle>"
        for x, y in points
    ]
    label_y = axes.y(last_y) - 10
    return [
        f'<path class="linear" stroke="{colour}" d="{linear}"/>',
        f'<path class="curve" stroke="{colour}" d="M{"L".join(places)}"/>',
        *dots,
        f'<text x="{axes.x(last_x):.1f}" y="{label_y:.1f}" text-anchor="end" style="fill:{colour}">'
        f"{escape(name)}</text>",
    ]


def _ticks(low: float, high: float) -> list[int]:
    """1, 2 and 5 times the powers of ten, from low to high."""
    return [
        step * 10**power
        for power in range(int(log10(high)) + 1)
        for step in (1, 2, 5)
        if low <= step * 10**power <= high
    ]
