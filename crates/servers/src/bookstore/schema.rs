//! Tables of the bookstore and what stands in them at the beginning: three groups of three tables of the same length.
//!
//! Items with authors and stock, customers with addresses and accounts, orders with lines and payments, as the published
//! test had them (docs/applications.md). Amounts are whole cents.

use crate::sql::rows::{insert, DataSet};
use crate::sql::{Connection, Row, SqlError, Value};
use loadstone_schedule::rng::scramble;

/// How much there is at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    pub items: i64,
    pub customers: i64,
    pub orders: i64,
}

/// What an item is about; as many in each.
pub const SUBJECTS: [&str; 24] = [
    "arts",
    "biography",
    "business",
    "children",
    "computers",
    "cooking",
    "crime",
    "drama",
    "gardens",
    "health",
    "history",
    "home",
    "humor",
    "law",
    "letters",
    "music",
    "nature",
    "parenting",
    "poetry",
    "religion",
    "romance",
    "science",
    "sports",
    "travel",
];
/// Of an item at the beginning; below the second so many more come, as in the public descriptions of such shops.
pub const STOCK: i64 = 100;
pub const RESTOCK_BELOW: i64 = 10;
pub const RESTOCK: i64 = 21;
/// Everyone's.
pub const PASSWORD: &str = "books";
/// Items that go with an item.
pub const RELATED: i64 = 5;

const TABLES: [&str; 12] = [
    "CREATE TABLE scale (items BIGINT PRIMARY KEY, customers BIGINT NOT NULL, orders BIGINT NOT NULL)",
    "CREATE TABLE authors (id BIGINT PRIMARY KEY, name TEXT NOT NULL)",
    "CREATE TABLE items (id BIGINT PRIMARY KEY, title TEXT NOT NULL, author BIGINT NOT NULL, subject TEXT NOT NULL, \
     published BIGINT NOT NULL, price BIGINT NOT NULL, related BIGINT NOT NULL)",
    "CREATE TABLE stock (item BIGINT PRIMARY KEY, quantity BIGINT NOT NULL, restocked BIGINT NOT NULL, \
     sold BIGINT NOT NULL)",
    "CREATE TABLE customers (id BIGINT PRIMARY KEY, name TEXT NOT NULL, password TEXT NOT NULL)",
    "CREATE TABLE addresses (customer BIGINT PRIMARY KEY, street TEXT NOT NULL, city TEXT NOT NULL, zip TEXT NOT NULL)",
    "CREATE TABLE accounts (customer BIGINT PRIMARY KEY, discount BIGINT NOT NULL, spent BIGINT NOT NULL)",
    "CREATE TABLE orders (id TEXT PRIMARY KEY, customer BIGINT NOT NULL, placed BIGINT NOT NULL, \
     line_count BIGINT NOT NULL, total BIGINT NOT NULL, is_new BIGINT NOT NULL)",
    "CREATE TABLE order_lines (order_id TEXT NOT NULL, line BIGINT NOT NULL, item BIGINT NOT NULL, \
     quantity BIGINT NOT NULL, price BIGINT NOT NULL, placed BIGINT NOT NULL, PRIMARY KEY (order_id, line))",
    "CREATE TABLE payments (order_id TEXT PRIMARY KEY, card TEXT NOT NULL, amount BIGINT NOT NULL)",
    "CREATE TABLE carts (id TEXT PRIMARY KEY, customer BIGINT NOT NULL)",
    "CREATE TABLE cart_lines (cart TEXT NOT NULL, item BIGINT NOT NULL, quantity BIGINT NOT NULL, PRIMARY KEY (cart, item))",
];

const INDEXES: [&str; 7] = [
    "CREATE INDEX items_of_subject ON items (subject, published)",
    "CREATE INDEX items_of_author ON items (author)",
    "CREATE INDEX customers_by_name ON customers (name)",
    "CREATE INDEX orders_of_customer ON orders (customer, placed)",
    "CREATE INDEX orders_by_time ON orders (placed)",
    "CREATE INDEX lines_by_time ON order_lines (placed)",
    "CREATE INDEX lines_of_item ON order_lines (item)",
];

