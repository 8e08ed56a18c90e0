//! A site of social events over a SQL database and a store of pictures: seven kinds of things that visitors do. Who is
//! signed in says so in a cookie that any server of the site can read, so that any of several will do.

mod audit;
pub mod geocoder;
mod look;
mod page;
mod parts;
pub mod pictures;
pub mod schema;
mod seat;
mod take_part;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use http::{Method, StatusCode};
use loadstone_schedule::rng::scramble;

use crate::cache::Cache;
use crate::content::{escape, Page};
use crate::front::answer::{file, html, refusal, see_other, with_cookie, Answer};
use crate::front::{Request, Role};
use crate::site::Site;
use crate::sql::application::{failure, Store};
use crate::sql::{Connection, Database, Pool, Row};
use crate::web::form::Form;
use geocoder::Geocoder;
use page::{form_page, home_told, json, listed, paragraphs, small_page, Attendees, Comment, Comments, BETWEEN};
use parts::Parts;
use pictures::{path, Class, Pictures, SMALL_POINTS};
use schema::{Scale, FIRST_ADDED, NOW};
use seat::{seat, ticket, SEAT};
use take_part::{Address, NewEvent, NewPerson};

/// What is kept of the home page, and of each tag's by this and its name.
const HOME: &str = "home";
const TAG: &str = "tag:";
const PATH: &str = "/events/";
/// Characters of texts that visitors give, at most: short ones, and long ones.
const SHORT: usize = 180;
const LONG: usize = 2_500;

/// What the site is made of beside its database.
#[derive(Debug, clap::Args)]
pub struct Services {
    /// Folder of the pictures that visitors add
    #[arg(long, default_value = "pictures")]
    pictures: PathBuf,
    /// Store for the pictures instead, HOST:PORT
    #[arg(long)]
    store: Option<String>,
    /// Geocoder for addresses, HOST:PORT. Default: the site itself
    #[arg(long)]
    geocoder: Option<String>,
    /// Cache of event lists: within, memcached://HOST:PORT or redis://HOST:PORT. Default: none
    #[arg(long)]
    cache: Option<String>,
}

/// The site, over a database.
pub struct Events {
    store: Store,
    site: Site,
    pictures: Pictures,
    geocoder: Geocoder,
    cache: Cache,
    salt: u64,
    next: AtomicU64,
}

/// What a visitor asks for that there is no page of.
#[derive(Debug, thiserror::Error)]
#[error("status {0}")]
struct Refused(StatusCode);

fn refused(status: StatusCode) -> anyhow::Error {
    Refused(status).into()
}

impl Events {
    /// Connects to the database, and fills it where it is empty or restores it where it is not.
    pub fn new(database: Database, scale: Scale, services: &Services) -> Result<Self> {
        let pool = Pool::new(database);
        pool.with(|connection| schema::prepare(connection, scale))?;
        let salt = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        Ok(Events {
            store: Store::new(pool),
            site: Site::events()?,
            pictures: Pictures::new(services.pictures.clone(), services.store.as_deref())?,
            geocoder: Geocoder::new(services.geocoder.as_deref()),
            cache: Cache::parse(services.cache.as_deref())?,
            salt,
            next: AtomicU64::new(0),
        })
    }

    /// An id that no other server of this site gives, beyond all that a database is filled with.
    fn id(&self) -> i64 {
        FIRST_ADDED | (scramble(self.salt ^ self.next.fetch_add(1, Ordering::Relaxed)) >> 4) as i64
    }

