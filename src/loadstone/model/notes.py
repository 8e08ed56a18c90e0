"""`[notes]` of a file: facts that Loadstone cannot collect, such as the settings of a switch or of a firmware. Pure."""

from loadstone.model.reading import Document


def read_notes(document: Document) -> dict[str, str]:
    """Reads the notes by name; notes problems in the document."""
    notes = document.content.get("notes", {})
    if not isinstance(notes, dict):
        document.note_problem(("notes",), "is not a table", 'Write [notes] and below it lines as switch = "...".')
        return {}
    for name, text in notes.items():
        if isinstance(text, dict | list):
            document.note_problem(("notes", name), "is not a text", f'Use a single value: {name} = "...".')
    return {name: str(text) for name, text in notes.items()}
