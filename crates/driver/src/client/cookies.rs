//! A user's cookies: names and values of one site. Attributes other than a deletion are not looked at.

/// Cookies kept at most; the oldest gives way, as in browsers (RFC 6265, section 6.1 asks for at least 50).
const MOST_COOKIES: usize = 50;
/// Bytes of a cookie's name and value together, beyond which browsers take no notice of it (RFC 6265bis, section 5.6).
const MOST_COOKIE_BYTES: usize = 4096;

/// The cookies one user holds.
#[derive(Clone, Debug, Default)]
pub struct Jar(Vec<(String, String)>);

impl Jar {
    /// Takes a `Set-Cookie` value; `Max-Age=0` deletes.
    pub fn take(&mut self, field: &str) {
        let mut parts = field.split(';');
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            return;
        };
        let (name, value) = (name.trim(), value.trim());
        if name.len() + value.len() > MOST_COOKIE_BYTES {
            return;
        }
        let deleted = parts.any(|part| part.trim().eq_ignore_ascii_case("max-age=0"));
        match self.0.iter().position(|(held, _)| held == name) {
            Some(at) if deleted => drop(self.0.remove(at)),
            Some(at) if self.0[at].1 == value => {}
            Some(at) => value.clone_into(&mut self.0[at].1),
            None if deleted => {}
            None => {
                if self.0.len() >= MOST_COOKIES {
                    self.0.remove(0);
                }
                self.0.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    /// The value of a cookie; none where there is no such.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }

    /// Appends the `Cookie` field, if there is anything to send.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (index, (name, value)) in self.0.iter().enumerate() {
            out.extend_from_slice(if index == 0 { b"Cookie: " } else { b"; " });
            out.extend_from_slice(name.as_bytes());
            out.push(b'=');
            out.extend_from_slice(value.as_bytes());
        }
        if !self.0.is_empty() {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Forgets all cookies: another user comes.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_kept_replaced_and_deleted() {
        let mut jar = Jar::default();
        jar.take("a=1; Path=/");
        jar.take("b=2");
        jar.take("a=3; HttpOnly");
        jar.take("b=; Max-Age=0");
        let mut out = Vec::new();
        jar.write(&mut out);
        assert_eq!(out, b"Cookie: a=3\r\n");
    }

    #[test]
    fn a_server_cannot_make_the_jar_grow_without_end() {
        let mut jar = Jar::default();
        (0..1000).for_each(|number| jar.take(&format!("c{number}=x")));
        assert_eq!(jar.0.len(), MOST_COOKIES);
        assert_eq!(jar.0[MOST_COOKIES - 1].0, "c999");
        jar.take(&format!("long={}", "x".repeat(MOST_COOKIE_BYTES - 4)));
        assert_eq!(jar.0[MOST_COOKIES - 1].0, "long");
        jar.take(&format!("longer={}", "x".repeat(MOST_COOKIE_BYTES)));
        assert_eq!(jar.0[MOST_COOKIES - 1].0, "long");
    }
}