    async fn perform(&self, mut request: Request) -> Result<Answer> {
        if let Some(&length) = self.site.files.get(&request.path) {
            return Ok(file(&request.headers, &request.path, length));
        }
        if request.path.starts_with(pictures::PATH) && request.method == Method::GET {
            return self.pictures.get(&request.path).await;
        }
        if request.path == "/audit" {
            return json(&self.store.with(audit::audit).await?);
        }
        let Some(place) = request.path.strip_prefix(PATH).map(str::to_owned) else {
            return Ok(refusal(StatusCode::NOT_FOUND));
        };
        let seat = seat(&request);
        match (&request.method, place.as_str()) {
            (&Method::GET, "home") => self.home(seat).await,
            (&Method::POST, "login") => self.log_in(&Form::of(&request)).await,
            (&Method::GET, "logout") => Ok(log_out()),
            (&Method::POST, "search") => Ok(search(&Form::of(&request))),
            (&Method::GET, "tag") => self.tag(&Form::of(&request)).await,
            (&Method::GET, "event") => self.event(id_of(&request)?).await,
            (&Method::GET, "comments") => self.comments(id_of(&request)?).await,
            (&Method::GET, "attendees") => self.attendees(id_of(&request)?, None).await,
            (&Method::POST, "attend") => self.attend(id_of(&request)?, seat).await,
            (&Method::GET, "person") => self.person(id_of(&request)?).await,
            (&Method::GET, "add-person") => Ok(form_page("Events: new person", "Who are you?")),
            (&Method::POST, "add-person") => self.add_person(&mut request).await,
            (&Method::GET, "add-event") => Ok(form_page("Events: new event", "What is on?")),
            (&Method::POST, "add-event") => self.add_event(&mut request, seat).await,
            (&Method::POST, "renew") => self.renew().await,
            _ => Ok(refusal(StatusCode::NOT_FOUND)),
        }
    }

    async fn home(&self, seat: Option<i64>) -> Result<Answer> {
        let kept = self.cache.get(HOME).await;
        let (told, name, own) = match (kept, seat) {
            (Some(told), None) => (told, None, vec![]),
            (kept, _) => self.look_home(seat, kept).await?,
        };
        let (list, cloud) = told.split_once(BETWEEN).unwrap_or((&told, ""));
        let mut page = self.begin("home");
        match name {
            Some(name) => page.put(&format!("<p>Signed in as {}</p>\n", escape(&name))),
            None => page.put("<form action=\"/events/login\" method=\"post\">Your name and password: <input name=\"user\"> <input name=\"password\" type=\"password\"></form>\n"),
        }
        page.put(list);
        page.put("<h2>You are going to</h2>\n");
        for row in &own {
            page.put(&format!("<a href=\"/events/event?id={}\">{}</a>\n", row[0], escape(row[1].text())));
        }
        page.put(cloud);
        Ok(self.finish("home", page))
    }

    /// What the home page tells everybody, unless that was kept; who somebody is and where they go.
    async fn look_home(&self, seat: Option<i64>, kept: Option<String>) -> Result<(String, Option<String>, Vec<Row>)> {
        let is_kept = kept.is_some();
        let work = move |c: &mut dyn Connection| {
            let name = seat.map_or(Ok(None), |person| look::name(c, person))?;
            let coming_up = if is_kept { None } else { Some(look::coming_up(c)?) };
            Ok((name, coming_up, seat.map_or(Ok(vec![]), |person| look::own(c, person))?))
        };
        let (name, coming_up, own) = self.store.with(work).await?;
        let Some(found) = coming_up else { return Ok((kept.unwrap_or_default(), name, own)) };
        let told = home_told(&found);
        self.cache.put(HOME, told.clone()).await;
        Ok((told, name, own))
    }

    async fn log_in(&self, form: &Form) -> Result<Answer> {
        let (name, password) = (form.text("user").to_owned(), form.text("password").to_owned());
        let welcome = format!("Welcome, {}", escape(&name));
        let person = self.store.with(move |c| look::log_in(c, &name, &password)).await?;
        let person = person.ok_or_else(|| refused(StatusCode::FORBIDDEN))?;
        Ok(with_cookie(
            small_page("Events: welcome", &welcome),
            &format!("{SEAT}={}; Path=/; HttpOnly", ticket(person)),
        ))
    }

    async fn tag(&self, form: &Form) -> Result<Answer> {
        let mut page = self.begin("tag_search");
        page.put(&self.tag_told(form.text("name")).await?);
        Ok(self.finish("tag_search", page))
    }

    /// What the page of a tag tells.
    async fn tag_told(&self, name: &str) -> Result<String> {
        let kept_as = kept_as(name);
        if let Some(kept_as) = &kept_as {
            if let Some(told) = self.cache.get(kept_as).await {
                return Ok(told);
            }
        }
        let heading = format!("Tagged {}:", escape(name));
        let name = name.to_owned();
        let found = self.store.with(move |c| look::tagged(c, &name)).await?;
        let (events, count) = found.ok_or_else(|| refused(StatusCode::NOT_FOUND))?;
        let told = format!("<h1>{heading} {count} events</h1>\n{}", listed(&events));
        if let Some(kept_as) = &kept_as {
            self.cache.put(kept_as, told.clone()).await;
        }
        Ok(told)
    }

