//! The audit: which orders there are, and whether orders, payments, accounts and shelves agree with each other.

use serde::Serialize;

use super::schema::STOCK;
use crate::sql::rows::{self, held, Held, Rule};
use crate::sql::{transact, Access, Connection, Fate, SqlError};

#[derive(Debug, Serialize)]
pub struct Audit {
    /// Those that were not there at the beginning.
    pub orders: Held,
    pub rules: Vec<Rule>,
}

const RULES: [(&str, &str); 5] = [
    (
        "an order has all its lines",
        "SELECT COUNT(*) FROM orders o WHERE o.line_count <> (SELECT COUNT(*) FROM order_lines l WHERE l.order_id = o.id)",
    ),
    (
        "an order's total is its lines'",
        "SELECT COUNT(*) FROM orders o WHERE o.total <> \
         (SELECT COALESCE(CAST(SUM(l.price * l.quantity) AS BIGINT), 0) FROM order_lines l WHERE l.order_id = o.id)",
    ),
    (
        "an order is paid for",
        "SELECT COUNT(*) FROM orders o LEFT JOIN payments p ON p.order_id = o.id WHERE p.amount IS NULL OR p.amount <> o.total",
    ),
    (
        "a customer spent what new orders cost",
        "SELECT COUNT(*) FROM accounts a WHERE a.spent <> (SELECT COALESCE(CAST(SUM(o.total) AS BIGINT), 0) FROM orders o \
         WHERE o.customer = a.customer AND o.is_new = 1)",
    ),
    (
        "what was sold of an item is what was ordered",
        "SELECT COUNT(*) FROM stock s WHERE s.sold <> \
         (SELECT COALESCE(CAST(SUM(l.quantity) AS BIGINT), 0) FROM order_lines l WHERE l.item = s.item)",
    ),
];

/// Looks at everything in one transaction.
pub fn audit(connection: &mut dyn Connection) -> Result<Audit, SqlError> {
    transact(connection, Access::Read, |c| {
        let shelves = format!("SELECT COUNT(*) FROM stock WHERE quantity <> {STOCK} + restocked - sold");
        let last = ("what is on the shelves is what came less what was sold", shelves.as_str());
        let rules = rows::rules(c, RULES.into_iter().chain([last]))?;
        Ok((Audit { orders: held(c, "SELECT id FROM orders WHERE is_new = 1")?, rules }, Fate::Kept))
    })
}
