//! An on-line bookstore over a SQL database: fourteen pages of visitors who look, search, fill carts and buy, and of an
//! administrator. A visitor's cart is in the database and its key in a cookie, so that any of several servers will do.

mod audit;
mod browse;
mod buy;
pub mod schema;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use bytes::Bytes;
use http::{Method, StatusCode};
use loadstone_schedule::rng::scramble;

use crate::content::{escape, Page};
use crate::front::answer::{file, html, refusal, text, with_cookie, Answer};
use crate::front::{Request, Role};
use crate::site::Site;
use crate::sql::application::{failure, Store};
use crate::sql::{Connection, Database, Pool, Row};
use crate::web::form::{cookie, Form};
use browse::By;
use buy::{Bought, Buyer};
use schema::Scale;

const PATH: &str = "/books/";
const CART: &str = "cart";
/// Promoted beside pages that are of no item.
const SHOWN: i64 = 1;

/// The shop, over a database.
pub struct Bookstore {
    store: Store,
    site: Site,
    salt: u64,
    next: AtomicU64,
}

/// What a page tells: a line, and rows.
struct Told {
    operation: &'static str,
    outcome: String,
    rows: Vec<Row>,
}

impl Told {
    fn new(operation: &'static str, outcome: impl Into<String>, rows: Vec<Row>) -> Self {
        Told { operation, outcome: outcome.into(), rows }
    }
}

/// What a visitor asks for that there is no page of.
#[derive(Debug, thiserror::Error)]
#[error("status {0}")]
struct Refused(StatusCode);

fn bad_request() -> anyhow::Error {
    Refused(StatusCode::BAD_REQUEST).into()
}

impl Bookstore {
    /// Connects to the database and fills it, where it is empty.
    pub fn new(database: Database, scale: Scale) -> Result<Self> {
        let pool = Pool::new(database);
        pool.with(|connection| schema::prepare(connection, scale))?;
        let salt = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        Ok(Bookstore { store: Store::new(pool), site: Site::bookstore()?, salt, next: AtomicU64::new(0) })
    }

    /// A number that no other server of this shop gives.
    fn key(&self) -> u64 {
        scramble(self.salt ^ self.next.fetch_add(1, Ordering::Relaxed))
    }

    async fn perform(&self, request: &Request) -> Result<Answer> {
        if let Some(&length) = self.site.files.get(&request.path) {
            return Ok(file(&request.headers, &request.path, length));
        }
        if request.path == "/audit" {
            let found = self.store.with(audit::audit).await?;
            return Ok(text(StatusCode::OK, "application/json", Bytes::from(serde_json::to_vec(&found)?)));
        }
        let Some(place) = request.path.strip_prefix(PATH) else { return Ok(refusal(StatusCode::NOT_FOUND)) };
        let form = Form::of(request);
        let told = match (&request.method, place) {
            (&Method::GET, "home") => self.home(&form).await?,
            (&Method::GET, "new") => self.newest(&form).await?,
            (&Method::GET, "best") => self.best(&form).await?,
            (&Method::GET, "item") => self.item(&form).await?,
            (&Method::GET, "search") => self.promoting("search_request", "Search by author, title or subject").await?,
            (&Method::GET, "results") => self.results(&form).await?,
            (&Method::POST, "cart") => return self.cart(request, &form).await,
            (&Method::GET, "register") => self.promoting("customer_registration", "Who are you?").await?,
            (&Method::POST, "buy") => self.quote(request, &form).await?,
            (&Method::POST, "confirm") => self.confirm(request, &form).await?,
            (&Method::GET, "orders") => Told::new("order_inquiry", "Your name and password, please", vec![]),
            (&Method::POST, "order") => self.order(&form).await?,
            (&Method::GET, "admin") => self.admin(&form).await?,
            (&Method::POST, "admin") => self.change(&form).await?,
            _ => return Ok(refusal(StatusCode::NOT_FOUND)),
        };
        Ok(self.page(&told))
    }

    async fn home(&self, form: &Form) -> Result<Told> {
        let (customer, item) = (form.number("customer").unwrap_or(0), form.number("item").unwrap_or(SHOWN));
        let work = move |c: &mut dyn Connection| Ok((browse::customer(c, customer)?, browse::promoted(c, item)?));
        let (name, rows) = self.store.with(work).await?;
        let whom = name.map_or("Welcome".to_owned(), |name| format!("Welcome back, {name}"));
        Ok(Told::new("home", whom, rows))
    }

