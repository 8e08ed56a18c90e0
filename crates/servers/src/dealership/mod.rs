//! The application server of a company that makes vehicles and sells them to dealers: dealer, customer, manufacturing,
//! supplier and corporate domain over one SQL schema. Dealers and production lines come over HTTP.

mod audit;
pub mod schema;
pub mod supplier;
mod trade;
mod works;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::OnceLock;

use anyhow::Result;
use bytes::Bytes;
use http::{Method, StatusCode};

use crate::content::{escape, Page};
use crate::front::answer::{html, refusal, text, Answer};
use crate::front::{Request, Role};
use crate::sql::application::{failure, Store};
use crate::sql::{Connection, Database, Pool, Row};
use crate::web::form::Form;
use supplier::{attribute, Post};
use trade::{Purchase, Purchased};
use works::Built;

/// Length of every page: a screen of a plain business application.
const PAGE_BYTES: usize = 8 * 1024;
/// Most lines of an order, and most vehicles of a line or a work order.
const MOST_LINES: usize = 20;
const MOST_VEHICLES: i64 = 1_000;

/// The dealers' and the works' application, over a database.
pub struct Dealership {
    store: Store,
    post: Post,
    /// Where the company itself and its suppliers answer, known once it listens.
    host: OnceLock<String>,
}

impl Dealership {
    /// Connects to the database and fills it for an injection rate, where it is empty.
    pub fn new(database: Database, rate: i64) -> Result<Self> {
        let pool = Pool::new(database);
        pool.with(|connection| schema::prepare(connection, rate))?;
        Ok(Dealership { store: Store::new(pool), post: Post::default(), host: OnceLock::new() })
    }

    /// Tells where the server listens, so that suppliers can be written to.
    pub fn listens_at(&self, address: SocketAddr) {
        let host = if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
        let _ = self.host.set(SocketAddr::new(host, address.port()).to_string());
    }

    async fn perform(&self, request: &Request) -> Result<Answer> {
        let form = Form::of(request);
        match (&request.method, request.path.as_str()) {
            (&Method::GET, "/dealer/browse") => self.browse(&form).await,
            (&Method::POST, "/dealer/purchase") => self.purchase(&form).await,
            (&Method::POST, "/dealer/manage") => self.manage(&form).await,
            (&Method::POST, "/works/planned") => self.build(&form, false).await,
            (&Method::POST, "/works/large") => self.build(&form, true).await,
            (&Method::POST, supplier::ORDERS) => Ok(self.supply(&request.body)),
            (&Method::POST, supplier::DELIVERIES) => self.take_in(&request.body).await,
            (&Method::GET, "/audit") => self.audit().await,
            _ => Ok(refusal(StatusCode::NOT_FOUND)),
        }
    }

    async fn browse(&self, form: &Form) -> Result<Answer> {
        let Some(from) = form.number("from") else { return Ok(refusal(StatusCode::BAD_REQUEST)) };
        let rows = self.store.with(move |connection| trade::browse(connection, from)).await?;
        Ok(page("Dealership: catalogue", &format!("{} vehicles from {from}", rows.len()), &rows))
    }

    async fn purchase(&self, form: &Form) -> Result<Answer> {
        let id = form.text("id").to_owned();
        let (customer, quantity) = (form.number("customer"), form.number("quantity"));
        let vehicles: Option<Vec<i64>> = form.text("vehicles").split(',').map(|one| one.trim().parse().ok()).collect();
        let (Some(customer), Some(quantity), Some(vehicles)) = (customer, quantity, vehicles) else {
            return Ok(refusal(StatusCode::BAD_REQUEST));
        };
        if id.is_empty() || vehicles.len() > MOST_LINES || !(1..=MOST_VEHICLES).contains(&quantity) {
            return Ok(refusal(StatusCode::BAD_REQUEST));
        }
        let (is_large, changes_mind) = (form.text("size") == "large", form.text("then") == "rollback");
        let work = move |connection: &mut dyn Connection| {
            let order = Purchase { id: &id, customer, vehicles: &vehicles, quantity, is_large, changes_mind };
            trade::purchase(connection, &order)
        };
        Ok(match self.store.with(work).await? {
            Purchased::Placed { total } => page("Dealership: purchase", &format!("Order placed: {total} cents"), &[]),
            Purchased::RolledBack => page("Dealership: purchase", "Order rolled back", &[]),
            Purchased::NoCredit => page("Dealership: purchase", "Order refused: no credit", &[]),
        })
    }

