//! Redirects as browsers follow them: where they lead to, and with which method.

use loadstone_record::Fault;
use loadstone_schedule::plan::{Method, Scheme};
use url::{Position, Url};

use super::cookies::Origin;
use crate::server::Server;
use crate::transport::reader::Reader;
use crate::transport::{Answer, Failure};

/// Where a redirect leads to that is followed; none for any other answer.
pub(super) fn redirection(answer: &Answer, reader: &mut Reader, allowed: u8) -> Option<String> {
    let is_redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308) && allowed > 0;
    is_redirect.then(|| reader.location.take()).flatten()
}

/// Whether a redirect turns the method into GET (Fetch, HTTP-redirect fetch): POST after 301 and 302, after 303 all but
/// GET and HEAD. All else keeps its method and its body.
pub(super) fn becomes_get(method: Method, status: u16) -> bool {
    match status {
        301 | 302 => method == Method::Post,
        303 => !matches!(method, Method::Get | Method::Head),
        _ => false,
    }
}

/// Scheme and path a `Location` leads to, from a request, resolved as browsers do (RFC 3986, section 5.2); only the
/// target's own two sides are followed, by their addresses or by the name that the request's field `Host` has.
pub(super) fn follow(
    server: &Server,
    current: Scheme,
    from: &[u8],
    location: &str,
) -> Result<(Scheme, Vec<u8>), Failure> {
    let stray = |why: &str| Failure::new(Fault::Redirect, format!("{why}: `{location}`"));
    let own = server.destination(current).map_or("", |side| &side.host);
    let name = if current == Scheme::Https { "https" } else { "http" };
    let base =
        Url::parse(&format!("{name}://{own}{}", path_of(from))).map_err(|_| stray("from a page without a name"))?;
    let goal = base.join(location).map_err(|_| stray("to no address"))?;
    let scheme = match goal.scheme() {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        _ => return Err(stray("to another scheme")),
    };
    let host = goal.host_str().unwrap_or("");
    let authority = format!("{host}:{}", goal.port_or_known_default().unwrap_or(0));
    let is_declared = host_field(from) != own && host.eq_ignore_ascii_case(Origin::of(from, false).host);
    if !server.destination(scheme).is_some_and(|to| to.is_called(&authority) || is_declared) {
        return Err(stray("to another host"));
    }
    Ok((scheme, goal[Position::BeforePath..Position::AfterQuery].into()))
}

/// The field `Host` of a request.
fn host_field(request: &[u8]) -> &str {
    let line = request.split(|&byte| byte == b'\n').nth(1).unwrap_or_default();
    line.strip_prefix(b"Host: ").and_then(|host| std::str::from_utf8(host).ok()).map_or("", str::trim_end)
}

/// The path in a request line.
fn path_of(request: &[u8]) -> &str {
    let mut words = request.split(|&byte| byte == b' ');
    words.nth(1).and_then(|path| std::str::from_utf8(path).ok()).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use loadstone_schedule::plan::{Addresses, Endpoint, Protocol, Target, Trust};

    use super::*;

    fn server() -> Server {
        let side = |port| Some(Endpoint { host: "127.0.0.1".into(), port });
        let (trust, addresses) = (Trust::Anything, Addresses::All);
        let target = Target { http: side(8080), https: side(8443), trust, identity: None, addresses, delivery: None };
        Server::all(&[target], Protocol::Http1).expect("an address").remove(0)
    }

    /// Where a `Location` leads to from a page of the plain side.
    fn led(from: &str, location: &str) -> Option<(Scheme, String)> {
        led_of("127.0.0.1:8080", from, location)
    }

    /// The same of a request with this field `Host`.
    fn led_of(host: &str, from: &str, location: &str) -> Option<(Scheme, String)> {
        let request = format!("GET {from} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let followed = follow(&server(), Scheme::Http, request.as_bytes(), location).ok();
        followed.map(|(scheme, path)| (scheme, String::from_utf8(path).expect("text")))
    }

    #[test]
    fn a_location_is_read_as_browsers_do() {
        let plain = |path: &str| Some((Scheme::Http, path.to_owned()));
        assert_eq!(led("/a/b?q=/c", "/d"), plain("/d"));
        assert_eq!(led("/a/b?q=/c", "d?e=1"), plain("/a/d?e=1"));
        assert_eq!(led("/a", " /d#top "), plain("/d"));
        assert_eq!(led("/a/b?c", "?d"), plain("/a/b?d"));
        assert_eq!(led("/a/b", "/../index.html"), plain("/index.html"));
        assert_eq!(led("/a/b/c", "../d/./e"), plain("/a/d/e"));
        assert_eq!(led("/a", "/a b\u{e9}"), plain("/a%20b%C3%A9"));
        assert_eq!(led("/a", "//127.0.0.1:8080?x"), plain("/?x"));
        assert_eq!(led("/a", "http://127.0.0.1:8080"), plain("/"));
        assert_eq!(led("/a", "https://127.0.0.1:8443/pay"), Some((Scheme::Https, "/pay".to_owned())));
    }

    #[test]
    fn other_hosts_ports_and_schemes_are_not_followed() {
        for location in [
            "http://example.com/",
            "https://127.0.0.1:8080/",
            "http://127.0.0.1:8443/",
            "//127.0.0.1.example/",
            "http:///",
            "mailto:someone@127.0.0.1:8080",
        ] {
            assert_eq!(led("/a", location), None, "{location}");
        }
    }

    #[test]
    fn a_location_may_name_the_host_that_a_workload_declares() {
        let led = |location: &str| led_of("shop.example", "/a", location);
        assert_eq!(led("http://SHOP.example/b"), Some((Scheme::Http, "/b".to_owned())));
        assert_eq!(led("https://shop.example/b"), Some((Scheme::Https, "/b".to_owned())));
        assert_eq!(led("http://other.example/b"), None);
    }

    #[test]
    fn methods_survive_redirects_as_fetch_has_it() {
        use Method::*;
        let becomes = |method| [301, 302, 303, 307, 308].map(|status| becomes_get(method, status));
        assert_eq!(becomes(Post), [true, true, true, false, false]);
        assert_eq!(becomes(Put), [false, false, true, false, false]);
        assert_eq!(becomes(Delete), [false, false, true, false, false]);
        assert_eq!(becomes(Head), [false; 5]);
    }

    #[test]
    fn the_path_of_a_request_is_its_second_word() {
        assert_eq!(path_of(b"GET /a?b HTTP/1.1\r\n"), "/a?b");
        assert_eq!(path_of(b""), "/");
        assert_eq!(path_of(b"GET \xff HTTP/1.1"), "/");
    }
}
