"""`python -m schema_records`: writes the records of `schemas/` into the package."""

from schema_records.module import MODULES


def main() -> None:
    """Writes all modules."""
    for path, make_text in MODULES.items():
        path.write_text(make_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