    async fn manage(&self, form: &Form) -> Result<Answer> {
        let Some(customer) = form.number("customer") else { return Ok(refusal(StatusCode::BAD_REQUEST)) };
        let cancels = form.text("cancel") == "yes";
        let done = self.store.with(move |connection| trade::manage(connection, customer, cancels)).await?;
        let sold = done.sold.map_or("Nothing to sell".to_owned(), |vehicle| format!("Vehicle sold: {vehicle}"));
        let cancelled = done.cancelled.map_or(String::new(), |id| format!("; order cancelled: {id}"));
        Ok(page("Dealership: stock", &format!("{sold}{cancelled}"), &done.stock))
    }

    async fn build(&self, form: &Form, is_large: bool) -> Result<Answer> {
        let id = form.text("id").to_owned();
        let (Some(vehicle), Some(quantity)) = (form.number("vehicle"), form.number("quantity")) else {
            return Ok(refusal(StatusCode::BAD_REQUEST));
        };
        if id.is_empty() || !(1..=MOST_VEHICLES).contains(&quantity) {
            return Ok(refusal(StatusCode::BAD_REQUEST));
        }
        let work = if is_large { works::large } else { works::planned };
        let built = self.store.with(move |connection| work(connection, &id, vehicle, quantity)).await?;
        for order in &built.orders {
            if let Some(host) = self.host.get() {
                self.post.order(host, order).await?;
            }
        }
        let Built { vehicle, quantity, origin, .. } = built;
        let kind = if origin.is_empty() { "planned".to_owned() } else { format!("for {origin}") };
        Ok(page("Dealership: works", &format!("Work order done: {quantity} of {vehicle}, {kind}"), &[]))
    }

    /// A supplier takes an order in; it delivers by itself.
    fn supply(&self, body: &[u8]) -> Answer {
        let document = String::from_utf8_lossy(body);
        let (Some(id), Some(host)) = (attribute(&document, "id"), self.host.get()) else {
            return refusal(StatusCode::BAD_REQUEST);
        };
        tokio::spawn(self.post.clone().deliver_later(host.clone(), id.to_owned()));
        text(StatusCode::ACCEPTED, "text/plain", Bytes::from_static(b"taken in\n"))
    }

    async fn take_in(&self, body: &[u8]) -> Result<Answer> {
        let document = String::from_utf8_lossy(body);
        let Some(id) = attribute(&document, "order").map(str::to_owned) else {
            return Ok(refusal(StatusCode::BAD_REQUEST));
        };
        self.store.with(move |connection| works::deliver(connection, &id)).await?;
        Ok(text(StatusCode::OK, "text/plain", Bytes::from_static(b"taken in\n")))
    }

    async fn audit(&self) -> Result<Answer> {
        let found = self.store.with(audit::audit).await?;
        Ok(text(StatusCode::OK, "application/json", Bytes::from(serde_json::to_vec(&found)?)))
    }
}

impl Role for Dealership {
    async fn answer(&self, request: Request) -> Answer {
        self.perform(&request).await.unwrap_or_else(|error| failure("dealership", &request.path, &error))
    }
}

