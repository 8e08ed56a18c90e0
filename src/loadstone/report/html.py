"""Blocks as one HTML page that loads nothing from elsewhere."""

from collections.abc import Sequence

import jinja2
from markupsafe import Markup

from loadstone.page.blocks import Block
from loadstone.page.plot import AnyPlot


def build_environment(*packages: str) -> jinja2.Environment:
    """The templates of pages: those of this room, and of other packages beside it."""
    loaders = [jinja2.PackageLoader(package) for package in (*packages, "loadstone.report")]
    templates = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.filters["drawn"] = _drawn
    templates.filters["kind"] = lambda block: type(block).__name__
    return templates


def _drawn(plot: AnyPlot) -> Markup:
    from loadstone.report.charts import draw  # loads the renderer, which commands without pictures do not need

    return Markup(draw(plot))


def render_html(title: str, blocks: Sequence[Block], run_link: str = "runs/{folder}/report.html") -> str:
    """A whole page; `run_link` is where the report of a run is found by its folder's name."""
    text = build_environment().get_template("page.html.j2").render(title=title, blocks=blocks, run_link=run_link)
    return text.encode("utf-8", "replace").decode()
