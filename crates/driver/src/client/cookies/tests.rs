use cookie_store::CookieStore;
use proptest::prelude::*;
use url::Url;

use super::*;

fn origin(host: &'static str, path: &'static str) -> Origin<'static> {
    Origin { host, path, is_secure: false }
}

/// The value of the field `Cookie` of a request to this address; nothing where there is none.
fn sent(jar: &Jar, address: &str) -> String {
    sent_with(jar, address, "")
}

fn sent_with(jar: &Jar, address: &str, declared: &str) -> String {
    let url = Url::parse(address).expect("an address");
    let mut out = format!("GET {} HTTP/1.1\r\nHost: {}\r\n", url.path(), url.host_str().expect("host")).into_bytes();
    let before = out.len();
    jar.write(url.scheme() == "https", |out| out.extend_from_slice(declared.as_bytes()), &mut out);
    let field = String::from_utf8(out.split_off(before)).expect("text");
    field.trim_start_matches("Cookie: ").trim_end().to_owned()
}

#[test]
fn cookies_are_kept_replaced_and_deleted() {
    let (mut jar, here) = (Jar::default(), origin("shop", "/"));
    for field in ["a=1; Path=/", "b=2", "a=3; HttpOnly", "b=; Max-Age=0", "c=1", "d=1", "e=1"] {
        jar.take(field, &here);
    }
    jar.take("c=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", &here);
    jar.take("d=; Expires=Thu, 01-Jan-1970 00:00:01 GMT; Path=/", &here);
    jar.take("e=; max-age=-1", &here);
    assert_eq!(sent(&jar, "http://shop/any"), "a=3");
}

#[test]
fn a_cookie_expires_at_its_time() {
    let (mut jar, here) = (Jar::default(), origin("shop", "/"));
    jar.take_at("short=1; Max-Age=60", &here, now_s() - 61);
    jar.take_at("long=1; Max-Age=60", &here, now_s());
    jar.take_at("both=1; Max-Age=3600; Expires=Thu, 01 Jan 1970 00:00:00 GMT", &here, now_s());
    assert_eq!(sent(&jar, "http://shop/"), "long=1; both=1");
}

#[test]
fn dates_are_read_as_browsers_read_them() {
    for date in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun Nov 06 1994 08:49:37 GMT+0000 (Coordinated Universal Time)",
        "Sun, 6 nov 1994 08:49:37 UTC",
        "06 November 1994, 08:49:37",
    ] {
        assert_eq!(date_s(date), Some(784_111_777), "{date}");
    }
    for date in ["0", "-1", "never", "Sun, 06 Nov 1994", "32 Nov 1994 08:49:37", "06 Nov 1994 25:00:00"] {
        assert_eq!(date_s(date), None, "{date}");
    }
    let (mut jar, here) = (Jar::default(), origin("h", "/"));
    jar.take("a=1", &here);
    jar.take("a=; expires=Thu, 01 Jan 1970 00:00:00 UTC", &here);
    jar.take("b=1; Expires=0", &here);
    jar.take("c=1; Expires=Fri Jan 01 2100 00:00:00 GMT+0000 (UTC)", &here);
    assert_eq!(sent(&jar, "http://h/"), "b=1; c=1");
}

#[test]
fn two_applications_of_a_host_have_cookies_of_their_own() {
    let mut jar = Jar::default();
    jar.take("JSESSIONID=of-shop; Path=/shop", &origin("h", "/shop/"));
    jar.take("JSESSIONID=of-blog; Path=/blog", &origin("h", "/blog/"));
    jar.take("default=1", &origin("h", "/blog/new/post"));
    assert_eq!(sent(&jar, "http://h/shop/cart"), "JSESSIONID=of-shop");
    assert_eq!(sent(&jar, "http://h/shopping"), "");
    assert_eq!(sent(&jar, "http://h/blog/new/x"), "default=1; JSESSIONID=of-blog", "the longer path comes first");
}

#[test]
fn cookies_of_other_domains_and_secure_ones_are_not_sent_in_the_clear() {
    let mut jar = Jar::default();
    let here = origin("www.shop.example", "/");
    jar.take("alien=1; Domain=other.example", &here);
    jar.take("all=1; Domain=example", &here);
    jar.take("wide=1; Domain=.SHOP.example", &here);
    jar.take("tls=1; Secure", &here);
    jar.take("__Host-a=1; Secure; Path=/", &here);
    assert_eq!(sent(&jar, "http://www.shop.example/"), "wide=1");
    jar.take("tls=2; Secure", &Origin { is_secure: true, ..here });
    jar.take("tls=forged", &here);
    assert_eq!(sent(&jar, "http://www.shop.example/"), "wide=1");
    assert_eq!(sent(&jar, "https://www.shop.example/"), "wide=1; tls=2");
    assert_eq!(sent(&jar, "https://img.shop.example/"), "wide=1");
}

