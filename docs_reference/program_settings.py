"""The page of the settings of programs that the lab starts: type, values of both tunings, description."""

from collections.abc import Iterator, Mapping

from docs_reference.markdown import code, paragraph, sentence, summary, table
from docs_reference.sections import Sections, written
from loadstone.model.reading import Section
from loadstone.model.service import Tuning
from loadstone.services.registry import list_service_kinds, list_service_roles

HEAD = ("setting", "type", "default", "tuned", "description")


def program_settings() -> Iterator[str]:
    """Blocks of settings.md."""
    yield "# Settings of programs"
    yield paragraph(
        "`make reference` writes this page from the services. `--set PROGRAM.SETTING=VALUE` changes a setting of a "
        "program that Loadstone starts, on top of those of `--tuning`. A study file has a table for each program:"
    )
    yield "```toml\n[set.php]\nchildren = 50\n\n[set.apache.prefork]\nmax = 400\n```"
    yield paragraph(
        "A sweep varies a setting by its name, such as `--over set.php.children=5,50`. A result discloses what was "
        "changed. A setting that no chosen service has, a value outside its bounds, and settings that contradict each "
        "other are refused before anything starts. An empty cell leaves the program's own value."
    )
    sections = Sections()
    for program, (usual, services) in sorted(_programs().items()):
        kind = type(usual[Tuning.DEFAULT])
        yield f"## {program}"
        yield paragraph(f"{sentence(summary(kind))} Services: {', '.join(map(code, services))}.")
        rows = (
            (
                code(name),
                sections.type_of(info.annotation, tuple(info.metadata)),
                *(_value(getattr(usual[tuning], name)) for tuning in (Tuning.DEFAULT, Tuning.TUNED)),
                sentence(str(info.description)),
            )
            for name, info in kind.model_fields.items()
        )
        yield table(HEAD, rows)


def _programs() -> dict[str, tuple[Mapping[Tuning, Section], list[str]]]:
    """Returns values by tuning, and the services that run the program, by program."""
    programs: dict[str, tuple[Mapping[Tuning, Section], list[str]]] = {}
    for kind in (kind for role in list_service_roles() for kind in list_service_kinds(role).values()):
        for program, usual in kind.settings.items():
            services = programs.setdefault(program, (usual, []))[1]
            if kind.name not in services:
                services.append(kind.name)
    return programs


def _value(value: object) -> str:
    return "" if value is None else code(written(value))
