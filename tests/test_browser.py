"""What a cell shows, in a real browser: headless Chromium, as Debian has it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.chromium import Chromium
from tests.test_show import BAD, entry, views

LIGHT, DARK = False, True

# Contrast is that of WCAG 2: 4.5 is what small text should have.
MEASURE = """
<script>
window.errors = []; window.hit = 0;
window.addEventListener("error", e => errors.push(String(e.message || e.target.src)), true);
function channel(v) { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 }
const pen = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
function rgba(colour) {
  pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
  return pen.getImageData(0, 0, 1, 1).data;
}
function light(colour) {
  const [r, g, b] = rgba(colour);
  return .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b)
}
function behind(element) {
  for (let e = element; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (rgba(colour)[3] > 250) return colour;
  }
  return "white";
}
addEventListener("load", () => {
  document.querySelectorAll("details").forEach(each => { if (OPEN) each.open = true });
  let least = 99, where = "", narrow = 0;
  for (const each of document.querySelectorAll(".wyrd *")) {
    const own = [...each.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || each.matches("style, title")) continue;
    const look = getComputedStyle(each);
    const ink = each.closest("svg") ? look.fill : look.color;
    const [a, b] = [light(ink), light(behind(each))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < least) { least = ratio; where = each.outerHTML.slice(0, 200) }
    const box = each.getBoundingClientRect();
    if (each.matches("td, .w-text") && box.width && box.width < 24) narrow++;
  }
  const wide = [...document.querySelectorAll(".wyrd *")].filter(
    e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 200));
  const spilt = [...document.querySelectorAll(".wyrd *")].filter(e => !e.closest(".w-wide") &&
    e.getBoundingClientRect().right > e.closest(".wyrd").getBoundingClientRect().right + 1)
    .map(e => e.outerHTML.slice(0, 200));
  const says = Math.min(...[...document.querySelectorAll("td.w-says")].map(e => e.clientWidth));
  const found = {errors, spilt, says, hit: window.hit, least, where, narrow, wide,
    scroll: document.documentElement.scrollWidth, inner: innerWidth,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    page: getComputedStyle(document.querySelector(".wyrd")).backgroundColor,
    cells: document.querySelectorAll(".wyrd").length,
    cell: [...document.querySelectorAll(".wyrd td")].map(e => getComputedStyle(e).textAlign)[0],
    stripes: [...document.querySelectorAll(".wyrd tr, .wyrd code, .wyrd td")].filter(
      e => rgba(getComputedStyle(e).backgroundColor)[3]).length,
    foreign: document.querySelectorAll(".wyrd script, .wyrd img, .wyrd a").length};
  window.found = found;
});
</script>
"""


@pytest.fixture
def shown(browser: Chromium, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """What a page with these cells found out about itself."""
    return partial(_shown, browser, tmp_path / "page.html")


def _shown(
    browser: Chromium, file: Path, cells: list[str], *, size: int, theme: bool, **page: Any
) -> dict[str, Any]:
    attributes, css = page.get("attributes", ""), page.get("css", "")
    measure = MEASURE.replace("OPEN", "true" if page.get("unfolded") else "false")
    body = f"<body {attributes}>{''.join(cells)}</body>"
    file.write_text(
        f"<!doctype html><meta charset=utf-8><style>body{{margin:8px}}{css}</style>{measure}{body}"
    )
    tab = browser.tab(size, dark=theme)
    tab.go(file.as_uri())
    tab.wait("window.found")
    found: dict[str, Any] = tab.js("window.found")
    tab.close()
    assert found["dark"] == theme, "the browser took the theme that was asked for"
    return found


@pytest.mark.parametrize(
    ("size", "theme", "says"),
    [
        (800, LIGHT, BAD),
        (800, DARK, BAD),
        (1280, LIGHT, BAD),
        (800, LIGHT, "W" * 4000),
        (800, DARK, "Book me a flight to Paris"),
    ],
)
def test_it_looks_right(shown: Any, size: int, theme: bool, says: str) -> None:
    """No script runs, nothing is wider than the page, and all text stands out from its ground."""
    cells = list(views(says))
    found = shown(cells, size=size, theme=theme, unfolded=True)
    assert found["cells"] == len(cells), "no cell broke out of another"
    assert found["errors"] == []
    assert found["hit"] == 0
    assert found["foreign"] == 0
    assert found["wide"] == []
    assert found["scroll"] <= found["inner"]
    assert found["narrow"] == 0
    assert found["least"] >= 4.5, found["where"]


@pytest.mark.parametrize(
    ("attributes", "css", "theme", "page"),
    [
        ("data-jp-theme-light=true", "", DARK, "rgb(255, 255, 255)"),
        ("data-jp-theme-light=false", "", LIGHT, "rgb(17, 20, 24)"),
        (
            "data-jp-theme-light=false",
            ":root{--jp-layout-color0:#222;--jp-content-font-color1:#ddd}",
            LIGHT,
            "rgb(34, 34, 34)",
        ),
        ("class=vscode-dark", ":root{--vscode-editor-background:#1e1e1e;"
         "--vscode-editor-foreground:#ccc}", LIGHT, "rgb(30, 30, 30)"),
        ("class=vscode-light", "", DARK, "rgb(255, 255, 255)"),
    ],
)  # fmt: skip
def test_the_notebooks_theme_wins(
    shown: Any, attributes: str, css: str, theme: bool, page: str
) -> None:
    """In Jupyter and VS Code a cell has the notebook's colours, whatever the system's are."""
    cells = list(views("Paris"))
    found = shown(cells, size=800, theme=theme, attributes=attributes, css=css)
    assert found["page"] == page
    assert found["least"] >= 4.5, found["where"]


def test_jupyters_rules_for_tables_do_not_apply(shown: Any) -> None:
    """What JupyterLab says of tables and code in a cell is not for ours."""
    rules = (
        ".jp-RenderedHTMLCommon td,.jp-RenderedHTMLCommon th,.jp-RenderedHTMLCommon tr{"
        "text-align:right;padding:.5em;max-width:none}"
        ".jp-RenderedHTMLCommon tbody tr:nth-child(even){background:#f00}"
        ".jp-RenderedHTMLCommon tbody tr:hover{background:#f00}"
        ".jp-RenderedHTMLCommon :not(pre)>code{background-color:#f00;padding:1px 5px}"
        ".jp-RenderedHTMLCommon table{table-layout:fixed;margin-left:auto}"
    )
    cells = list(views("Paris"))
    found = shown(cells, size=800, theme=LIGHT, attributes="class=jp-RenderedHTMLCommon", css=rules)
    assert found["cell"] == "left"
    assert found["stripes"] == 0
    assert found["least"] >= 4.5, found["where"]


def test_a_long_history_fits(shown: Any) -> None:
    """Forty forks side by side run into one another rather than out of the page."""
    from langgraph_wyrd.state.model import WorkingState
    from langgraph_wyrd.views.state import thread_html

    entries = [entry(f"f{n:02}", "e0", summary="word " * 40) for n in range(40, 0, -1)]
    cell = thread_html(WorkingState("t"), [*entries, entry("e0", None)])
    found = shown([cell], size=800, theme=LIGHT, unfolded=True)
    assert found["wide"] == []
    assert found["scroll"] <= found["inner"]


def test_a_narrow_cell(shown: Any) -> None:
    """In a cell of 400 px tables and pictures are scrolled inside of it; texts stay readable."""
    cells = list(views("0b7d6f1e-5b9c-4f7e-9d56-7cf2a7a2c111"))
    narrow = [f'<div style="width:400px">{cell}</div>' for cell in cells]
    found = shown(narrow, size=800, theme=LIGHT, unfolded=True)
    assert found["scroll"] <= found["inner"]
    assert found["spilt"] == []
    assert found["narrow"] == 0
    assert found["says"] >= 200
