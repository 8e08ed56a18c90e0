//! What dealers do: purchase vehicles, manage their stock, browse the catalogue. One transaction each.

use crate::sql::{transact, Access, Connection, Fate, Row, SqlError, Value};

/// An order as a dealer sends it.
pub struct Purchase<'a> {
    /// Made by the dealer, never used twice: an order that is sent again is refused.
    pub id: &'a str,
    pub customer: i64,
    pub vehicles: &'a [i64],
    pub quantity: i64,
    pub is_large: bool,
    /// The dealer changes its mind when all is done but the commit: a planned roll-back.
    pub changes_mind: bool,
}

/// How a purchase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purchased {
    Placed { total: i64 },
    RolledBack,
    NoCredit,
}

/// Orders vehicles. Small orders are taken from stock at once; large ones wait for the works, line by line.
pub fn purchase(connection: &mut dyn Connection, order: &Purchase<'_>) -> Result<Purchased, SqlError> {
    transact(connection, Access::Write, |c| {
        let mut total = 0;
        for (number, &vehicle) in order.vehicles.iter().enumerate() {
            total += order.quantity * add_line(c, order, number as i64 + 1, vehicle)?;
        }
        let (size, state) = if order.is_large { ("large", "open") } else { ("regular", "filled") };
        let sql = "INSERT INTO orders (id, customer, size, state, line_count, total) VALUES ($1, $2, $3, $4, $5, $6)";
        let lines = order.vehicles.len() as i64;
        let values = [order.id.into(), order.customer.into(), size.into(), state.into(), lines.into(), total.into()];
        c.run(sql, &values)?;
        let sql = "UPDATE customers SET ordered = ordered + $1 WHERE id = $2 AND ordered + $3 <= credit";
        let changed = c.run(sql, &[total.into(), order.customer.into(), total.into()])?;
        if changed != [[Value::Int(1)]] {
            return Ok((Purchased::NoCredit, Fate::RolledBack));
        }
        if order.changes_mind {
            return Ok((Purchased::RolledBack, Fate::RolledBack));
        }
        Ok((Purchased::Placed { total }, Fate::Kept))
    })
}

/// Adds a line; returns its price a vehicle.
fn add_line(c: &mut dyn Connection, order: &Purchase<'_>, line: i64, vehicle: i64) -> Result<i64, SqlError> {
    let found = c.run("SELECT price FROM vehicles WHERE id = $1", &[vehicle.into()])?;
    let price = found.first().map(|row| row[0].int());
    let price = price.ok_or_else(|| SqlError::Other(format!("there is no vehicle {vehicle}")))?;
    let sql =
        "INSERT INTO order_lines (order_id, line, vehicle, quantity, price, state) VALUES ($1, $2, $3, $4, $5, $6)";
    let state = if order.is_large { "waiting" } else { "delivered" };
    let values = [order.id.into(), line.into(), vehicle.into(), order.quantity.into(), price.into(), state.into()];
    c.run(sql, &values)?;
    if !order.is_large {
        c.run("UPDATE vehicles SET stock = stock - $1 WHERE id = $2", &[order.quantity.into(), vehicle.into()])?;
        receive(c, order.customer, vehicle, order.quantity)?;
    }
    Ok(price)
}

/// Puts vehicles into a dealer's stock.
pub fn receive(c: &mut dyn Connection, customer: i64, vehicle: i64, quantity: i64) -> Result<(), SqlError> {
    let sql = "INSERT INTO inventory (customer, vehicle, quantity) VALUES ($1, $2, $3) \
               ON CONFLICT (customer, vehicle) DO UPDATE SET quantity = inventory.quantity + excluded.quantity";
    c.run(sql, &[customer.into(), vehicle.into(), quantity.into()]).map(drop)
}

/// What managing a stock came to.
pub struct Managed {
    /// Vehicle, name, quantity: what the dealer has, most first.
    pub stock: Vec<Row>,
    pub sold: Option<i64>,
    pub cancelled: Option<String>,
}

/// Shows a dealer's stock, sells one vehicle of what there is most of, and cancels an order the works have not begun.
pub fn manage(connection: &mut dyn Connection, customer: i64, cancels: bool) -> Result<Managed, SqlError> {
    transact(connection, Access::Write, |c| {
        let sql = "SELECT i.vehicle, v.name, i.quantity FROM inventory i JOIN vehicles v ON v.id = i.vehicle \
                   WHERE i.customer = $1 AND i.quantity > 0 ORDER BY i.quantity DESC, i.vehicle LIMIT 10";
        let stock = c.run(sql, &[customer.into()])?;
        let sold = stock.first().map(|row| row[0].int());
        if let Some(vehicle) = sold {
            let sql = "UPDATE inventory SET quantity = quantity - 1 WHERE customer = $1 AND vehicle = $2";
            c.run(sql, &[customer.into(), vehicle.into()])?;
        }
        let cancelled = if cancels { cancel(c, customer)? } else { None };
        Ok((Managed { stock, sold, cancelled }, Fate::Kept))
    })
}

fn cancel(c: &mut dyn Connection, customer: i64) -> Result<Option<String>, SqlError> {
    let sql = "SELECT o.id, o.total FROM orders o WHERE o.customer = $1 AND o.state = 'open' AND NOT EXISTS \
               (SELECT 1 FROM order_lines l WHERE l.order_id = o.id AND l.state <> 'waiting') ORDER BY o.id LIMIT 1";
    let found = c.run(sql, &[customer.into()])?;
    let Some(row) = found.first() else { return Ok(None) };
    let (id, total) = (row[0].text().to_owned(), row[1].int());
    // The works may have begun a line in the meantime: then its rows are no longer as they were.
    let lines = "UPDATE order_lines SET state = 'cancelled' WHERE order_id = $1 AND state = 'waiting'";
    let changed = c.run(lines, &[id.as_str().into()])?[0][0].int();
    let whole = "UPDATE orders SET state = 'cancelled' WHERE id = $1 AND state = 'open' AND line_count = $2";
    if c.run(whole, &[id.as_str().into(), changed.into()])? != [[Value::Int(1)]] {
        return Err(SqlError::Conflict("the works have begun the order".into()));
    }
    c.run("UPDATE customers SET ordered = ordered - $1 WHERE id = $2", &[total.into(), customer.into()])?;
    Ok(Some(id))
}

/// A page of ten of the catalogue from a place on: id, name, price, stock.
pub fn browse(connection: &mut dyn Connection, from: i64) -> Result<Vec<Row>, SqlError> {
    transact(connection, Access::Read, |c| {
        let sql = "SELECT id, name, price, stock FROM vehicles WHERE id >= $1 ORDER BY id LIMIT 10";
        Ok((c.run(sql, &[from.into()])?, Fate::Kept))
    })
}
