//! Tables of the dealership and what stands in them at the beginning, scaled by the injection rate.
//!
//! Five domains: dealers and their stock, customers' orders, the works, suppliers, and what the company holds of all of
//! them. Amounts are whole cents; all numbers fit SQLite and PostgreSQL alike.

use crate::sql::rows::insert;
use crate::sql::{transact, Access, Connection, Fate, SqlError, Value};

/// What one unit of injection rate brings (docs/consolidation.md, Data scale).
pub const CUSTOMERS_PER_RATE: i64 = 75;
pub const VEHICLES_PER_RATE: i64 = 50;
/// Large order lines that wait for the works at the beginning, so that those lines never stand still.
pub const BACKLOG_PER_RATE: i64 = 20;
/// Parts in a vehicle, and kinds of part for each kind of vehicle.
pub const PARTS_PER_VEHICLE: i64 = 5;
pub const SUPPLIERS: i64 = 10;
/// A part's stock at the beginning, where it is ordered anew, and how much then.
pub const PART_STOCK: i64 = 1_000;
pub const REORDER_BELOW: i64 = 400;
pub const REORDER_QUANTITY: i64 = 1_000;
/// Vehicles of a kind at the beginning.
pub const VEHICLE_STOCK: i64 = 1_000;
/// What a customer may owe, in cents.
pub const CREDIT: i64 = 100_000_000_000;

const TABLES: [&str; 11] = [
    "CREATE TABLE scale (rate BIGINT PRIMARY KEY)",
    "CREATE TABLE customers (id BIGINT PRIMARY KEY, name TEXT NOT NULL, credit BIGINT NOT NULL, ordered BIGINT NOT NULL)",
    "CREATE TABLE vehicles (id BIGINT PRIMARY KEY, name TEXT NOT NULL, price BIGINT NOT NULL, stock BIGINT NOT NULL)",
    "CREATE TABLE inventory (customer BIGINT NOT NULL, vehicle BIGINT NOT NULL, quantity BIGINT NOT NULL, \
     PRIMARY KEY (customer, vehicle))",
    "CREATE TABLE orders (id TEXT PRIMARY KEY, customer BIGINT NOT NULL, size TEXT NOT NULL, state TEXT NOT NULL, \
     line_count BIGINT NOT NULL, total BIGINT NOT NULL)",
    "CREATE TABLE order_lines (order_id TEXT NOT NULL, line BIGINT NOT NULL, vehicle BIGINT NOT NULL, \
     quantity BIGINT NOT NULL, price BIGINT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (order_id, line))",
    "CREATE TABLE parts (id BIGINT PRIMARY KEY, name TEXT NOT NULL, supplier BIGINT NOT NULL, stock BIGINT NOT NULL, \
     coming BIGINT NOT NULL, used BIGINT NOT NULL)",
    "CREATE TABLE assemblies (vehicle BIGINT NOT NULL, part BIGINT NOT NULL, quantity BIGINT NOT NULL, \
     PRIMARY KEY (vehicle, part))",
    "CREATE TABLE work_orders (id TEXT PRIMARY KEY, vehicle BIGINT NOT NULL, quantity BIGINT NOT NULL, \
     origin TEXT NOT NULL, state TEXT NOT NULL)",
    "CREATE TABLE suppliers (id BIGINT PRIMARY KEY, name TEXT NOT NULL)",
    "CREATE TABLE purchase_orders (id TEXT PRIMARY KEY, supplier BIGINT NOT NULL, part BIGINT NOT NULL, \
     quantity BIGINT NOT NULL, state TEXT NOT NULL)",
];

const INDEXES: [&str; 3] = [
    "CREATE INDEX orders_of_customer ON orders (customer, state)",
    "CREATE INDEX waiting_lines ON order_lines (state)",
    "CREATE INDEX vehicles_by_name ON vehicles (name, id)",
];

/// Makes and fills the tables for an injection rate; a database that is filled already is left as it is.
pub fn prepare(connection: &mut dyn Connection, rate: i64) -> Result<(), SqlError> {
    if held_rate(connection).is_some() {
        return Ok(());
    }
    transact(connection, Access::Write, |c| {
        for statement in TABLES.iter().chain(&INDEXES) {
            c.run(statement, &[])?;
        }
        fill(c, rate)?;
        c.run("INSERT INTO scale (rate) VALUES ($1)", &[rate.into()])?;
        Ok(((), Fate::Kept))
    })
}

/// The injection rate that a database was filled for; none where it has no tables yet.
pub fn held_rate(connection: &mut dyn Connection) -> Option<i64> {
    connection.run("SELECT rate FROM scale", &[]).ok()?.first().map(|row| row[0].int())
}

fn fill(c: &mut dyn Connection, rate: i64) -> Result<(), SqlError> {
    let (customers, vehicles) = (CUSTOMERS_PER_RATE * rate, VEHICLES_PER_RATE * rate);
    let named = |kind: &str, id: i64| Value::Text(format!("{kind} {id}"));
    let rows = (1..=customers).map(|id| vec![id.into(), named("Dealer", id), CREDIT.into(), 0.into()]);
    insert(c, "customers (id, name, credit, ordered)", rows)?;
    let rows = (1..=customers).map(|id| vec![id.into(), (1 + id % vehicles).into(), 100.into()]);
    insert(c, "inventory (customer, vehicle, quantity)", rows)?;
    insert(c, "suppliers (id, name)", (1..=SUPPLIERS).map(|id| vec![id.into(), named("Supplier", id)]))?;
    let vehicle = |id: i64| {
        let name = Value::Text(format!("Model {:02}-{id}", id % 40));
        vec![id.into(), name, price_of(id).into(), VEHICLE_STOCK.into()]
    };
    insert(c, "vehicles (id, name, price, stock)", (1..=vehicles).map(vehicle))?;
    let part = |id: i64| {
        vec![id.into(), named("Part", id), (1 + id % SUPPLIERS).into(), PART_STOCK.into(), 0.into(), 0.into()]
    };
    let parts = 1..=vehicles * PARTS_PER_VEHICLE;
    insert(c, "parts (id, name, supplier, stock, coming, used)", parts.map(part))?;
    let pairs = (1..=vehicles).flat_map(|id| parts_of(id).map(move |part| (id, part)));
    let rows = pairs.map(|(vehicle, part)| vec![vehicle.into(), part.into(), (1 + part % 3).into()]);
    insert(c, "assemblies (vehicle, part, quantity)", rows)?;
    let backlog = 1..=BACKLOG_PER_RATE * rate;
    let id = |number: i64| Value::Text(format!("backlog-{number:06}"));
    let rows = backlog.clone().map(|number| {
        let customer = (1 + number % customers).into();
        vec![id(number), customer, "large".into(), "open".into(), 1.into(), 0.into()]
    });
    insert(c, "orders (id, customer, size, state, line_count, total)", rows)?;
    let rows = backlog.map(|number| {
        vec![id(number), 1.into(), (1 + number % vehicles).into(), 10.into(), 0.into(), "waiting".into()]
    });
    insert(c, "order_lines (order_id, line, vehicle, quantity, price, state)", rows)
}

/// Price of a vehicle in cents.
pub fn price_of(vehicle: i64) -> i64 {
    1_000_000 + vehicle * 7_919 % 4_000_000
}

/// Parts of a vehicle: each kind of vehicle has its own.
fn parts_of(vehicle: i64) -> impl Iterator<Item = i64> {
    (1..=PARTS_PER_VEHICLE).map(move |number| (vehicle - 1) * PARTS_PER_VEHICLE + number)
}
