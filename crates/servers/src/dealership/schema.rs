//! Tables of the dealership and what stands in them at the beginning, scaled by the injection rate.
//!
//! Five domains: dealers and their stock, customers' orders, the works, suppliers, and what the company holds of all of
//! them. Amounts are whole cents; all numbers fit SQLite and PostgreSQL alike.

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
     lines BIGINT NOT NULL, total BIGINT NOT NULL)",
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
    let vehicles = VEHICLES_PER_RATE * rate;
    for id in 1..=CUSTOMERS_PER_RATE * rate {
        let values = [id.into(), format!("Dealer {id}").as_str().into(), CREDIT.into()];
        c.run("INSERT INTO customers (id, name, credit, ordered) VALUES ($1, $2, $3, 0)", &values)?;
        let values = [id.into(), (1 + id % vehicles).into()];
        c.run("INSERT INTO inventory (customer, vehicle, quantity) VALUES ($1, $2, 100)", &values)?;
    }
    for id in 1..=SUPPLIERS {
        let values = [id.into(), format!("Supplier {id}").as_str().into()];
        c.run("INSERT INTO suppliers (id, name) VALUES ($1, $2)", &values)?;
    }
    for id in 1..=vehicles {
        let name = format!("Model {:02}-{id}", id % 40);
        let values = [id.into(), name.as_str().into(), price_of(id).into(), VEHICLE_STOCK.into()];
        c.run("INSERT INTO vehicles (id, name, price, stock) VALUES ($1, $2, $3, $4)", &values)?;
        for part in parts_of(id) {
            let values = [part.into(), format!("Part {part}").as_str().into(), (1 + part % SUPPLIERS).into()];
            let sql = "INSERT INTO parts (id, name, supplier, stock, coming, used) VALUES ($1, $2, $3, $4, 0, 0)";
            c.run(sql, &[&values[..], &[PART_STOCK.into()]].concat())?;
            let values: [Value; 3] = [id.into(), part.into(), (1 + part % 3).into()];
            c.run("INSERT INTO assemblies (vehicle, part, quantity) VALUES ($1, $2, $3)", &values)?;
        }
    }
    for number in 1..=BACKLOG_PER_RATE * rate {
        let (id, vehicle) = (format!("backlog-{number:06}"), 1 + number % vehicles);
        let order = [id.as_str().into(), (1 + number % (CUSTOMERS_PER_RATE * rate)).into(), 0.into()];
        let sql =
            "INSERT INTO orders (id, customer, size, state, lines, total) VALUES ($1, $2, 'large', 'open', 1, $3)";
        c.run(sql, &order)?;
        let line = [id.as_str().into(), vehicle.into()];
        let sql = "INSERT INTO order_lines (order_id, line, vehicle, quantity, price, state) \
                   VALUES ($1, 1, $2, 10, 0, 'waiting')";
        c.run(sql, &line)?;
    }
    Ok(())
}

/// Price of a vehicle in cents.
pub fn price_of(vehicle: i64) -> i64 {
    1_000_000 + vehicle * 7_919 % 4_000_000
}

/// Parts of a vehicle: each kind of vehicle has its own.
fn parts_of(vehicle: i64) -> impl Iterator<Item = i64> {
    (1..=PARTS_PER_VEHICLE).map(move |number| (vehicle - 1) * PARTS_PER_VEHICLE + number)
}