    async fn newest(&self, form: &Form) -> Result<Told> {
        let subject = known_subject(form)?;
        let rows = self.store.with(move |c| browse::newest(c, subject)).await?;
        Ok(Told::new("new_products", format!("New books on {subject}: {}", rows.len()), rows))
    }

    async fn best(&self, form: &Form) -> Result<Told> {
        let subject = known_subject(form)?;
        let rows = self.store.with(move |c| browse::best_sellers(c, subject)).await?;
        Ok(Told::new("best_sellers", format!("Best sellers on {subject}: {}", rows.len()), rows))
    }

    async fn item(&self, form: &Form) -> Result<Told> {
        let id = form.number("id").ok_or_else(bad_request)?;
        let row = self.store.with(move |c| browse::item(c, id)).await?.ok_or(Refused(StatusCode::NOT_FOUND))?;
        Ok(Told::new("product_detail", format!("Book {id}"), vec![row]))
    }

    async fn promoting(&self, operation: &'static str, outcome: &str) -> Result<Told> {
        let rows = self.store.with(|c| browse::promoted(c, SHOWN)).await?;
        Ok(Told::new(operation, outcome, rows))
    }

    async fn results(&self, form: &Form) -> Result<Told> {
        let by = By::parse(form.text("by")).ok_or_else(bad_request)?;
        let words = form.text("words").to_owned();
        let shown = format!("Books by {} {words}", form.text("by"));
        let rows = self.store.with(move |c| browse::search(c, by, &words)).await?;
        Ok(Told::new("search_results", format!("{shown}: {}", rows.len()), rows))
    }

    async fn cart(&self, request: &Request, form: &Form) -> Result<Answer> {
        let (item, quantity) = (form.number("item"), form.number("quantity"));
        let (Some(item), Some(quantity)) = (item, quantity) else { return Err(bad_request()) };
        let known = cookie(request, CART).map(str::to_owned);
        let cart = known.clone().unwrap_or_else(|| format!("{:016x}", self.key()));
        let held = cart.clone();
        let rows = self.store.with(move |c| buy::add(c, &held, item, quantity)).await?;
        let total: i64 = rows.iter().map(|row| row[2].int() * row[3].int()).sum();
        let page = self.page(&Told::new("shopping_cart", format!("In your cart: {total} cents"), rows));
        Ok(if known.is_some() { page } else { with_cookie(page, &format!("{CART}={cart}; Path=/")) })
    }

    async fn quote(&self, request: &Request, form: &Form) -> Result<Told> {
        let cart = cookie(request, CART).unwrap_or_default().to_owned();
        let (name, password) = (form.text("name").to_owned(), form.text("password").to_owned());
        // Beyond all that a database is filled with.
        let id = (1 << 40) | (self.key() >> 8) as i64;
        let is_new = form.text("new") == "yes";
        let work = move |c: &mut dyn Connection| {
            let known = Buyer::Known { name: &name, password: &password };
            let buyer = if is_new { Buyer::New { id, name: &name } } else { known };
            buy::quote(c, &cart, &buyer)
        };
        let quote = self.store.with(work).await?.ok_or(Refused(StatusCode::FORBIDDEN))?;
        let to: Vec<String> = quote.address.iter().map(ToString::to_string).collect();
        let outcome = format!("To be sent to {}, customer {}", to.join(", "), quote.customer);
        Ok(Told::new("buy_request", outcome, quote.lines))
    }

    async fn confirm(&self, request: &Request, form: &Form) -> Result<Told> {
        let cart = cookie(request, CART).unwrap_or_default().to_owned();
        let id = form.text("id").to_owned();
        if id.is_empty() {
            return Err(bad_request());
        }
        let placed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as i64;
        let outcome = match self.store.with(move |c| buy::buy(c, &cart, &id, placed)).await? {
            Bought::Placed { total } => format!("Order placed: {total} cents"),
            Bought::Nothing => "There is nothing to buy".to_owned(),
        };
        Ok(Told::new("buy_confirm", outcome, vec![]))
    }

    async fn order(&self, form: &Form) -> Result<Told> {
        let (name, password) = (form.text("name").to_owned(), form.text("password").to_owned());
        let found = self.store.with(move |c| browse::last_order(c, &name, &password)).await?;
        let (outcome, rows) = match found {
            Some((order, lines)) => (format!("Your last order: {}, {} cents", order[0], order[2]), lines),
            None => ("You have no order".to_owned(), vec![]),
        };
        Ok(Told::new("order_display", outcome, rows))
    }

    async fn admin(&self, form: &Form) -> Result<Told> {
        let id = form.number("id").ok_or_else(bad_request)?;
        let row = self.store.with(move |c| browse::item(c, id)).await?.ok_or(Refused(StatusCode::NOT_FOUND))?;
        Ok(Told::new("admin_request", format!("Change book {id}"), vec![row]))
    }