fn page(title: &str, outcome: &str, rows: &[Row]) -> Answer {
    let mut page = Page::new(title, PAGE_BYTES);
    page.put(&format!("<h1>{}</h1>\n<p>{}</p>\n", escape(title), escape(outcome)));
    page.table(rows);
    html(page.finish(PAGE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{SqlError, Value};

    struct Bench {
        connection: Box<dyn Connection>,
        _folder: tempfile::TempDir,
    }

    fn bench() -> Bench {
        let folder = tempfile::tempdir().expect("a folder");
        let mut connection = Database::File(folder.path().join("a.db")).connect().expect("a database");
        schema::prepare(connection.as_mut(), 1).expect("tables");
        Bench { connection, _folder: folder }
    }

    fn order(id: &str) -> Purchase<'_> {
        Purchase { id, customer: 60, vehicles: &[1, 2], quantity: 5, is_large: false, changes_mind: false }
    }

    #[test]
    fn an_order_is_kept_once_and_one_taken_back_leaves_nothing() {
        let mut bench = bench();
        let c = bench.connection.as_mut();
        let total = 5 * (schema::price_of(1) + schema::price_of(2));
        assert_eq!(trade::purchase(c, &order("a")).expect("placed"), Purchased::Placed { total });
        assert!(matches!(trade::purchase(c, &order("a")), Err(SqlError::Duplicate(_))));
        let undone = Purchase { changes_mind: true, ..order("b") };
        assert_eq!(trade::purchase(c, &undone).expect("rolled back"), Purchased::RolledBack);
        let found = audit::audit(c).expect("an audit");
        let sum = format!("{:016x}", loadstone_schedule::ledger::hash("a"));
        assert_eq!(found.orders, crate::sql::rows::Held { count: 1, sum });
        assert!(found.rules.iter().all(|rule| rule.broken == 0), "{:?}", found.rules);
    }

    #[test]
    fn large_orders_wait_for_the_works_and_can_be_cancelled_before() {
        let mut bench = bench();
        let c = bench.connection.as_mut();
        let large = Purchase { is_large: true, ..order("0-first") };
        trade::purchase(c, &large).expect("placed");
        let built = works::large(c, "w1", 9, 1).expect("built");
        assert_eq!((built.origin.as_str(), built.vehicle, built.quantity), ("0-first/1", 1, 5));
        assert_eq!(trade::manage(c, 60, true).expect("managed").cancelled, None); // begun, and the backlog is another's
        works::large(c, "w2", 9, 1).expect("built");
        let state = c.run("SELECT state FROM orders WHERE id = '0-first'", &[]).expect("rows");
        assert_eq!(state, [[Value::from("filled")]]);
        trade::purchase(c, &Purchase { is_large: true, ..order("0-second") }).expect("placed");
        assert_eq!(trade::manage(c, 60, true).expect("managed").cancelled.as_deref(), Some("0-second"));
        let found = audit::audit(c).expect("an audit");
        assert!(found.rules.iter().all(|rule| rule.broken == 0), "{:?}", found.rules);
    }

    #[test]
    fn parts_that_run_short_are_ordered_once_and_a_delivery_counts_once() {
        let mut bench = bench();
        let c = bench.connection.as_mut();
        let orders: Vec<_> =
            (0..4).flat_map(|n| works::planned(c, &format!("w{n}"), 1, 100).expect("built").orders).collect();
        assert!(!orders.is_empty());
        let twice: Vec<bool> = (0..2).map(|_| works::deliver(c, &orders[0].id).expect("taken in")).collect();
        assert_eq!(twice, [true, false]);
        let found = audit::audit(c).expect("an audit");
        assert_eq!((found.parts_orders, found.deliveries), (orders.len() as i64, 1));
        assert!(found.rules.iter().all(|rule| rule.broken == 0), "{:?}", found.rules);
    }

    #[test]
    fn an_audit_names_the_rule_that_is_broken() {
        let mut bench = bench();
        let c = bench.connection.as_mut();
        trade::purchase(c, &order("a")).expect("placed");
        c.run("DELETE FROM order_lines WHERE order_id = 'a' AND line = 2", &[]).expect("deleted");
        let broken: Vec<_> =
            audit::audit(c).expect("an audit").rules.into_iter().filter(|rule| rule.broken > 0).collect();
        assert_eq!(broken.len(), 2, "{broken:?}");
    }
}
