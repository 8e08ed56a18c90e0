"""`python -m docs_reference`: writes the pages of docs/reference, and the list of commands that the help shows."""

from docs_reference.overview import FILE, overview
from docs_reference.pages import FOLDER, pages


def main() -> None:
    """Writes all pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    FILE.write_text(overview(), encoding="utf-8")


if __name__ == "__main__":
    main()
