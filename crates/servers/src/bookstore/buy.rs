//! What visitors change: carts, customers, orders, items. One transaction each.

use super::schema::{PASSWORD, RESTOCK, RESTOCK_BELOW};
use crate::sql::{transact, Access, Connection, Fate, Row, SqlError, Value};

/// Copies of an item in a cart, and kinds of items, at most.
const MOST_COPIES: i64 = 10;
const MOST_LINES: i64 = 100;

/// Puts an item into a cart, which is made where it is not there yet; its lines: item, title, quantity, price.
pub fn add(connection: &mut dyn Connection, cart: &str, item: i64, quantity: i64) -> Result<Vec<Row>, SqlError> {
    transact(connection, Access::Write, |c| {
        let none = Value::Int(0);
        let sql = "INSERT INTO carts (id, customer) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET id = excluded.id";
        c.run(sql, &[cart.into(), none])?;
        if lines(c, cart)?.len() < MOST_LINES as usize {
            let sql = "INSERT INTO cart_lines (cart, item, quantity) VALUES ($1, $2, $3) \
                       ON CONFLICT (cart, item) DO UPDATE SET quantity = excluded.quantity";
            c.run(sql, &[cart.into(), item.into(), quantity.clamp(1, MOST_COPIES).into()])?;
        }
        Ok((lines(c, cart)?, Fate::Kept))
    })
}

/// A cart's lines in the order of their items, in which all who buy take them from the shelves: two never wait for each
/// other.
fn lines(c: &mut dyn Connection, cart: &str) -> Result<Vec<Row>, SqlError> {
    let sql = "SELECT l.item, i.title, l.quantity, i.price FROM cart_lines l JOIN items i ON i.id = l.item \
               WHERE l.cart = $1 ORDER BY l.item";
    c.run(sql, &[cart.into()])
}

/// Who buys.
pub enum Buyer<'a> {
    Known { name: &'a str, password: &'a str },
    New { id: i64, name: &'a str },
}

/// What is to be bought, by whom and where to.
pub struct Quote {
    pub customer: i64,
    pub address: Row,
    pub lines: Vec<Row>,
}

/// Says who buys what is in a cart; none where the name or the password is wrong.
pub fn quote(connection: &mut dyn Connection, cart: &str, buyer: &Buyer<'_>) -> Result<Option<Quote>, SqlError> {
    transact(connection, Access::Write, |c| {
        let customer = match *buyer {
            Buyer::Known { name, password } => {
                let sql = "SELECT id FROM customers WHERE name = $1 AND password = $2";
                c.run(sql, &[name.into(), password.into()])?.first().map(|row| row[0].int())
            }
            Buyer::New { id, name } => Some(enrol(c, id, name)?),
        };
        let Some(customer) = customer else { return Ok((None, Fate::RolledBack)) };
        c.run("UPDATE carts SET customer = $1 WHERE id = $2", &[customer.into(), cart.into()])?;
        let sql = "SELECT street, city, zip FROM addresses WHERE customer = $1";
        let address = c.run(sql, &[customer.into()])?.into_iter().next().unwrap_or_default();
        Ok((Some(Quote { customer, address, lines: lines(c, cart)? }), Fate::Kept))
    })
}

fn enrol(c: &mut dyn Connection, id: i64, name: &str) -> Result<i64, SqlError> {
    let sql = "INSERT INTO customers (id, name, password) VALUES ($1, $2, $3)";
    c.run(sql, &[id.into(), name.into(), PASSWORD.into()])?;
    let sql = "INSERT INTO addresses (customer, street, city, zip) VALUES ($1, '1 New Street', 'Marsh', '00001')";
    c.run(sql, &[id.into()])?;
    c.run("INSERT INTO accounts (customer, discount, spent) VALUES ($1, 0, 0)", &[id.into()])?;
    Ok(id)
}

/// How a purchase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bought {
    Placed {
        total: i64,
    },
    /// There was nothing in the cart, or nobody had said who buys.
    Nothing,
}

/// Buys what is in a cart: an order with its lines and its payment, the shelves, the account; the cart is empty then.
pub fn buy(connection: &mut dyn Connection, cart: &str, order: &str, placed: i64) -> Result<Bought, SqlError> {
    transact(connection, Access::Write, |c| {
        let sql = "SELECT customer FROM carts WHERE id = $1";
        let customer = c.run(sql, &[cart.into()])?.first().map_or(0, |row| row[0].int());
        let bought = lines(c, cart)?;
        if customer == 0 || bought.is_empty() {
            return Ok((Bought::Nothing, Fate::RolledBack));
        }
        let total = bought.iter().map(|row| row[2].int() * row[3].int()).sum::<i64>();
        let sql = "INSERT INTO orders (id, customer, placed, line_count, total, is_new) VALUES ($1, $2, $3, $4, $5, 1)";
        c.run(sql, &[order.into(), customer.into(), placed.into(), (bought.len() as i64).into(), total.into()])?;
        for (number, row) in bought.iter().enumerate() {
            add_line(c, order, number as i64 + 1, row, placed)?;
        }
        let sql = "INSERT INTO payments (order_id, card, amount) VALUES ($1, '4000', $2)";
        c.run(sql, &[order.into(), total.into()])?;
        c.run("UPDATE accounts SET spent = spent + $1 WHERE customer = $2", &[total.into(), customer.into()])?;
        c.run("DELETE FROM cart_lines WHERE cart = $1", &[cart.into()])?;
        Ok((Bought::Placed { total }, Fate::Kept))
    })
}

fn add_line(c: &mut dyn Connection, order: &str, number: i64, row: &Row, placed: i64) -> Result<(), SqlError> {
    let sql = "INSERT INTO order_lines (order_id, line, item, quantity, price, placed) VALUES ($1, $2, $3, $4, $5, $6)";
    let (item, quantity) = (&row[0], &row[2]);
    c.run(sql, &[order.into(), number.into(), item.clone(), quantity.clone(), row[3].clone(), placed.into()])?;
    let sql = "UPDATE stock SET quantity = quantity - $1, sold = sold + $2 WHERE item = $3";
    c.run(sql, &[quantity.clone(), quantity.clone(), item.clone()])?;
    let sql = "UPDATE stock SET quantity = quantity + $1, restocked = restocked + $2 WHERE item = $3 AND quantity < $4";
    c.run(sql, &[RESTOCK.into(), RESTOCK.into(), item.clone(), RESTOCK_BELOW.into()]).map(drop)
}

/// An administrator's change of an item: its price, and what goes with it. Whether there is such an item.
pub fn change(connection: &mut dyn Connection, item: i64, price: i64, related: Option<i64>) -> Result<bool, SqlError> {
    transact(connection, Access::Write, |c| {
        let sql = "UPDATE items SET price = $1, related = COALESCE($2, related) WHERE id = $3";
        let related = related.map_or(Value::Null, Value::Int);
        let changed = c.run(sql, &[price.into(), related, item.into()])?;
        Ok((changed == [[Value::Int(1)]], Fate::Kept))
    })
}
