//! Ways in which an operation ends well: which of them an answer tells, and what the server must then hold.

use loadstone_record::Fault;
use loadstone_schedule::plan::Ending;
use loadstone_schedule::slots::{Slots, Values};
use loadstone_schedule::template::Template;
use loadstone_schedule::PlanError;

use crate::inspect::Inspector;
use crate::needle::Needle;
use crate::transport::Failure;

/// A way to end well.
#[derive(Clone, Debug)]
pub struct CompiledEnding {
    pub name: String,
    needle: Needle,
    ledger: Option<Template>,
}

impl CompiledEnding {
    /// Compiles an ending; an error names the `place` and what is unknown there.
    pub fn new(ending: &Ending, slots: &Slots, place: &str) -> Result<Self, PlanError> {
        let ledger = ending.ledger.as_ref().map(|text| Template::compile(text, slots, place)).transpose()?;
        Ok(CompiledEnding {
            name: ending.name.clone(),
            needle: Needle::compile(&ending.contains, slots, place)?,
            ledger,
        })
    }
}

/// How an operation ended well: which of its endings, and what the server must now hold.
pub struct Ended {
    pub ending: usize,
    pub ledger: Option<String>,
}

/// Which of an operation's endings the answer tells; none where there is but one way to end well.
pub fn ended(endings: &[CompiledEnding], inspector: &Inspector, values: &Values) -> Result<Option<Ended>, Failure> {
    let mut told = (0..).zip(endings).filter(|(_, ending)| ending.needle.is_in(&inspector.head, values));
    match (told.next(), told.next()) {
        (Some((ending, found)), None) => {
            let ledger = found.ledger.as_ref().map(|text| text.text(values));
            Ok(Some(Ended { ending, ledger }))
        }
        (None, _) if endings.is_empty() => Ok(None),
        (None, _) => Err(Failure::new(Fault::Content, "the response matches none of the declared endings")),
        (Some(_), Some(_)) => Err(Failure::new(Fault::Content, "the response matches several endings")),
    }
}
