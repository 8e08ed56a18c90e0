//! The environment of programs by CGI.

use crate::front::Request;

/// The request as programs see theirs (RFC 3875, section 4.1).
pub fn environment(request: &Request) -> Vec<(String, String)> {
    let scheme = if request.secure { "on" } else { "off" };
    let mut told = vec![
        ("GATEWAY_INTERFACE".to_owned(), "CGI/1.1".to_owned()),
        ("REQUEST_METHOD".to_owned(), request.method.to_string()),
        ("SCRIPT_NAME".to_owned(), request.path.clone()),
        ("QUERY_STRING".to_owned(), request.query.clone()),
        ("SERVER_PROTOCOL".to_owned(), "HTTP/1.1".to_owned()),
        ("SERVER_SOFTWARE".to_owned(), concat!("Loadstone/", env!("CARGO_PKG_VERSION")).to_owned()),
        ("HTTPS".to_owned(), scheme.to_owned()),
    ];
    // A header `Proxy` would become the variable that programs take their proxy from.
    let given = request.headers.iter().filter(|(name, _)| *name != "proxy");
    told.extend(given.filter_map(|(name, value)| {
        let name = name.as_str().to_ascii_uppercase().replace('-', "_");
        value.to_str().ok().map(|value| (format!("HTTP_{name}"), value.to_owned()))
    }));
    told
}
