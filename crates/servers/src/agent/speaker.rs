//! What is told to the laboratory.

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// What is told to the laboratory, line by line, from any thread.
#[derive(Clone)]
pub struct Speaker(Arc<Mutex<File>>);

impl Speaker {
    /// Speaks to what is behind this file.
    pub fn new(file: File) -> Speaker {
        Speaker(Arc::new(Mutex::new(file)))
    }

    /// Speaks to what is behind another file from here on.
    pub fn speak_to(&self, file: File) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = file;
    }

    /// Says an object in one line.
    pub fn say(&self, value: &Value) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A laboratory that is gone has nobody to tell of it.
        let _ = file.write_all(format!("{value}\n").as_bytes());
    }
}