#[test]
fn declared_cookies_go_before_those_of_the_server_and_in_place_of_their_namesakes() {
    let mut jar = Jar::default();
    jar.take("a=server", &origin("h", "/"));
    jar.take("b=server", &origin("h", "/"));
    assert_eq!(sent_with(&jar, "http://h/", "xb=1; a=mine"), "xb=1; a=mine; b=server");
}

#[test]
fn an_origin_is_read_from_a_request() {
    let request = b"POST /a/b?c=d/e HTTP/1.1\r\nHost: [::1]:8080\r\nX: y\r\n\r\n";
    let Origin { host, path, .. } = Origin::of(request, false);
    assert_eq!((host, path), ("[::1]", "/a/b"));
    assert_eq!(Origin::of(b"GET / HTTP/1.1\r\nHost: shop:81\r\n", true).host, "shop");
    assert_eq!(Origin::of(b"GET /", true).host, "");
}

#[test]
fn a_server_cannot_make_the_jar_grow_without_end() {
    let (mut jar, here) = (Jar::default(), origin("h", "/"));
    (0..1000).for_each(|number| jar.take(&format!("c{number}=x"), &here));
    assert_eq!(jar.kept.len(), MOST_COOKIES);
    assert_eq!(jar.kept[MOST_COOKIES - 1].name, "c999");
    jar.take(&format!("long={}", "x".repeat(MOST_COOKIE_BYTES - 4)), &here);
    assert_eq!(jar.kept[MOST_COOKIES - 1].name, "long");
    jar.take(&format!("longer={}", "x".repeat(MOST_COOKIE_BYTES)), &here);
    assert_eq!(jar.kept[MOST_COOKIES - 1].name, "long");
}

/// Cookies as servers set them, from one of a few pages.
fn set() -> impl Strategy<Value = (&'static str, String)> {
    let page = prop::sample::select(vec![
        "https://www.shop.example/",
        "https://www.shop.example/cart/pay",
        "http://www.shop.example/cart/",
        "https://127.0.0.1/cart",
    ]);
    let attribute = prop::sample::select(vec![
        "",
        "; Path=/",
        "; Path=/cart",
        "; Path=cart",
        "; Domain=shop.example",
        "; Domain=.shop.example",
        "; Domain=other.example",
        "; Max-Age=0",
        "; Max-Age=1000",
        "; Max-Age=-5",
        "; HttpOnly",
        "; SameSite=Lax",
        "; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "; Expires=Fri, 01-Jan-2100 00:00:00 GMT",
        "; Expires=never",
    ]);
    let name = prop::sample::select(vec!["a", "b", "sid"]);
    (page, name, "[a-z]{0,3}", attribute.clone(), attribute)
        .prop_map(|(page, name, value, first, second)| (page, format!("{name}={value}{first}{second}")))
}

proptest! {
    #[test]
    fn the_same_cookies_are_sent_as_a_cookie_store_sends(sets in prop::collection::vec(set(), 0..12)) {
        let (mut jar, mut store) = (Jar::default(), CookieStore::default());
        for (page, field) in &sets {
            let url = Url::parse(page).expect("an address");
            let (host, path) = (url.host_str().expect("host"), url.path());
            jar.take(field, &Origin { host, path, is_secure: url.scheme() == "https" });
            let _ = store.parse(field, &url); // what it refuses it does not keep
        }
        for page in ["http://www.shop.example/", "https://www.shop.example/cart/x", "https://shop.example/cart",
            "http://www.shop.example/carton", "https://127.0.0.1/cart/1", "https://img.shop.example/"] {
            let url = Url::parse(page).expect("an address");
            let mut expected: Vec<_> = store.get_request_values(&url).map(|(n, v)| format!("{n}={v}")).collect();
            let text = sent(&jar, page);
            let mut got: Vec<_> = text.split("; ").filter(|pair| !pair.is_empty()).map(str::to_owned).collect();
            expected.sort();
            got.sort();
            prop_assert_eq!(got, expected, "{} after {:?}", page, &sets);
        }
    }
}
