"""The answer of an application's audit, by ledger."""

import pytest

from loadstone.run.audit import HeldTotal, Holdings


def test_ledgers_that_topologies_declare_are_read_and_a_missing_one_is_empty() -> None:
    answer = b'{"orders": {"count": 3, "sum": "ff"}, "visits": {"count": 9}, "rules": [{"rule": "stock", "broken": 1}]}'
    holdings = Holdings.read(answer)
    assert holdings.get_total("orders") == HeldTotal(3, "ff")
    assert holdings.get_total("additions") == HeldTotal()
    assert [(rule.rule, rule.broken) for rule in holdings.rules] == [("stock", 1)]


@pytest.mark.parametrize("answer", [b"[]", b"no JSON", b'{"orders": 3}', b'{"rules": {"rule": 1}}'])
def test_an_answer_that_is_no_audit_is_refused(answer: bytes) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Holdings.read(answer)
