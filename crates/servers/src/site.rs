//! The sites' declarations: the same `workload.toml` files the driver's plans are made from, built into the
//! program, so that lengths and embedded files are said once.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

const BANKING: &str = include_str!("../../../src/loadstone/workloads/banking/workload.toml");
const SHOPPING: &str = include_str!("../../../src/loadstone/workloads/shopping/workload.toml");
const BOOKSTORE: &str = include_str!("../../../src/loadstone/workloads/bookstore/workload.toml");
const EVENTS: &str = include_str!("../../../src/loadstone/workloads/events/workload.toml");
const SUPPORT: &str = include_str!("../../../src/loadstone/workloads/support/workload.toml");

/// The parts of a workload's declaration that a server needs.
#[derive(Debug, Deserialize)]
struct Declaration {
    embedded: Pattern,
    operations: BTreeMap<String, Operation>,
}

#[derive(Debug, Deserialize)]
struct Pattern {
    path: String,
}

#[derive(Debug, Deserialize)]
struct Operation {
    #[serde(default)]
    document_bytes: usize,
    #[serde(default)]
    embedded: Vec<Embedded>,
}

/// An embedded file: `"size@probability"`, or a table for one whose path is known only at run time.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Embedded {
    Sized(String),
    #[allow(dead_code)] // its path comes from the page itself
    Placed {
        path: String,
    },
}

/// What a server must know of one page.
#[derive(Debug, Default, Clone, Serialize)]
pub struct PageFacts {
    pub bytes: usize,
    /// Paths of its embedded files.
    pub links: Vec<String>,
}

/// A site: its pages and its fixed files.
#[derive(Debug)]
pub struct Site {
    pub pages: BTreeMap<String, PageFacts>,
    /// Path and size of every file that pages embed.
    pub files: BTreeMap<String, u64>,
}

/// All pages of the sites by `workload/operation`, for servers that are not this one.
pub fn pages() -> Result<BTreeMap<String, PageFacts>> {
    let sites = [
        ("banking", Site::banking()?),
        ("bookstore", Site::bookstore()?),
        ("events", Site::events()?),
        ("shopping", Site::shopping()?),
        ("support", Site::support()?),
    ];
    let named = sites.into_iter().flat_map(|(workload, site)| {
        site.pages.into_iter().map(move |(operation, facts)| (format!("{workload}/{operation}"), facts))
    });
    Ok(named.collect())
}

impl Site {
    /// The bank's files, as the workload's documentation lays them out.
    pub fn banking() -> Result<Self> {
        Self::parse(BANKING).context("banking")
    }

    /// The shop's.
    pub fn shopping() -> Result<Self> {
        Self::parse(SHOPPING).context("shopping")
    }

    /// The support site's.
    pub fn support() -> Result<Self> {
        Self::parse(SUPPORT).context("support")
    }

    /// The bookstore's.
    pub fn bookstore() -> Result<Self> {
        Self::parse(BOOKSTORE).context("bookstore")
    }

    /// The site of events.
    pub fn events() -> Result<Self> {
        Self::parse(EVENTS).context("events")
    }

    /// Facts of a page; an unknown page is empty.
    pub fn page(&self, name: &str) -> PageFacts {
        self.pages.get(name).cloned().unwrap_or_default()
    }

    fn parse(text: &str) -> Result<Self> {
        let declaration: Declaration = toml::from_str(text)?;
        let mut site = Site { pages: BTreeMap::new(), files: BTreeMap::new() };
        for (name, operation) in declaration.operations {
            let files = embedded_files(&operation.embedded, &declaration.embedded.path)?;
            let links = files.iter().map(|(path, _)| path.clone()).collect();
            site.files.extend(files);
            site.pages.insert(name, PageFacts { bytes: operation.document_bytes, links });
        }
        Ok(site)
    }
}

/// Paths and sizes of a page's sized files. The k-th file of one size in a page is named `size-k`.
fn embedded_files(embedded: &[Embedded], pattern: &str) -> Result<Vec<(String, u64)>> {
    let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
    let mut files = Vec::new();
    for entry in embedded {
        let Embedded::Sized(text) = entry else { continue };
        let size: u64 = text.split('@').next().unwrap_or("").parse().with_context(|| format!("`{text}`"))?;
        let count = seen.entry(size).or_default();
        *count += 1;
        let name = if *count == 1 { size.to_string() } else { format!("{size}-{count}") };
        files.push((pattern.replace("{name}", &name), size));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_sites_have_all_their_pages_and_files() {
        let bank = Site::banking().expect("valid");
        assert_eq!(bank.page("login").links.len(), 8);
        assert_eq!(bank.page("req_checks").links.len(), 19);
        let shop = Site::shopping().expect("valid");
        assert_eq!(shop.page("cart").links.len(), 40);
        assert_eq!(shop.files.get("/shop/static/43-2.gif"), Some(&43));
        assert_eq!(Site::support().expect("valid").page("product").links.len(), 28);
    }
}
