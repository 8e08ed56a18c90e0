//! The shop: browse, customise, check out; a new visitor is redirected once with a session cookie.

use std::sync::Arc;

use anyhow::Result;
use http::StatusCode;

use super::form::{cookie, Form};
use super::page::{begin, end, fixed_file};
use super::sessions::{Sessions, Visitor};
use crate::backend::client::BackendClient;
use crate::content::{escape, Page};
use crate::front::answer::{file, html, redirect, refusal, with_cookie, Answer};
use crate::front::Request;
use crate::site::Site;

const COOKIE: &str = "shop";
/// Back-end workload number.
const SHOP: u8 = 2;

/// First length and step, in bytes, of the ten sizes of each kind of product image (docs/web-workloads.md, File sets).
const IMAGES: [(&str, u64, u64); 3] = [("small", 3521, 1586), ("large", 6710, 3590), ("extra", 5327, 3911)];

pub struct Shop {
    site: Site,
    sessions: Arc<Sessions>,
    backend: BackendClient,
}

impl Shop {
    pub fn new(site: Site, sessions: Arc<Sessions>, backend: BackendClient) -> Self {
        Shop { site, sessions, backend }
    }

    /// Answers a request below `/shop/`.
    pub async fn answer(&self, script: &str, request: &Request, form: &Form) -> Result<Answer> {
        if let Some(answer) = fixed_file(&self.site, request) {
            return Ok(answer);
        }
        if let Some(path) = script.strip_prefix("images/") {
            return Ok(image_bytes(path)
                .map_or(refusal(StatusCode::NOT_FOUND), |length| file(&request.headers, &request.path, length)));
        }
        let key = cookie(request, COOKIE);
        if script == "index" {
            return self.index(key, request, form);
        }
        let Some(visitor) = self.sessions.find(key) else {
            return Ok(expired_page());
        };
        match script {
            "search" => self.search(&visitor, form).await,
            "browse" => self.browse(&visitor, form).await,
            "browse_productline" => self.product_line(&visitor, form).await,
            "productdetail" => self.product(&visitor, form).await,
            "customize" => self.customize(&visitor, form).await,
            _ => self.check_out(script, key, &visitor, form).await,
        }
    }

    fn index(&self, key: Option<&str>, request: &Request, form: &Form) -> Result<Answer> {
        let region = form.text("region");
        let change = |visitor: &mut Visitor| visitor.region = region.to_owned();
        if self.sessions.change(key, change).is_none() {
            let key = self.sessions.start(Visitor { region: region.to_owned(), ..Visitor::default() });
            let to = format!("{}?{}", request.path, request.query);
            return Ok(with_cookie(redirect(&to), &format!("{COOKIE}={key}; Path=/; HttpOnly")));
        }
        let facts = self.site.page("index");
        let mut page = begin("Shop: welcome", &facts);
        page.put(&format!("<p>Prices in {}</p>\n", escape(region)));
        Ok(end(page, &facts))
    }

    async fn search(&self, visitor: &Visitor, form: &Form) -> Result<Answer> {
        let (segment, keyword) = (form.text("segment"), form.text("keyword"));
        let rows = self.backend.ask(SHOP, 1, &[segment, keyword, &visitor.region]).await?;
        let title = format!("Shop: results for {keyword}");
        let about = format!("{segment} in {}", visitor.region);
        Ok(self.page("search", &title, &about, Some(("small", form.text("near"))), &rows))
    }

    async fn browse(&self, visitor: &Visitor, form: &Form) -> Result<Answer> {
        let kind = form.text("type");
        let rows = self.backend.ask(SHOP, 2, &[kind, &visitor.region]).await?;
        let about = format!("{kind} customers in {}", visitor.region);
        Ok(self.page("browse", "Shop: product lines", &about, None, &rows))
    }

