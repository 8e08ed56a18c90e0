//! Rows that the back end answers.

/// Rows of an answer, or the reason for a no.
pub type Rows = Result<Vec<Vec<String>>, &'static str>;

/// One row.
pub fn row<const N: usize>(fields: [&str; N]) -> Vec<String> {
    fields.iter().map(|field| field.replace('&', "+")).collect()
}
