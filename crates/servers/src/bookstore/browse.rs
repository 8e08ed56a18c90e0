//! What visitors look at: one statement or two each, in a transaction that only reads.

use super::schema::RELATED;
use crate::sql::{Connection, Row, SqlError};

/// Items of a list.
const LISTED: i64 = 50;
/// Orders that best sellers are reckoned from (as in the public descriptions of such shops).
const RECENT: i64 = 3_333;

/// How items are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Author,
    Title,
    Subject,
}

impl By {
    /// Reads `author`, `title` or `subject`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "author" => Some(By::Author),
            "title" => Some(By::Title),
            "subject" => Some(By::Subject),
            _ => None,
        }
    }
}

/// A customer's name; none where there is none of that number.
pub fn customer(c: &mut dyn Connection, id: i64) -> Result<Option<String>, SqlError> {
    let rows = c.run("SELECT name FROM customers WHERE id = $1", &[id.into()])?;
    Ok(rows.first().map(|row| row[0].text().to_owned()))
}

/// Five items that are promoted beside one: id, title, price.
pub fn promoted(c: &mut dyn Connection, item: i64) -> Result<Vec<Row>, SqlError> {
    let sql = "SELECT p.id, p.title, p.price FROM items i JOIN items p ON p.id >= i.related WHERE i.id = $1 \
               ORDER BY p.id LIMIT 5";
    c.run(sql, &[item.into()])
}

/// The newest of a subject: id, title, author.
pub fn newest(c: &mut dyn Connection, subject: &str) -> Result<Vec<Row>, SqlError> {
    let sql = format!(
        "SELECT i.id, i.title, a.name FROM items i JOIN authors a ON a.id = i.author WHERE i.subject = $1 \
         ORDER BY i.published DESC, i.title LIMIT {LISTED}"
    );
    c.run(&sql, &[subject.into()])
}

/// Those of a subject that were sold most lately: id, title, author, how many.
pub fn best_sellers(c: &mut dyn Connection, subject: &str) -> Result<Vec<Row>, SqlError> {
    let sql = format!("SELECT placed FROM orders ORDER BY placed DESC LIMIT 1 OFFSET {}", RECENT - 1);
    let since = c.run(&sql, &[])?.first().map_or(0, |row| row[0].int());
    let sql = format!(
        "SELECT i.id, i.title, a.name, CAST(SUM(l.quantity) AS BIGINT) FROM order_lines l \
         JOIN items i ON i.id = l.item JOIN authors a ON a.id = i.author WHERE l.placed >= $1 AND i.subject = $2 \
         GROUP BY i.id, i.title, a.name ORDER BY 4 DESC, i.id LIMIT {LISTED}"
    );
    c.run(&sql, &[since.into(), subject.into()])
}

/// An item with all that a page of it tells: title, author, subject, price, stock.
pub fn item(c: &mut dyn Connection, id: i64) -> Result<Option<Row>, SqlError> {
    let sql = "SELECT i.title, a.name, i.subject, i.price, s.quantity FROM items i JOIN authors a ON a.id = i.author \
               JOIN stock s ON s.item = i.id WHERE i.id = $1";
    Ok(c.run(sql, &[id.into()])?.into_iter().next())
}

/// What is found: id, title, author.
pub fn search(c: &mut dyn Connection, by: By, words: &str) -> Result<Vec<Row>, SqlError> {
    let (condition, value) = match by {
        By::Author => ("a.name LIKE $1", format!("{words}%")),
        By::Title => ("i.title LIKE $1", format!("%{words}%")),
        By::Subject => ("i.subject = $1", words.to_owned()),
    };
    let sql = format!(
        "SELECT i.id, i.title, a.name FROM items i JOIN authors a ON a.id = i.author WHERE {condition} \
         ORDER BY i.title LIMIT {LISTED}"
    );
    c.run(&sql, &[value.as_str().into()])
}

/// A customer's last order, whose password must be right: id, lines, total; then its lines: title, quantity, price.
pub fn last_order(c: &mut dyn Connection, name: &str, password: &str) -> Result<Option<(Row, Vec<Row>)>, SqlError> {
    let sql = "SELECT o.id, o.line_count, o.total FROM customers c JOIN orders o ON o.customer = c.id \
               WHERE c.name = $1 AND c.password = $2 ORDER BY o.placed DESC LIMIT 1";
    let Some(order) = c.run(sql, &[name.into(), password.into()])?.into_iter().next() else { return Ok(None) };
    let sql = "SELECT i.title, l.quantity, l.price FROM order_lines l JOIN items i ON i.id = l.item \
               WHERE l.order_id = $1 ORDER BY l.line";
    let lines = c.run(sql, &order[..1])?;
    Ok(Some((order, lines)))
}

/// Items that those bought who bought an item: what an administrator puts beside it.
pub fn bought_together(c: &mut dyn Connection, item: i64) -> Result<Vec<Row>, SqlError> {
    let sql = format!(
        "SELECT o.item, CAST(SUM(o.quantity) AS BIGINT) FROM order_lines l JOIN orders h ON h.id = l.order_id \
         JOIN orders t ON t.customer = h.customer JOIN order_lines o ON o.order_id = t.id \
         WHERE l.item = $1 AND o.item <> $2 GROUP BY o.item ORDER BY 2 DESC, o.item LIMIT {RELATED}"
    );
    c.run(&sql, &[item.into(), item.into()])
}
