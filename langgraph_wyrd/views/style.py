"""How it looks. One class at the root, so that nothing of the page around it changes.

Text and background are those of the notebook (Jupyter's or VS Code's variables); where there are
none, as in an exported page, the reader's theme decides. Greys are mixed from the two.
"""

from __future__ import annotations

from langgraph_wyrd.views.markup import Markup, Part, html, tag

_LIGHT = "--w-red:#b3261e;--w-amber:#8a5a00;--w-green:#1a7233;--w-blue:#0b57d0;--w-violet:#7a3ea8;"
_DARK = "--w-red:#ff9c94;--w-amber:#f0bd5a;--w-green:#7fd694;--w-blue:#9cc2ff;--w-violet:#d9b0f7;"
_LIGHT += "--w-page:#fff;--w-ink:#1f2328;color-scheme:light;"
_DARK += "--w-page:#111418;--w-ink:#e3e6ea;color-scheme:dark;"

_CSS = f"""
.wyrd{{{_LIGHT}}}
@media(prefers-color-scheme:dark){{.wyrd{{{_DARK}}}}}
[data-jp-theme-light=true] .wyrd,.vscode-light .wyrd{{{_LIGHT}}}
[data-jp-theme-light=false] .wyrd,.vscode-dark .wyrd,.vscode-high-contrast .wyrd{{{_DARK}}}
.wyrd{{
--bg:var(--jp-layout-color0,var(--vscode-editor-background,var(--w-page)));
--fg:var(--jp-content-font-color1,var(--vscode-editor-foreground,var(--w-ink)));
--soft:color-mix(in srgb,var(--fg) 72%,var(--bg));
--rule:color-mix(in srgb,var(--fg) 16%,var(--bg));
--tint:color-mix(in srgb,var(--fg) 5%,var(--bg));
background:var(--bg);color:var(--fg);border:1px solid var(--rule);border-radius:8px;
padding:12px 16px;margin:4px 0;max-width:1080px;box-sizing:border-box;text-align:left;
font:13px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
overflow-wrap:anywhere}}
.wyrd *{{box-sizing:border-box;max-width:100%}}
.wyrd code,.wyrd pre{{font:12px/1.5 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;
background:none;color:inherit;padding:0;margin:0}}
.wyrd code,.wyrd small{{color:var(--soft)}}
.wyrd small{{font-size:12px}}
.wyrd pre{{white-space:pre-wrap;background:var(--tint);border:1px solid var(--rule);
border-radius:6px;padding:8px 10px;margin:6px 0;max-height:26em;overflow:auto}}
.wyrd .w-head{{display:flex;flex-wrap:wrap;gap:2px 10px;align-items:baseline}}
.wyrd .w-name{{font-size:15px;font-weight:600}}
.wyrd .w-head small{{margin-left:auto}}
.wyrd p{{margin:4px 0}}
.wyrd .w-aim{{font-size:14px;margin:8px 0 2px}}
.wyrd .w-head+.w-part{{border-top:0;padding-top:0}}
.wyrd .w-words{{overflow-wrap:normal}}
.wyrd .w-lines{{white-space:pre-wrap}}
.wyrd .w-tag{{display:inline-block;border:1px solid currentColor;border-radius:10px;
padding:0 8px;font-size:12px;line-height:18px;white-space:nowrap;
background:color-mix(in srgb,currentColor 9%,var(--bg))}}
.wyrd .w-long{{white-space:normal}}
.wyrd .w-red{{color:var(--w-red)}}.wyrd .w-amber{{color:var(--w-amber)}}
.wyrd .w-green{{color:var(--w-green)}}.wyrd .w-blue{{color:var(--w-blue)}}
.wyrd .w-violet{{color:var(--w-violet)}}.wyrd .w-grey{{color:var(--soft)}}
.wyrd .w-part{{margin:10px 0 0;border-top:1px solid var(--rule);padding-top:8px}}
.wyrd summary{{cursor:pointer;display:list-item}}
.wyrd .w-part>summary{{font-weight:600}}
.wyrd .w-part>summary small{{font-weight:400;margin-left:6px}}
.wyrd .w-fold{{display:inline-block;vertical-align:top}}
.wyrd .w-fold>summary>small{{white-space:nowrap}}
.wyrd .w-fold[open]{{display:block}}
.wyrd ul{{list-style:none;margin:6px 0 0;padding:0}}
.wyrd li{{display:flex;gap:8px;padding:3px 0;margin:0;unicode-bidi:isolate}}
.wyrd li>.w-mark{{flex:0 0 1.3em;text-align:center}}
.wyrd li>.w-key{{flex:0 1 11em;min-width:5em;padding-left:1.3em}}
.wyrd li>.w-what{{flex:1;min-width:0}}
.wyrd li>.w-key+.w-what{{flex:1 1 12em}}
.wyrd .w-over .w-text{{color:var(--soft)}}
.wyrd .w-gone .w-text{{text-decoration:line-through}}
.wyrd table{{border-collapse:collapse;width:100%;margin:6px 0 0;font-size:13px;color:inherit;
border:0;table-layout:auto}}
.wyrd th,.wyrd td{{text-align:left;vertical-align:top;padding:4px 14px 4px 0;border:0;
border-bottom:1px solid var(--rule);background:none;color:inherit;white-space:normal;
unicode-bidi:isolate}}
.wyrd th{{font-weight:500;color:var(--soft);font-size:12px;white-space:nowrap}}
.wyrd tbody tr,.wyrd tbody tr:hover{{background:none}}
.wyrd tr:last-child td{{border-bottom:0}}
.wyrd .w-wide{{overflow-x:auto;scrollbar-width:thin}}
.wyrd .w-wide>table{{max-width:none}}
.wyrd td.w-says{{min-width:20em}}
.wyrd .w-num{{text-align:right;font-variant-numeric:tabular-nums}}
.wyrd .w-nowrap{{white-space:nowrap}}
.wyrd .w-more{{color:var(--soft);margin:6px 0 0}}
.wyrd .w-line{{position:relative;padding:0 0 0 calc(var(--lanes)*14px + 10px)}}
.wyrd .w-lane{{position:absolute;top:0;bottom:0;width:2px;background:var(--rule)}}
.wyrd .w-lane.w-up{{bottom:auto;height:15px}}.wyrd .w-lane.w-down{{top:15px}}
.wyrd .w-bend{{position:absolute;top:13px;height:2px;background:var(--rule)}}
.wyrd .w-dot{{position:absolute;top:9px;width:10px;height:10px;border-radius:50%;
border:2px solid var(--soft);background:var(--bg)}}
.wyrd .w-dot.w-now{{background:var(--w-blue);border-color:var(--w-blue)}}
.wyrd .w-step{{padding:4px 0;display:flex;flex-wrap:wrap;gap:0 10px;align-items:baseline}}
.wyrd .w-step .w-text{{flex:1;min-width:min(20em,100%)}}
.wyrd svg{{display:block;width:100%;min-width:520px;height:auto;margin:6px 0 0}}
.wyrd svg text{{font:11px system-ui,sans-serif;fill:var(--soft)}}
"""

# The class counts twice: Jupyter's own rules for tables and code in a cell weigh more than one.
CSS = _CSS.strip().replace("\n", "").replace(".wyrd ", ".wyrd.wyrd ")


def framed(*parts: Part) -> Markup:
    """What a cell shows: the parts with all that they need to look right, and no script."""
    style = Markup(f"<style>{CSS}</style>")
    return tag("div", style, html(*parts), class_="wyrd")
