//! What the works do: build vehicles from parts by work orders, of planned lines and of large orders, and order parts
//! that run short. Suppliers deliver later.

use super::schema::{REORDER_BELOW, REORDER_QUANTITY};
use super::trade::receive;
use crate::sql::{transact, Access, Connection, Fate, Row, SqlError, Value};

/// Parts ordered of a supplier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsOrder {
    pub id: String,
    pub supplier: i64,
    pub part: i64,
    pub quantity: i64,
}

/// A work order that was done.
pub struct Built {
    pub vehicle: i64,
    pub quantity: i64,
    /// The large order it was for; empty for a planned one.
    pub origin: String,
    pub orders: Vec<PartsOrder>,
}

/// Builds vehicles as planned.
pub fn planned(connection: &mut dyn Connection, id: &str, vehicle: i64, quantity: i64) -> Result<Built, SqlError> {
    schedule(connection, id, vehicle, quantity, "")?;
    complete(connection, id)
}

/// Builds what the oldest waiting line of a large order asks for; as planned when none waits.
pub fn large(connection: &mut dyn Connection, id: &str, vehicle: i64, quantity: i64) -> Result<Built, SqlError> {
    let taken = transact(connection, Access::Write, |c| {
        let sql = "SELECT order_id, line, vehicle, quantity FROM order_lines WHERE state = 'waiting' \
                   ORDER BY order_id, line LIMIT 1";
        let found = c.run(sql, &[])?;
        let Some(row) = found.first() else { return Ok((None, Fate::RolledBack)) };
        let sql = "UPDATE order_lines SET state = 'building' WHERE order_id = $1 AND line = $2 AND state = 'waiting'";
        if c.run(sql, &row[..2])? != [[Value::Int(1)]] {
            return Err(SqlError::Conflict("another line took it".into()));
        }
        Ok((Some(row.clone()), Fate::Kept))
    })?;
    let Some(line) = taken else { return planned(connection, id, vehicle, quantity) };
    let origin = format!("{}/{}", line[0].text(), line[1].int());
    schedule(connection, id, line[2].int(), line[3].int(), &origin)?;
    complete(connection, id)
}

fn schedule(c: &mut dyn Connection, id: &str, vehicle: i64, quantity: i64, origin: &str) -> Result<(), SqlError> {
    let sql = "INSERT INTO work_orders (id, vehicle, quantity, origin, state) VALUES ($1, $2, $3, $4, 'scheduled')";
    transact(c, Access::Write, |c| {
        c.run(sql, &[id.into(), vehicle.into(), quantity.into(), origin.into()])?;
        Ok(((), Fate::Kept))
    })
}

/// Takes the parts, builds, and hands over: to the stock, or to the dealer who waits for it.
fn complete(connection: &mut dyn Connection, id: &str) -> Result<Built, SqlError> {
    transact(connection, Access::Write, |c| {
        let sql = "SELECT vehicle, quantity, origin FROM work_orders WHERE id = $1 AND state = 'scheduled'";
        let found = c.run(sql, &[id.into()])?;
        let row = found.first().ok_or_else(|| SqlError::Other(format!("no work order {id} is scheduled")))?;
        let built = (row[0].int(), row[1].int(), row[2].text().to_owned());
        let (vehicle, quantity, origin) = built;
        let sql = "SELECT part, quantity FROM assemblies WHERE vehicle = $1 ORDER BY part";
        let mut orders = Vec::new();
        for part in c.run(sql, &[vehicle.into()])? {
            orders.extend(take_part(c, id, &part, quantity)?);
        }
        c.run("UPDATE vehicles SET stock = stock + $1 WHERE id = $2", &[quantity.into(), vehicle.into()])?;
        if let Some((order, line)) = origin.rsplit_once('/') {
            hand_over(c, order, line.parse().unwrap_or(0), vehicle, quantity)?;
        }
        c.run("UPDATE work_orders SET state = 'completed' WHERE id = $1", &[id.into()])?;
        Ok((Built { vehicle, quantity, origin, orders }, Fate::Kept))
    })
}

/// Takes a part for so many vehicles; the order for more where it runs short and none is on its way.
fn take_part(c: &mut dyn Connection, id: &str, part: &Row, vehicles: i64) -> Result<Option<PartsOrder>, SqlError> {
    let (part, quantity) = (part[0].int(), part[1].int() * vehicles);
    let sql = "UPDATE parts SET stock = stock - $1, used = used + $2 WHERE id = $3";
    c.run(sql, &[quantity.into(), quantity.into(), part.into()])?;
    let sql = "UPDATE parts SET coming = coming + $1 WHERE id = $2 AND stock + coming < $3";
    let changed = c.run(sql, &[REORDER_QUANTITY.into(), part.into(), REORDER_BELOW.into()])?;
    if changed != [[Value::Int(1)]] {
        return Ok(None);
    }
    let supplier = c.run("SELECT supplier FROM parts WHERE id = $1", &[part.into()])?[0][0].int();
    let order = PartsOrder { id: format!("{id}-{part}"), supplier, part, quantity: REORDER_QUANTITY };
    let sql = "INSERT INTO purchase_orders (id, supplier, part, quantity, state) VALUES ($1, $2, $3, $4, 'sent')";
    let values = [order.id.as_str().into(), supplier.into(), part.into(), order.quantity.into()];
    c.run(sql, &values)?;
    Ok(Some(order))
}

fn hand_over(c: &mut dyn Connection, order: &str, line: i64, vehicle: i64, quantity: i64) -> Result<(), SqlError> {
    c.run("UPDATE vehicles SET stock = stock - $1 WHERE id = $2", &[quantity.into(), vehicle.into()])?;
    let sql = "UPDATE order_lines SET state = 'delivered' WHERE order_id = $1 AND line = $2";
    c.run(sql, &[order.into(), line.into()])?;
    let sql = "UPDATE orders SET state = 'filled' WHERE id = $1 AND NOT EXISTS \
               (SELECT 1 FROM order_lines l WHERE l.order_id = orders.id AND l.state <> 'delivered')";
    c.run(sql, &[order.into()])?;
    let customer = c.run("SELECT customer FROM orders WHERE id = $1", &[order.into()])?[0][0].int();
    receive(c, customer, vehicle, quantity)
}

/// Takes in a delivery; one that has come before changes nothing.
pub fn deliver(connection: &mut dyn Connection, id: &str) -> Result<bool, SqlError> {
    transact(connection, Access::Write, |c| {
        let sql = "UPDATE purchase_orders SET state = 'delivered' WHERE id = $1 AND state = 'sent'";
        if c.run(sql, &[id.into()])? != [[Value::Int(1)]] {
            return Ok((false, Fate::RolledBack));
        }
        let row = c.run("SELECT part, quantity FROM purchase_orders WHERE id = $1", &[id.into()])?.remove(0);
        let sql = "UPDATE parts SET stock = stock + $1, coming = coming - $2 WHERE id = $3";
        c.run(sql, &[row[1].clone(), row[1].clone(), row[0].clone()])?;
        Ok((true, Fate::Kept))
    })
}