    async fn event(&self, id: i64) -> Result<Answer> {
        let found = self.store.with(move |c| look::event(c, id)).await?;
        let (row, tags) = found.ok_or_else(|| refused(StatusCode::NOT_FOUND))?;
        let mut page = self.begin("event_detail");
        page.put(&format!("<h1>Event {id}: {}</h1>\n", escape(row[0].text())));
        page.put(&format!("<img class=\"of\" src=\"{}\" alt=\"\">\n", path(Class::Event, id)));
        page.put(&format!("<p>By <a href=\"/events/person?id={}\">{}</a></p>\n", row[5], escape(row[6].text())));
        page.put(&format!("<a href=\"{}\">More about it</a>\n", path(Class::Literature, id)));
        paragraphs(&mut page, &[&row[1..5], &row[7..]].concat());
        for tag in &tags {
            page.put(&format!("<a href=\"/events/tag?name={0}\">{0}</a>\n", escape(tag[0].text())));
        }
        Ok(self.finish("event_detail", page))
    }

    async fn comments(&self, event: i64) -> Result<Answer> {
        let rows = self.store.with(move |c| look::comments(c, event)).await?;
        let comments =
            rows.iter().map(|row| Comment { by: row[0].text(), rating: row[1].int(), words: row[2].text() }).collect();
        json(&Comments { event, comments })
    }

    async fn attendees(&self, event: i64, you: Option<&str>) -> Result<Answer> {
        let rows = self.store.with(move |c| look::attendees(c, event)).await?;
        json(&Attendees { event, you, attendees: rows.iter().map(|row| row[0].text()).collect() })
    }

    async fn attend(&self, event: i64, seat: Option<i64>) -> Result<Answer> {
        let person = seat.ok_or_else(|| refused(StatusCode::FORBIDDEN))?;
        let work = move |c: &mut dyn Connection| Ok((look::name(c, person)?, take_part::attend(c, event, person)?));
        let (name, is_there) = self.store.with(work).await?;
        if !is_there {
            return Err(refused(StatusCode::NOT_FOUND));
        }
        self.attendees(event, name.as_deref()).await
    }

    async fn person(&self, id: i64) -> Result<Answer> {
        let found = self.store.with(move |c| look::person(c, id)).await?;
        let found = found.ok_or_else(|| refused(StatusCode::NOT_FOUND))?;
        let mut page = self.begin("person_detail");
        let [name, city] = [&found.person[0], &found.person[5]].map(|value| escape(value.text()));
        page.put(&format!("<h1>{name} of {city}</h1>\n"));
        page.put(&format!("<img class=\"of\" src=\"{}\" alt=\"\">\n", path(Class::PersonThumb, id)));
        for row in &found.friends {
            page.put(&format!(
                "<a href=\"/events/person?id={}\"><img class=\"of\" src=\"{}\" alt=\"{}\"></a>\n",
                row[0],
                path(Class::PersonThumb, row[0].int()),
                escape(row[1].text()),
            ));
        }
        for row in &found.events {
            page.put(&format!("<p>{}: {}</p>\n", row[0], escape(row[1].text())));
        }
        page.put(&format!("<p>{} invitations wait.</p>\n", found.waiting));
        paragraphs(&mut page, &found.person[1..]);
        Ok(self.finish("person_detail", page))
    }

    async fn add_person(&self, request: &mut Request) -> Result<Answer> {
        let parts = Parts::of(request).await.map_err(|_| refused(StatusCode::BAD_REQUEST))?;
        let (name, password) = (parts.text("name", SHORT), parts.text("password", SHORT));
        if name.is_empty() || password.is_empty() {
            return Err(refused(StatusCode::BAD_REQUEST));
        }
        let id = self.id();
        self.keep_picture(&parts, (Class::Person, Class::PersonThumb), id).await?;
        let new = NewPerson {
            id,
            name,
            password,
            email: parts.text("email", SHORT),
            phone: parts.text("phone", SHORT),
            summary: parts.text("summary", LONG),
            address: self.address(&parts).await?,
        };
        self.store.with(move |c| take_part::add_person(c, &new)).await?;
        Ok(see_other(&format!("/events/person?id={id}")))
    }

