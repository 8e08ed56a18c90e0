"""Pages of the files that users write: workload, study, fleet and tile, from the models that read them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from docs_reference.markdown import anchor, code, paragraph, sentence, table
from docs_reference.sections import HEAD, Sections
from loadstone.model.fleet import FleetSpec
from loadstone.model.machine import MachineSpec
from loadstone.model.profile import PROFILES
from loadstone.model.reading import Section
from loadstone.model.system import FileServer, Station
from loadstone.model.tile import TILE_SECTIONS, Size
from loadstone.model.workload.values import Value
from loadstone.platforms.kind import EVERY
from loadstone.platforms.registry import list_platform_kinds
from loadstone.study.parameters import OF_PROGRAMS, PARAMETERS, PROGRAM_PARAMETER, ROLE_PARAMETER
from loadstone.study.registry import list_study_kinds
from loadstone.study.sections import DriverSection, LoadEntry, ProfileSection, ServerSection, StudyHeader, TargetSection
from loadstone.workloads.catalogue import ENTRIES, OPTIONAL_SECTIONS, WORKLOAD_SECTIONS

HERE = Path(__file__).parent
GENERATED = "`make reference` writes this page from the models that read the file."
NUMBERS = (
    "Unknown keys are errors. Numbers are at most 10^12, whole numbers at most 2^63 - 1, times at most 10^9 s; tighter "
    "limits are with the key. A key without a default may be left out."
)
PARAMETERS_TITLE = "Parameters of studies"
TABLES = (
    ("[headers]", 'Headers of all requests, a table of texts, such as `User-Agent = "Example"`. An operation may '
     "replace one."),
    ("[scale]", "Numbers that the data of the workload depend on, a table of numbers."),
    ("[mixes.NAME]", "Another mix, with the keys of `[mix]`. `WORKLOAD:NAME` selects it, as `bookstore:ordering`."),
)  # fmt: skip
STUDY = (
    ("[study]", StudyHeader),
    ("[[load]]", LoadEntry),
    ("[profile]", ProfileSection),
    ("[target]", TargetSection),
    ("[server]", ServerSection),
    ("[station]", Station),
    ("[nginx]", FileServer),
    ("[driver]", DriverSection),
)
NOTES = 'Facts that Loadstone cannot collect, a table of texts, such as `switch = "..."`. The report shows them.'
"""The section `[notes]` of study files and tile files."""


def workload_file() -> Iterator[str]:
    """Blocks of workload-file.md."""
    yield "# Workload file: workload.toml"
    yield paragraph(
        "A folder with a `workload.toml` is a workload. `loadstone workloads check FOLDER` reports every problem in it "
        f"with its line, and `loadstone workloads show FOLDER` explains it. {NUMBERS} {GENERATED}"
    )
    described = dict(_workload_sections())
    yield _contents([*described, *(title for title, _ in TABLES), "[values]"])
    sections = Sections()
    for title, kind in described.items():
        yield from sections.blocks(code(title), kind)
    for title, text in TABLES:
        yield f"## {code(title)}"
        yield paragraph(text)
    yield from _values(sections)


def _workload_sections() -> Iterator[tuple[str, type[Section]]]:
    """Titles and types of the sections that are read as such, but for those that `TABLES` and `_values` describe."""
    described = {title for title, _ in TABLES}
    single = {**{key: kind for key, (kind, _) in WORKLOAD_SECTIONS.items()}, **OPTIONAL_SECTIONS}
    titles = {f"[{key}]": kind for key, kind in single.items()}
    titles |= {f"[{key}.NAME]": kind for key, kind in ENTRIES.items() if key not in ("headers", "values")}
    yield from ((title, kind) for title, kind in titles.items() if title not in described)


def _values(sections: Sections) -> Iterator[str]:
    kinds: tuple[type[Section], ...] = get_args(get_args(Value)[0])
    redraw = ("`redraw`", '`"operation"`, `"session"` or a list of states', '`"operation"`')
    yield "## `[values]`"
    yield paragraph(
        "`[values]` declares named generators of data that differ from request to request. `{name}` is replaced by "
        "the value in paths, queries, forms, bodies, headers and messages; `{{` is a brace. Every session draws from a "
        "separate random stream, so the same plan sends the same values."
    )
    yield paragraph(
        "`{target}` needs no declaration: it is the address of the site, such as `http://shop.example` or "
        "`http://127.0.0.1:8080`."
    )
    yield f"```toml\n{(HERE / 'values.toml').read_text(encoding='utf-8').strip()}\n```"
    yield paragraph("Every kind has these keys; the tables below have the others.")
    kind_row = ("`kind`", "a kind of those below", "required", "How the value is sampled.")
    yield table(
        HEAD,
        (
            kind_row,
            (
                *redraw,
                "When a new value is sampled: before each operation that uses it, once for each "
                "user, or in these states.",
            ),
        ),
    )
    sections.stated = {"kind": "required", "redraw": '`"operation"`'}
    for kind in kinds:
        name = get_args(kind.model_fields["kind"].annotation)[0]
        yield from sections.blocks(f'`kind = "{name}"`', kind, 3)


def study_file() -> Iterator[str]:
    """Blocks of study-file.md."""
    kinds = {name: kind for name, kind in list_study_kinds().items() if kind.help}
    yield "# Study file"
    yield paragraph(
        "A TOML file declares workloads, loads, the system and at most one question. `loadstone run FILE` runs a file "
        "without a question; the command of a question runs a file with its section, such as `loadstone search FILE`. "
        f"Options of the command line replace values of the file, and the result discloses it. {NUMBERS} {GENERATED}"
    )
    machines = ["[machine]", "[backend]", "[machines.ROLE]", "[set.PROGRAM]", "[notes]"]
    yield _contents([*(title for title, _ in STUDY), *machines, *(f"[{name}]" for name in kinds)])
    yield paragraph(f"[{PARAMETERS_TITLE}](#{anchor(PARAMETERS_TITLE)}) are what studies vary.")
    sections = Sections()
    for title, kind in STUDY:
        yield from sections.blocks(code(title), kind)
        if title == "[profile]":
            yield _profiles()
    yield from _machines(sections)
    yield "## `[set.PROGRAM]`"
    yield paragraph(
        "Settings of a program that Loadstone starts, such as `children = 50` below `[set.php]`. "
        "[Settings of programs](settings.md) has all of them."
    )
    yield "## `[notes]`"
    yield paragraph(NOTES)
    for name, study in kinds.items():
        about = f"`loadstone {name}`: {study.question}"
        yield from sections.blocks(code(f"[{name}]"), study.section, about=sentence(about))
    yield f"## {PARAMETERS_TITLE}"
    yield paragraph(
        "Studies vary these: `over` of `[sweep]` and `[peaks]`, and `a` and `b` of `[compare]`. On the command line "
        "`--over sessions=50,100` names one parameter with its points."
    )
    rows = [(code(name), sentence(each.about)) for name, each in PARAMETERS.items() if not name.startswith(OF_PROGRAMS)]
    yield table(
        ("parameter", "values"),
        [
            *rows,
            (code(ROLE_PARAMETER), "A setting of the machine of a role, as `machine.db.cpus`, or of one copy of it."),
            (code(PROGRAM_PARAMETER), "A setting of a program ([list](settings.md))."),
        ],
    )


def _profiles() -> str:
    rows = [
        (code(name), " / ".join(f"{seconds:g}" for seconds in _phases(profile)), str(profile.iterations), profile.about)
        for name, profile in PROFILES.items()
    ]
    return table(("profile", "ramp-up / warm-up / steady / ramp-down, s", "iterations", "use"), rows)


def _phases(profile: Any) -> tuple[float, ...]:
    phases = profile.phases
    return phases.ramp_up_s, phases.warm_up_s, phases.steady_s, phases.ramp_down_s


def _machines(sections: Sections) -> Iterator[str]:
    kinds = list_platform_kinds().values()
    yield from sections.blocks(code("[machine]"), MachineSpec, about="The machine that the system runs on.")
    rows = [(code(kind.name), kind.title, ", ".join(map(code, sorted(kind.settings - EVERY)))) for kind in kinds]
    yield paragraph(
        f"Every platform has the keys {', '.join(map(code, sorted(EVERY)))}. The table has the others of each platform."
    )
    yield table(("platform", "machine", "keys"), rows)
    for kind in kinds:
        if kind.settings_section.model_fields and kind.settings_section not in sections.known:
            yield from sections.blocks(
                f"Keys of {kind.name}", kind.settings_section, 3, f"Keys of `[machine]` for `{kind.name}`."
            )
    yield "## `[backend]`"
    yield paragraph("The machine of the back-end simulator, with the keys of `[machine]`.")
    yield "## `[machines.ROLE]`"
    yield paragraph(
        "Settings of the machine of a role, with the keys of `[machine]`, such as `[machines.db]`. `[machines.2.web]` "
        "is the second machine of the role `web`."
    )


def fleet_file() -> Iterator[str]:
    """Blocks of fleet-file.md."""
    yield "# Fleet file"
    yield paragraph(
        "A TOML file declares the hosts that generate load and run machines. `--fleet FILE` or `LOADSTONE_FLEET` names "
        f"it. {NUMBERS} {GENERATED}"
    )
    yield from Sections().blocks("Top level", FleetSpec, about="Keys before the first table.")


def tile_file(shipped: Path) -> Iterator[str]:
    """Blocks of tile-file.md."""
    yield "# Tile file"
    names = ", ".join(code(file.stem) for file in sorted(shipped.glob("*.toml")))
    yield paragraph(
        "A TOML file declares the loads, phases and machines of one tile. `loadstone tiles --tile FILE` runs it. "
        f"{names} are shipped and known by name. `[maxima]` and `[machines]` may be left out. {NUMBERS} {GENERATED}"
    )
    sections = Sections()
    for key, kind in TILE_SECTIONS.items():
        if key != "machines":
            yield from sections.blocks(code(f"[{key}]"), kind)
    yield from sections.blocks(
        code("[machines]"), Size, about="A table for each role: `web`, `infra`, `app`, `db`, `mail`, `idle`."
    )
    yield paragraph(
        "Platforms whose machines share the host leave out `cpus`, `memory` and `disk`. A table may have the other "
        "keys of [`[machine]`](study-file.md#machine) too, except `count`. `[machines.2.web]` is the role `web` of the "
        "second tile, in runs that have one. Options of the command line replace these settings."
    )
    yield "## `[notes]`"
    yield paragraph(NOTES)
    yield "## The tile `classic`"
    yield f"```toml\n{(shipped / 'classic.toml').read_text(encoding='utf-8').strip()}\n```"


def _contents(titles: list[str]) -> str:
    return paragraph(f"Sections: {', '.join(f'[{code(title)}](#{anchor(title)})' for title in titles)}.")