    async fn product_line(&self, visitor: &Visitor, form: &Form) -> Result<Answer> {
        let (line, near) = (form.text("line"), form.text("near"));
        let rows = self.backend.ask(SHOP, 3, &[line, near]).await?;
        let title = format!("Shop: line {}", line.split('-').next().unwrap_or(line));
        let about = format!("prices in {}", visitor.region);
        Ok(self.page("browse_productline", &title, &about, Some(("small", near)), &rows))
    }

    async fn product(&self, visitor: &Visitor, form: &Form) -> Result<Answer> {
        let product = form.text("product");
        let rows = self.backend.ask(SHOP, 4, &[product, &visitor.region]).await?;
        let title = format!("Shop: product {product}");
        let about = format!("price in {}", visitor.region);
        Ok(self.page("productdetail", &title, &about, Some(("large", product)), &rows))
    }

    async fn customize(&self, _: &Visitor, form: &Form) -> Result<Answer> {
        let (product, step) = (form.text("product"), form.text("step"));
        let (name, title, image) = match step {
            "1" => ("customize1", "Shop: components", None),
            "2" => ("customize2", "Shop: warranty and service", None),
            "3" => ("customize3", "Shop: accessories", Some(("extra", product))),
            _ => return Ok(refusal(StatusCode::BAD_REQUEST)),
        };
        let rows = self.backend.ask(SHOP, 5, &[product, step]).await?;
        let about = format!("{product}, option {}", form.text("option"));
        Ok(self.page(name, title, &about, image, &rows))
    }

    async fn check_out(&self, script: &str, key: Option<&str>, visitor: &Visitor, form: &Form) -> Result<Answer> {
        let given = |name: &str| form.text(name).to_owned();
        let (title, about, command, parameter) = match script {
            "cart" => ("Shop: your cart", given("add"), 6, given("add")),
            "login" => ("Shop: log in", given("customer"), 7, given("customer")),
            "shipping" => {
                let about = format!("{}, {}, {}: {}", given("name"), given("street"), given("city"), given("kind"));
                ("Shop: shipping", about, 8, given("kind"))
            }
            "billing" => ("Shop: billing", given("card"), 9, given("card")),
            "confirm" => ("Shop: order confirmed", visitor.user.clone(), 10, visitor.user.clone()),
            _ => return Ok(refusal(StatusCode::NOT_FOUND)),
        };
        self.sessions.change(key, |visitor| match script {
            "cart" => visitor.cart.push(given("add")),
            "login" => visitor.user = given("customer"),
            "confirm" => visitor.cart.clear(),
            _ => {}
        });
        let parameters = match script {
            "cart" => vec![parameter.as_str(), &visitor.region],
            _ => vec![parameter.as_str()],
        };
        let rows = self.backend.ask(SHOP, command, &parameters).await?;
        Ok(self.page(script, title, &about, None, &rows))
    }

    fn page(&self, name: &str, title: &str, about: &str, image: Option<(&str, &str)>, rows: &[Vec<String>]) -> Answer {
        let facts = self.site.page(name);
        let mut page = begin(title, &facts);
        page.put(&format!("<p>{}</p>\n", escape(about)));
        if let Some((kind, product)) = image {
            let path = format!("/shop/images/{kind}/{}.gif", escape(product));
            page.put(&format!("<img class=\"product\" src=\"{path}\" alt=\"\">\n"));
        }
        page.table(rows);
        end(page, &facts)
    }
}

/// Length of a product image: `kind/directory-number.gif`.
pub fn image_bytes(path: &str) -> Option<u64> {
    let (kind, name) = path.split_once('/')?;
    let (directory, number) = name.strip_suffix(".gif")?.split_once('-')?;
    directory.parse::<u64>().ok()?;
    let number: u64 = number.parse().ok().filter(|&number| number < 10)?;
    IMAGES.iter().find(|(held, _, _)| *held == kind).map(|(_, first, step)| first + step * number)
}

/// What a visitor without a session sees. The driver knows it by its comment.
fn expired_page() -> Answer {
    let mut page = Page::new("Shop: session expired", 0);
    page.put("<!--session-expired--><a href=\"/shop/index\">Start again</a>");
    html(page.finish(0))
}
