"""SVG as text, for pictures of boxes, words and lines. All sizes are in pixels."""

from html import escape

FONT = 13  # pixels
LETTER = 7.2  # the mean width of a letter, generously: nothing here measures fonts


def element(name: str, content: str = "", **attributes: object) -> str:
    """One element; `stroke_width` in Python is `stroke-width` in SVG, and numbers have at most two decimals."""
    values = {key: f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
              for key, value in attributes.items()}  # fmt: skip
    written = "".join(f' {key.replace("_", "-")}="{escape(str(value))}"' for key, value in values.items())
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def text(x: float, y: float, content: str, **attributes: object) -> str:
    """Plain text; `y` is that of its base line."""
    return element("text", escape(content), x=float(x), y=float(y), **attributes)


def line(points: list[tuple[float, float]], **attributes: object) -> str:
    """A line through points."""
    way = "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)
    return element("path", d=way, **{"fill": "none", "stroke": "#333", **attributes})


def document(width: float, height: float, parts: list[str]) -> str:
    """A whole picture, on white: it is shown on dark pages too."""
    arrow = element(
        "marker", element("path", d="M0 0L8 4L0 8z", fill="#333"),
        id="arrow", viewBox="0 0 8 8", refX=8, refY=4, markerWidth=7, markerHeight=7, orient="auto",
    )  # fmt: skip
    body = [element("defs", arrow), element("rect", width="100%", height="100%", fill="white"), *parts]
    content = "\n" + "\n".join(body) + "\n"
    return element(
        "svg", content, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}", height=f"{height:.0f}", font_family="sans-serif", font_size=FONT, fill="#111",
    ) + "\n"  # fmt: skip