    async fn add_event(&self, request: &mut Request, seat: Option<i64>) -> Result<Answer> {
        let submitter = seat.ok_or_else(|| refused(StatusCode::FORBIDDEN))?;
        let parts = Parts::of(request).await.map_err(|_| refused(StatusCode::BAD_REQUEST))?;
        let title = parts.text("title", SHORT);
        if title.is_empty() {
            return Err(refused(StatusCode::BAD_REQUEST));
        }
        let id = self.id();
        self.keep_picture(&parts, (Class::Event, Class::EventThumb), id).await?;
        if let Some(paper) = parts.file("literature") {
            self.pictures.put(Class::Literature, id, paper).await?;
        }
        let new = NewEvent {
            id,
            title,
            summary: parts.text("summary", LONG),
            description: parts.text("description", LONG),
            phone: parts.text("phone", SHORT),
            submitter,
            held: NOW + 1440 + (id >> 8) % 700_000,
            created: NOW,
            tags: parts.text("tags", SHORT).split_whitespace().map(str::to_owned).collect(),
            address: self.address(&parts).await?,
        };
        let stale = new.tags.iter().filter_map(|tag| kept_as(tag)).chain([HOME.to_owned()]).collect();
        self.store.with(move |c| take_part::add_event(c, &new)).await?;
        self.cache.forget(stale).await;
        Ok(see_other(&format!("/events/event?id={id}")))
    }

    /// Forgets all answers that are kept: the database was restored.
    async fn renew(&self) -> Result<Answer> {
        if !self.cache.empty().await {
            return Err(refused(StatusCode::SERVICE_UNAVAILABLE));
        }
        Ok(small_page("Events: renewed", "Nothing is kept"))
    }

    /// Keeps a picture that was sent, and a small one of it.
    async fn keep_picture(&self, parts: &Parts, (whole, small): (Class, Class), id: i64) -> Result<()> {
        let picture = parts.file("picture").ok_or_else(|| refused(StatusCode::BAD_REQUEST))?;
        let seen = picture.clone();
        let (width, height) = SMALL_POINTS;
        let made = move || loadstone_picture::thumbnail(&seen, usize::from(width), usize::from(height));
        let thumbnail = tokio::task::spawn_blocking(made).await.context("a picture could not be made small")?;
        let thumbnail = thumbnail.map_err(|_| refused(StatusCode::UNSUPPORTED_MEDIA_TYPE))?;
        self.pictures.put(whole, id, picture).await?;
        self.pictures.put(small, id, thumbnail.into()).await
    }

    async fn address(&self, parts: &Parts) -> Result<Address> {
        let [street, city, state, zip, country] =
            ["street", "city", "state", "zip", "country"].map(|name| parts.text(name, SHORT));
        let place = self.geocoder.find(&street, &city, &zip).await?;
        Ok(Address { street, city, state, zip, country, place })
    }

    fn begin(&self, operation: &str) -> Page {
        let of = operation.split('_').next().unwrap_or(operation);
        Page::new(&format!("Events: {of}"), self.site.page(operation).bytes)
    }

    /// A page as long as the workload declares it, longer where it tells more.
    fn finish(&self, operation: &str, mut page: Page) -> Answer {
        let facts = self.site.page(operation);
        for link in &facts.links {
            page.put(&format!("<img src=\"{link}\" alt=\"\">\n"));
        }
        html(page.finish(facts.bytes))
    }
}

/// The name that what a tag's page tells is kept by; none of what is no tag's name.
fn kept_as(tag: &str) -> Option<String> {
    let is_plain = (1..=100).contains(&tag.len()) && tag.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| format!("{TAG}{tag}"))
}

fn log_out() -> Answer {
    with_cookie(small_page("Events: good-bye", "Signed out"), &format!("{SEAT}=; Path=/; Max-Age=0"))
}

fn search(form: &Form) -> Answer {
    let name = percent_encoding::utf8_percent_encode(form.text("tag"), percent_encoding::NON_ALPHANUMERIC);
    see_other(&format!("/events/tag?name={name}"))
}

fn id_of(request: &Request) -> Result<i64> {
    Form::of(request).number("id").ok_or_else(|| refused(StatusCode::BAD_REQUEST))
}

impl Role for Events {
    const MOST_BODY_BYTES: usize = pictures::MOST_BYTES;

    async fn answer(&self, request: Request) -> Answer {
        let path = request.path.clone();
        self.perform(request).await.unwrap_or_else(|error| {
            if let Some(Refused(status)) = error.downcast_ref() {
                return refusal(*status);
            }
            failure("events", &path, &error)
        })
    }
}