/// Makes and fills the tables, or restores those that are filled.
pub fn prepare(connection: &mut dyn Connection, scale: Scale) -> Result<(), SqlError> {
    let Scale { items, customers, orders } = scale;
    let data = DataSet {
        scale: [("items", items), ("customers", customers), ("orders", orders)],
        tables: &TABLES,
        indexes: &INDEXES,
        fill: &|c| fill(c, scale),
        restore: &|c| restore(c, scale),
    };
    data.prepare(connection)
}

/// Takes away what was added since the beginning and undoes what was changed.
fn restore(c: &mut dyn Connection, scale: Scale) -> Result<(), SqlError> {
    for (table, key) in [("order_lines", "order_id"), ("payments", "order_id")] {
        let sql = format!("DELETE FROM {table} WHERE {key} IN (SELECT id FROM orders WHERE is_new = 1)");
        c.run(&sql, &[])?;
    }
    for sql in ["DELETE FROM orders WHERE is_new = 1", "DELETE FROM cart_lines", "DELETE FROM carts"] {
        c.run(sql, &[])?;
    }
    for (table, key) in [("customers", "id"), ("addresses", "customer"), ("accounts", "customer")] {
        c.run(&format!("DELETE FROM {table} WHERE {key} > $1"), &[scale.customers.into()])?;
    }
    c.run("UPDATE accounts SET spent = 0 WHERE spent <> 0", &[])?;
    restore_shelves(c, scale)
}

/// Prices, what goes with an item, and stock, where they are not as they were.
fn restore_shelves(c: &mut dyn Connection, scale: Scale) -> Result<(), SqlError> {
    for row in c.run("SELECT id, price, related FROM items", &[])? {
        let was = item(row[0].int(), scale.items);
        if row[1..] != was[5..] {
            let sql = "UPDATE items SET price = $1, related = $2 WHERE id = $3";
            c.run(sql, &[was[5].clone(), was[6].clone(), row[0].clone()])?;
        }
    }
    let sold = sold_before(scale);
    for row in c.run("SELECT item, quantity, sold FROM stock", &[])? {
        let was = sold[row[0].int() as usize];
        if (row[1].int(), row[2].int()) != (STOCK, was) {
            let sql = "UPDATE stock SET quantity = $1, restocked = $2, sold = $3 WHERE item = $4";
            c.run(sql, &[STOCK.into(), was.into(), was.into(), row[0].clone()])?;
        }
    }
    Ok(())
}

fn fill(c: &mut dyn Connection, scale: Scale) -> Result<(), SqlError> {
    let Scale { items, customers, orders } = scale;
    insert(c, "authors (id, name)", (1..=items).map(|id| vec![id.into(), author_name(id).into()]))?;
    let rows = (1..=items).map(|id| item(id, items));
    insert(c, "items (id, title, author, subject, published, price, related)", rows)?;
    let rows = (1..=customers).map(|id| vec![id.into(), customer_name(id).into(), PASSWORD.into()]);
    insert(c, "customers (id, name, password)", rows)?;
    let address =
        |id: i64| vec![id.into(), format!("{} Reed Lane", 1 + id % 97).into(), "Marsh".into(), zip(id).into()];
    insert(c, "addresses (customer, street, city, zip)", (1..=customers).map(address))?;
    let account = |id: i64| vec![id.into(), (id % 51).into(), 0.into()];
    insert(c, "accounts (customer, discount, spent)", (1..=customers).map(account))?;
    let past = |number: i64| Past::new(number, scale);
    let rows = (1..=orders).map(past).map(|one| one.order());
    insert(c, "orders (id, customer, placed, line_count, total, is_new)", rows)?;
    let rows = (1..=orders).map(past).map(|one| one.line());
    insert(c, "order_lines (order_id, line, item, quantity, price, placed)", rows)?;
    let rows = (1..=orders).map(past).map(|one| vec![one.id(), "4000".into(), one.total().into()]);
    insert(c, "payments (order_id, card, amount)", rows)?;
    stock_up(c, scale)
}

