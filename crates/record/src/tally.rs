//! Counts of an operation that are added up as they are. A counter is a field here and an increment where it happens.

additive! {
    /// Counts of one operation over the steady state that need no unit of their own.
    #[derive(Copy)]
    OperationTally {
        /// Started before the steady state and ended in it; not among the requests.
        cut_at_start: u64,
        /// Started in the steady state and ended after it or never; not among the requests.
        cut_at_end: u64,
        /// In flight at the end of the steady state and beyond their tolerable time; not among the requests.
        overdue: u64,
        embedded: u64,
        /// Embedded files that browsers had and asked about, and how many of those had not changed.
        conditional: u64,
        not_modified: u64,
        redirects: u64,
        /// Pictures that its pages named, those of them that were fetched, and their bytes.
        images_named: u64,
        images_loaded: u64,
        image_bytes: u64,
        /// Bodies of its answers, decoded: more than its bytes where they came compressed.
        body_bytes: u64,
    }
}
