//! A user's cookies: names and values of one site. Attributes other than a deletion are not looked at.

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
        self.0.retain(|(held, _)| held != name);
        let deleted = parts.any(|part| part.trim().eq_ignore_ascii_case("max-age=0"));
        if !deleted {
            self.0.push((name.to_owned(), value.to_owned()));
        }
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

    /// Takes over what another jar of the same user has.
    pub fn merge(&mut self, other: &Jar) {
        for (name, value) in &other.0 {
            match self.0.iter_mut().find(|(held, _)| held == name) {
                Some((_, held)) if held == value => {}
                Some((_, held)) => held.clone_from(value),
                None => self.0.push((name.clone(), value.clone())),
            }
        }
    }

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
}