/// What was sold before came back: the shelves are full, and the books agree.
fn stock_up(c: &mut dyn Connection, scale: Scale) -> Result<(), SqlError> {
    let sold = sold_before(scale);
    let row = |id: i64| vec![id.into(), STOCK.into(), sold[id as usize].into(), sold[id as usize].into()];
    insert(c, "stock (item, quantity, restocked, sold)", (1..=scale.items).map(row))
}

/// Copies of each item that orders of the past took, by its id.
fn sold_before(scale: Scale) -> Vec<i64> {
    let mut sold = vec![0i64; scale.items as usize + 1];
    for past in (1..=scale.orders).map(|number| Past::new(number, scale)) {
        sold[past.item as usize] += past.quantity;
    }
    sold
}

fn item(id: i64, items: i64) -> Row {
    let subject = SUBJECTS[(id as usize) % SUBJECTS.len()];
    let related = 1 + (draw(id, 3) % items as u64) as i64;
    let published = (draw(id, 4) % 20_000) as i64;
    vec![
        id.into(),
        title(id).into(),
        (1 + (draw(id, 5) % items as u64) as i64).into(),
        subject.into(),
        published.into(),
        price_of(id).into(),
        related.into(),
    ]
}

/// An order from before the beginning: one line.
struct Past {
    number: i64,
    customer: i64,
    item: i64,
    quantity: i64,
}

impl Past {
    fn new(number: i64, scale: Scale) -> Self {
        let within = |purpose, most: i64| 1 + (draw(number, purpose) % most as u64) as i64;
        Past { number, customer: within(6, scale.customers), item: within(7, scale.items), quantity: within(8, 3) }
    }

    fn id(&self) -> Value {
        Value::Text(format!("past-{:09}", self.number))
    }

    fn total(&self) -> i64 {
        self.quantity * price_of(self.item)
    }

    fn order(&self) -> Row {
        vec![self.id(), self.customer.into(), self.number.into(), 1.into(), self.total().into(), 0.into()]
    }

    fn line(&self) -> Row {
        let (quantity, price) = (self.quantity.into(), price_of(self.item).into());
        vec![self.id(), 1.into(), self.item.into(), quantity, price, self.number.into()]
    }
}

/// An item's price at the beginning, in cents.
pub fn price_of(item: i64) -> i64 {
    500 + (draw(item, 2) % 9_500) as i64
}

/// What customers call themselves.
pub fn customer_name(id: i64) -> String {
    format!("reader{id}")
}

/// An item's title: two words that are looked for, and its number.
fn title(id: i64) -> String {
    let word = |purpose| WORDS[(draw(id, purpose) % WORDS.len() as u64) as usize];
    format!("The {} {} {id}", word(0), word(1))
}

fn author_name(id: i64) -> String {
    format!("{} {}", WORDS[(draw(id, 9) % WORDS.len() as u64) as usize], NAMES[(id as usize) % NAMES.len()])
}

fn zip(id: i64) -> String {
    format!("{:05}", draw(id, 10) % 100_000)
}

fn draw(id: i64, purpose: u64) -> u64 {
    scramble(scramble(id as u64) ^ (purpose + 1))
}

/// Words of titles; the workload looks for them.
const WORDS: [&str; 16] = [
    "Amber", "Briar", "Cedar", "Delta", "Ember", "Flint", "Grove", "Harbor", "Ivory", "Juniper", "Lantern", "Meadow",
    "Northern", "Orchard", "Pebble", "Quiet",
];
const NAMES: [&str; 12] =
    ["Abara", "Brandt", "Costa", "Duarte", "Eriksen", "Farkas", "Grau", "Haddad", "Ibarra", "Jansen", "Kovac", "Lind"];
