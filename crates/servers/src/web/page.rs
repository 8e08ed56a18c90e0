//! Pages and files of a site, as long as it declares them.

use crate::content::{escape, Page};
use crate::front::answer::{file, html, Answer};
use crate::front::Request;
use crate::site::{PageFacts, Site};

/// A site's fixed file, if it has one under this path.
pub fn fixed_file(site: &Site, request: &Request) -> Option<Answer> {
    site.files.get(&request.path).map(|&length| file(&request.headers, &request.path, length))
}

/// Begins a page with links to its embedded files.
pub fn begin(title: &str, facts: &PageFacts) -> Page {
    let mut page = Page::new(title, facts.bytes);
    page.put(&format!("<h1>{}</h1>\n", escape(title)));
    page
}

/// Adds the links to embedded files and fills the page up to its declared length.
pub fn end(mut page: Page, facts: &PageFacts) -> Answer {
    for link in &facts.links {
        page.put(&format!("<img src=\"{link}\" alt=\"\">\n"));
    }
    html(page.finish(facts.bytes))
}
