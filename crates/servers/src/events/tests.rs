use super::*;

const SCALE: Scale = Scale { users: 120, tags: 30, events: 90 };

fn bench() -> (Box<dyn Connection>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut connection = Database::File(folder.path().join("a.db")).connect().expect("a database");
    schema::prepare(connection.as_mut(), SCALE).expect("tables");
    (connection, folder)
}

fn broken(c: &mut dyn Connection) -> Vec<&'static str> {
    let rules = audit::audit(c).expect("an audit").rules;
    rules.into_iter().filter(|rule| rule.broken != 0).map(|rule| rule.rule).collect()
}

fn address() -> Address {
    let place = geocoder::Place { latitude: 1, longitude: 2 };
    let [street, city, state, zip, country] = ["a", "b", "c", "d", "e"].map(str::to_owned);
    Address { street, city, state, zip, country, place }
}

fn add(c: &mut dyn Connection, number: i64) {
    let text = |of: &str| format!("{of}{number}");
    let person = NewPerson {
        id: FIRST_ADDED + number,
        name: text("new"),
        password: text("p"),
        email: text("e"),
        phone: text("f"),
        summary: text("s"),
        address: address(),
    };
    take_part::add_person(c, &person).expect("added");
    let event = NewEvent {
        id: FIRST_ADDED + 1_000 + number,
        title: text("Meeting "),
        summary: text("s"),
        description: text("d"),
        phone: text("f"),
        submitter: person.id,
        held: NOW + 5,
        created: NOW,
        tags: ["tag1", "tag2", "tag1", "unknown"].map(str::to_owned).to_vec(),
        address: address(),
    };
    take_part::add_event(c, &event).expect("added");
    assert!(take_part::attend(c, event.id, person.id).expect("asked"));
}

fn all_rows(c: &mut dyn Connection) -> Vec<Row> {
    ["addresses", "people", "friends", "invitations", "tags", "events", "event_tags", "attendees", "comments"]
        .iter()
        .flat_map(|table| c.run(&format!("SELECT * FROM {table} ORDER BY 1, 2"), &[]).expect("rows"))
        .collect()
}

#[test]
fn what_is_added_is_found_and_taken_away_when_the_data_is_restored() {
    let (mut connection, _folder) = bench();
    let c = connection.as_mut();
    assert_eq!(broken(c), [""; 0]);
    let before = all_rows(c);
    add(c, 1);
    assert!(take_part::attend(c, 7, 3).expect("asked") && take_part::attend(c, 7, 3).expect("twice is once"));
    assert!(!take_part::attend(c, 7_000, 3).expect("asked"));
    let found = audit::audit(c).expect("an audit");
    let hash = |text: &str| loadstone_schedule::ledger::hash(text);
    assert_eq!(found.additions.sum, format!("{:016x}", hash("new1").wrapping_add(hash("Meeting 1"))));
    assert_eq!((found.additions.count, broken(c).len()), (2, 0));
    assert_eq!(look::log_in(c, "new1", "p1").expect("asked"), Some(FIRST_ADDED + 1));
    let (events, count) = look::tagged(c, "tag1").expect("asked").expect("there");
    assert!(count >= 1 && events.iter().any(|row| row[1].text() == "Meeting 1"));
    assert!(all_rows(c) != before);
    schema::prepare(c, SCALE).expect("restored");
    assert!(all_rows(c) == before);
}

#[test]
fn the_numbers_of_the_beginning_are_those_of_the_law() {
    let (mut connection, _folder) = bench();
    let c = connection.as_mut();
    let mut mean = |table: &str, of: f64| {
        c.run(&format!("SELECT COUNT(*) FROM {table}"), &[]).expect("a count")[0][0].int() as f64 / of
    };
    let (users, events) = (SCALE.users as f64, SCALE.events as f64);
    // Uniform numbers: standard deviations 7.8 / sqrt(120), 26 / sqrt(90), 6 / sqrt(90), 2 / sqrt(90); four of them.
    assert!((mean("friends", users) - 15.0).abs() < 2.9);
    assert!((mean("invitations", users) - 6.0).abs() < 1.0);
    assert!((mean("attendees", events) - 55.0).abs() < 11.0);
    assert!((mean("comments", events) - 10.0).abs() < 2.6);
    assert!((2.0..4.8).contains(&mean("event_tags", events)), "those drawn twice count once");
}

#[test]
fn a_broken_filling_is_done_anew_and_a_lost_row_is_found() {
    let (mut connection, _folder) = bench();
    let c = connection.as_mut();
    let before = all_rows(c);
    c.run("DELETE FROM people WHERE id = (SELECT submitter FROM events WHERE id = 1)", &[]).expect("deleted");
    assert!(broken(c).contains(&"an event has somebody who submitted it"));
    c.run("DELETE FROM scale", &[]).expect("as if it had not come to its end");
    schema::prepare(c, SCALE).expect("filled anew");
    assert!(all_rows(c) == before);
    assert!(schema::prepare(c, Scale { users: 7, ..SCALE }).is_err());
}

#[test]
fn looking_finds_what_is_there() {
    let (mut connection, _folder) = bench();
    let c = connection.as_mut();
    let home = look::coming_up(c).expect("asked");
    assert_eq!((home.events.len(), home.count, home.tags.len()), (10, SCALE.events, 30));
    assert!(home.events.windows(2).all(|two| two[0][2].int() <= two[1][2].int()));
    assert!(home.tags.windows(2).all(|two| two[0][1].int() >= two[1][1].int()));
    assert_eq!(look::log_in(c, "user5", "5").expect("asked"), Some(5));
    assert_eq!(look::log_in(c, "user5", "6").expect("asked"), None);
    assert!((1..=SCALE.events).all(|id| look::event(c, id).expect("asked").is_some()));
    assert!(look::person(c, 7).expect("asked").expect("there").friends.len() >= 2);
    assert!(look::person(c, 700).expect("asked").is_none() && look::tagged(c, "none").expect("asked").is_none());
}

#[test]
fn a_ticket_is_good_for_its_person_alone() {
    let with = |cookie: &str| {
        let mut headers = http::HeaderMap::new();
        headers.insert(http::header::COOKIE, http::HeaderValue::from_str(cookie).expect("a cookie"));
        let (path, query) = (String::new(), String::new());
        seat(&Request { method: Method::GET, path, query, headers, body: vec![], secure: false })
    };
    let own = ticket(7);
    assert_eq!(with(&format!("seat={own}")), Some(7));
    assert_eq!(with(&format!("seat={}", own.replacen('7', "8", 1))), None);
    assert_eq!([with("seat=7"), with("seat=-"), with("other=1")], [None; 3]);
}
