//! The audit: what the database holds, so that a driver's own books prove that no order was lost or doubled, and whether
//! the tables agree with each other.

use serde::Serialize;

use super::schema::PART_STOCK;
use crate::sql::rows::{self, count, held, Held, Rule};
use crate::sql::{transact, Access, Connection, Fate, SqlError};

#[derive(Debug, Serialize)]
pub struct Audit {
    pub orders: Held,
    pub work_orders: Held,
    /// Large order lines that wait for the works.
    pub waiting: i64,
    /// Orders for parts, and how many of them have been delivered.
    pub parts_orders: i64,
    pub deliveries: i64,
    pub rules: Vec<Rule>,
}

const RULES: [(&str, &str); 4] = [
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
        "a dealer owes what it ordered",
        "SELECT COUNT(*) FROM customers c WHERE c.ordered <> (SELECT COALESCE(CAST(SUM(o.total) AS BIGINT), 0) \
         FROM orders o WHERE o.customer = c.id AND o.state <> 'cancelled')",
    ),
    (
        "parts used are those of the work orders done",
        "SELECT COUNT(*) FROM parts p WHERE p.used <> (SELECT COALESCE(CAST(SUM(w.quantity * a.quantity) AS BIGINT), 0) \
         FROM assemblies a JOIN work_orders w ON w.vehicle = a.vehicle AND w.state = 'completed' WHERE a.part = p.id)",
    ),
];

/// Looks at everything in one transaction.
pub fn audit(connection: &mut dyn Connection) -> Result<Audit, SqlError> {
    transact(connection, Access::Read, |c| {
        let stock = format!(
            "SELECT COUNT(*) FROM parts p WHERE p.stock <> {PART_STOCK} - p.used + (SELECT COALESCE(CAST(SUM(o.quantity) \
             AS BIGINT), 0) FROM purchase_orders o WHERE o.part = p.id AND o.state = 'delivered')"
        );
        let last = ("parts in stock are those delivered less those used", stock.as_str());
        let rules = rows::rules(c, RULES.into_iter().chain([last]))?;
        let found = Audit {
            orders: held(c, "SELECT id FROM orders WHERE id NOT LIKE 'backlog-%'")?,
            work_orders: held(c, "SELECT id FROM work_orders WHERE state = 'completed'")?,
            waiting: count(c, "SELECT COUNT(*) FROM order_lines WHERE state = 'waiting'")?,
            parts_orders: count(c, "SELECT COUNT(*) FROM purchase_orders")?,
            deliveries: count(c, "SELECT COUNT(*) FROM purchase_orders WHERE state = 'delivered'")?,
            rules,
        };
        Ok((found, Fate::Kept))
    })
}