    async fn change(&self, form: &Form) -> Result<Told> {
        let (Some(id), Some(price)) = (form.number("id"), form.number("price")) else { return Err(bad_request()) };
        let work = move |c: &mut dyn Connection| {
            let rows = browse::bought_together(c, id)?;
            Ok((buy::change(c, id, price, rows.first().map(|row| row[0].int()))?, rows))
        };
        let (is_there, rows) = self.store.with(work).await?;
        if !is_there {
            return Err(Refused(StatusCode::NOT_FOUND).into());
        }
        Ok(Told::new("admin_confirm", format!("Book {id} costs {price} cents"), rows))
    }

    /// A page as long as the workload declares it, longer where it tells more.
    fn page(&self, told: &Told) -> Answer {
        let facts = self.site.page(told.operation);
        let mut page = Page::new(&format!("Bookstore: {}", told.operation.replace('_', " ")), facts.bytes);
        page.put(&format!("<h1>{}</h1>\n", escape(&told.outcome)));
        page.table(&told.rows);
        for link in &facts.links {
            page.put(&format!("<img src=\"{link}\" alt=\"\">\n"));
        }
        html(page.finish(facts.bytes))
    }
}

fn known_subject(form: &Form) -> Result<&'static str> {
    let asked = form.text("subject");
    schema::SUBJECTS.into_iter().find(|one| *one == asked).ok_or_else(bad_request)
}

