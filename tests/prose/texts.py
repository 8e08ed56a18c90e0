"""Texts that people read, cut into sentences: pages of Markdown, and strings of Python, Rust and templates."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from tests.places import PROJECT

FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
MARKUP = re.compile(r"\*{1,2}(?=\S)|(?<=\S)\*{1,2}|\b_|_\b|\[/?[a-z ]*\]|</?[a-z][^>]*>")
ENTRY = re.compile(r"^\s*(?:[-*+] |\d+\. |#+ |> |\|)")
"""Start of a line of Markdown that continues no sentence of the line above."""
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"(\[{])|\n")
WORD = re.compile(r"[^\W\d_][\w'-]*")
PROSE = re.compile(r"[A-Za-z]{2,}[,:;]? +(?:\S+ +)*?[A-Za-z]{2,}")
"""What a string needs to be more than a name: two words with a space between them."""
STATEMENT = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|WITH) [^a-z]*[A-Za-z_.]+[ ,(]")
"""Start of a statement in SQL."""
COMMENT = re.compile(r"^[ \t]*# .*$", re.MULTILINE)
"""Comment in a script that a string holds; headings of pages have lost their mark by then."""
RUST_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\n]*\]\s*)*mod \w+ \{[\s\S]*?\n\}")
RUST_STRING = re.compile(r"//[^\n]*|b?'(?:\\[^\n]+?|[^'\\\n])'|\"((?:\\[\s\S]|[^\"\\])*)\"")
RUST_HOLE = re.compile(r"\{\w*(?::[^}]*)?\}")
RUST_HELP = re.compile(r"((?:^ *///[^\n]*\n)+)(?=(?: *#\[[^\n]*\]\n)* *#\[(?:arg|command|clap))", re.MULTILINE)
RUST_COMMANDS = re.compile(r"derive\([^)]*Subcommand\)\]\n(?:pub(?:\(\w+\))? )?enum \w+ \{[\s\S]*?\n\}")
RUST_COMMAND = re.compile(r"((?:^    ///[^\n]*\n)+)(?=    [A-Z])", re.MULTILINE)
TEMPLATE_CODE = re.compile(r"\{[{%#].*?[}%#]\}|<(?:script|style).*?</(?:script|style)>|<[^>]+>", re.DOTALL)


@dataclass(frozen=True)
class Sentence:
    """A sentence and its place."""

    file: str
    line: int
    text: str

    @property
    def words(self) -> int:
        """Number of its words; code between backticks counts as a word."""
        return len(WORD.findall(CODE.sub("code", self.text)))

    @property
    def is_cell(self) -> bool:
        """Whether it is a cell of a table."""
        return self.text.startswith("|")


def pages() -> list[Path]:
    """All pages of Markdown that the project's readers open."""
    return sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("src/**/*.md")])


def page_sentences(file: Path) -> Iterator[Sentence]:
    """Sentences of a page: paragraphs are joined over their lines, cells of tables stay apart."""
    text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), file.read_text(encoding="utf-8"))
    start, lines = 1, list[str]()
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if (not line.strip() or ENTRY.match(line)) and lines:
            yield from _sentences(file, start, " ".join(lines))
            lines = []
        if line.lstrip().startswith("|"):
            for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                yield from _sentences(file, number, cell, "| ")
        elif line.strip():
            start = start if lines else number
            lines.append(re.sub(r"^[-*+] |^\d+\. |^#+ |^> ", "", line.strip()))


def source_sentences() -> Iterator[Sentence]:
    """Sentences of messages, help texts and reports: of Python, Rust and templates."""
    for file in sorted(PROJECT.glob("src/**/*.py")):
        for line, text in _python_strings(file.read_text(encoding="utf-8")):
            yield from _sentences(file, line, text)
    for file in sorted(PROJECT.glob("crates/*/src/**/*.rs")):
        if file.stem != "tests" and "tests" not in file.parts:
            for line, text in _rust_strings(file.read_text(encoding="utf-8")):
                yield from _sentences(file, line, text)
    for file in sorted(PROJECT.glob("src/**/*.j2")):
        text = TEMPLATE_CODE.sub(lambda code: "\n" * code[0].count("\n"), file.read_text(encoding="utf-8"))
        for number, line in enumerate(text.split("\n"), 1):
            yield from _sentences(file, number, line)


def _sentences(file: Path, line: int, text: str, mark: str = "") -> Iterator[Sentence]:
    plain = COMMENT.sub("", LINK.sub(r"\1", text))
    for part in END.split(MARKUP.sub("", plain)):
        if PROSE.search(part) and not STATEMENT.match(part):
            yield Sentence(str(file.relative_to(PROJECT)), line, mark + " ".join(part.split()))


def _python_strings(text: str) -> Iterator[tuple[int, str]]:
    """Strings with their lines, an f-string as one; docstrings only where they are the help of a command."""
    tree = ast.parse(text)
    skipped, helps = set[ast.AST](), {id(node.body[0]) for node in ast.walk(tree) if _is_command(node)}
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if node in skipped:
                skipped.add(child)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and id(node) not in helps:
            skipped.add(node.value)
        if isinstance(node, ast.JoinedStr) and node not in skipped:
            skipped.update(node.values)
            yield node.lineno, "".join(_piece(value) for value in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.lineno, node.value


def _is_command(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    """Whether a node is a function that is registered as a command, so that its docstring is a help text."""
    marks = [ast.unparse(mark) for mark in node.decorator_list] if isinstance(node, ast.FunctionDef) else []
    return any("command" in mark or "callback" in mark for mark in marks)


def _piece(value: ast.expr) -> str:
    return str(value.value) if isinstance(value, ast.Constant) else "{}"


def _rust_strings(text: str) -> Iterator[tuple[int, str]]:
    code = RUST_TESTS.sub(lambda tests: "\n" * tests[0].count("\n"), text)
    for match in RUST_STRING.finditer(code):
        if match[1] is not None:
            yield code.count("\n", 0, match.start()) + 1, RUST_HOLE.sub("{}", re.sub(r"\\\n\s*", "", match[1]))
    helps = [(match.start(), match[1]) for match in RUST_HELP.finditer(code)]
    for commands in RUST_COMMANDS.finditer(code):
        helps += [(commands.start() + match.start(), match[1]) for match in RUST_COMMAND.finditer(commands[0])]
    for start, lines in helps:
        yield code.count("\n", 0, start) + 1, " ".join(line.strip().removeprefix("///") for line in lines.splitlines())
