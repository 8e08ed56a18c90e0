//! Heads of answers as servers write them and browsers read them.

/// The protocol's name, which some servers write in small letters (RFC 9112, section 2.3, asks for capitals).
const NAME: &[u8] = b"HTTP/";

/// Reads blanks before a colon, folded lines and lines without a colon.
pub fn as_browsers_read() -> httparse::ParserConfig {
    let mut config = httparse::ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true)
        .allow_space_before_first_header_name(true)
        .ignore_invalid_headers_in_responses(true);
    config
}

/// The same head with the protocol's name in capitals, and blanks in place of carriage returns within lines (RFC 9112,
/// section 2.2). Its length is the same. None where nothing is to be mended.
pub fn mend_head(data: &[u8]) -> Option<Vec<u8>> {
    let mut text = data.to_vec();
    let begins = data.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let length = NAME.len().min(data.len() - begins);
    let name = &mut text[begins..begins + length];
    if name.eq_ignore_ascii_case(&NAME[..length]) {
        name.make_ascii_uppercase();
    }
    // One at the end of what came is mended too: no head ends with it, and the next piece is read together with this.
    let is_torn = |place: usize, byte: u8| byte == b'\r' && data.get(place + 1) != Some(&b'\n');
    for (place, &byte) in data.iter().enumerate().skip(begins) {
        if is_torn(place, byte) {
            text[place] = b' ';
        }
    }
    (text != data).then_some(text)
}

/// Whether bytes are line ends alone, which old servers send behind a body: nobody takes them for an answer, but as in a
/// browser the connection is not used again.
pub fn is_line_end(behind: &[u8]) -> bool {
    behind.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}