impl Role for Bookstore {
    async fn answer(&self, request: Request) -> Answer {
        self.perform(&request).await.unwrap_or_else(|error| {
            if let Some(Refused(status)) = error.downcast_ref() {
                return refusal(*status);
            }
            failure("bookstore", &request.path, &error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::SqlError;

    const SCALE: Scale = Scale { items: 100, customers: 50, orders: 500 };

    struct Bench {
        connection: Box<dyn Connection>,
        _folder: tempfile::TempDir,
    }

    fn bench() -> Bench {
        let folder = tempfile::tempdir().expect("a folder");
        let mut connection = Database::File(folder.path().join("a.db")).connect().expect("a database");
        schema::prepare(connection.as_mut(), SCALE).expect("tables");
        Bench { connection, _folder: folder }
    }

    fn broken(c: &mut dyn Connection) -> Vec<&'static str> {
        let rules = audit::audit(c).expect("an audit").rules;
        rules.into_iter().filter(|rule| rule.broken > 0).map(|rule| rule.rule).collect()
    }

    fn known(name: &str) -> Buyer<'_> {
        Buyer::Known { name, password: schema::PASSWORD }
    }

    #[test]
    fn what_is_bought_leaves_the_shelves_once_and_the_books_agree() {
        let mut bench = bench();
        let c = bench.connection.as_mut();
        assert_eq!(broken(c), [""; 0]);
        buy::add(c, "one", 7, 2).expect("added");
        buy::add(c, "one", 3, 1).expect("added");
        let quote = buy::quote(c, "one", &known("reader5")).expect("asked").expect("known");
        assert_eq!((quote.customer, quote.lines.len()), (5, 2));
        let total = 2 * schema::price_of(7) + schema::price_of(3);
        assert_eq!(buy::buy(c, "one", "a", 1_000_000).expect("bought"), Bought::Placed { total });
        assert_eq!(buy::buy(c, "one", "b", 1_000_001).expect("asked"), Bought::Nothing);
        assert_eq!(browse::item(c, 7).expect("asked").expect("there")[4].int(), schema::STOCK - 2);
        let found = audit::audit(c).expect("an audit");
        assert_eq!(found.orders.sum, format!("{:016x}", loadstone_schedule::ledger::hash("a")));
        assert_eq!((found.orders.count, broken(c).len()), (1, 0));
    }

    #[test]
    fn shelves_are_filled_before_they_are_empty() {
        let mut bench = bench();
        let c = bench.connection.as_mut();
        for number in 0..11 {
            let cart = format!("cart {number}");
            buy::add(c, &cart, 7, 10).expect("added");
            buy::quote(c, &cart, &Buyer::New { id: 1000 + number, name: "new" }).expect("asked").expect("enrolled");
            buy::buy(c, &cart, &cart, 1_000_000 + number).expect("bought");
        }
        let left = browse::item(c, 7).expect("asked").expect("there")[4].int();
        assert_eq!(left, schema::STOCK - 110 + schema::RESTOCK);
        assert_eq!(broken(c), [""; 0]);
    }

    #[test]
    fn who_gives_a_wrong_password_buys_nothing_and_an_order_number_counts_once() {
        let mut bench = bench();
        let c = bench.connection.as_mut();
        buy::add(c, "one", 7, 2).expect("added");
        let wrong = Buyer::Known { name: "reader5", password: "wrong" };
        assert!(buy::quote(c, "one", &wrong).expect("asked").is_none());
        assert_eq!(buy::buy(c, "one", "a", 1).expect("asked"), Bought::Nothing);
        buy::quote(c, "one", &known("reader5")).expect("asked");
        buy::buy(c, "one", "a", 1_000_000).expect("bought");
        buy::add(c, "one", 7, 2).expect("added");
        assert!(matches!(buy::buy(c, "one", "a", 1_000_001), Err(SqlError::Duplicate(_))));
        assert_eq!(browse::item(c, 7).expect("asked").expect("there")[4].int(), schema::STOCK - 2);
    }

    #[test]
    fn best_sellers_are_those_of_the_last_orders() {
        let mut bench = bench();
        let c = bench.connection.as_mut();
        for number in 0..9 {
            let cart = format!("cart {number}");
            buy::add(c, &cart, 24, 10).expect("added");
            buy::quote(c, &cart, &known("reader1")).expect("asked");
            buy::buy(c, &cart, &cart, 1_000_000 + number).expect("bought");
        }
        let rows = browse::best_sellers(c, schema::SUBJECTS[0]).expect("asked");
        assert_eq!(rows[0][0].int(), 24);
        assert!(rows[0][3].int() >= 90 && rows[1][3].int() < 90);
    }

    fn all_rows(c: &mut dyn Connection) -> Vec<Row> {
        let tables =
            ["items", "stock", "customers", "addresses", "accounts", "orders", "order_lines", "payments", "carts"];
        let rows =
            tables.iter().map(|table| c.run(&format!("SELECT * FROM {table} ORDER BY 1, 2"), &[]).expect("rows"));
        rows.collect::<Vec<_>>().concat()
    }

    #[test]
    fn data_that_is_restored_is_what_it_was() {
        let mut bench = bench();
        let c = bench.connection.as_mut();
        let before = all_rows(c);
        for number in 0..11 {
            let cart = format!("cart {number}");
            buy::add(c, &cart, 7, 10).expect("added");
            let new = Buyer::New { id: (1 << 40) + number, name: "new" };
            let buyer = if number % 2 == 0 { known("reader5") } else { new };
            buy::quote(c, &cart, &buyer).expect("asked").expect("known");
            buy::buy(c, &cart, &cart, 1_000_000 + number).expect("bought");
        }
        assert!(buy::change(c, 5, 999, Some(7)).expect("changed"));
        buy::add(c, "left", 3, 1).expect("added");
        assert!(all_rows(c) != before);
        schema::prepare(c, SCALE).expect("restored");
        assert!(all_rows(c) == before);
    }

    #[test]
    fn a_lost_line_breaks_three_rules_and_an_interrupted_filling_is_done_anew() {
        let mut bench = bench();
        let c = bench.connection.as_mut();
        c.run("DELETE FROM order_lines WHERE order_id = 'past-000000002'", &[]).expect("deleted");
        assert_eq!(broken(c).len(), 3);
        c.run("DELETE FROM scale", &[]).expect("as if it had not come to its end");
        schema::prepare(c, SCALE).expect("filled anew");
        assert_eq!(broken(c), [""; 0]);
        assert!(schema::prepare(c, Scale { items: 7, ..SCALE }).is_err());
    }

    #[test]
    fn looking_finds_what_is_there() {
        let mut bench = bench();
        let c = bench.connection.as_mut();
        assert_eq!(browse::customer(c, 5).expect("asked").as_deref(), Some("reader5"));
        assert_eq!(browse::newest(c, "arts").expect("asked").len(), 4);
        assert!((1..=SCALE.items).all(|id| browse::item(c, id).expect("asked").is_some()));
        let found = browse::search(c, By::Title, "Amber").expect("asked");
        assert!(found.iter().all(|row| row[1].text().contains("Amber")) && !found.is_empty());
        assert!(browse::last_order(c, "reader5", "books").expect("asked").is_some());
        assert!(browse::last_order(c, "reader5", "wrong").expect("asked").is_none());
        assert!(buy::change(c, 5, 999, Some(7)).expect("changed") && !buy::change(c, 500, 999, None).expect("asked"));
        assert_eq!(browse::item(c, 5).expect("asked").expect("there")[3].int(), 999);
    }
}
