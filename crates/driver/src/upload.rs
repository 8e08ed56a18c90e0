//! Forms with files, in parts (RFC 7578).

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};

use loadstone_schedule::plan::{Upload, UploadContent};
use loadstone_schedule::slots::{Slots, Values};
use loadstone_schedule::template::{part_name_encode, Encoding, Template};
use loadstone_schedule::PlanError;

/// Stands between parts; no form field and no content holds it.
const BOUNDARY: &str = "loadstone-7c0e4b1d9a52f386";
/// Points of pictures that are sent, wide and high: as many as cameras of their length in bytes make.
const PICTURE_POINTS: (u16, u16) = (1600, 1200);
/// Longest file.
const MOST_BYTES: u64 = 64 << 20;

/// A file ready to be sent.
#[derive(Clone, Debug)]
pub struct CompiledUpload {
    field: String,
    file_name: Template,
    kind: String,
    content: Arc<[u8]>,
}

impl CompiledUpload {
    /// Makes the file; `place` says where it is declared.
    pub fn new(upload: &Upload, slots: &Slots, place: &str) -> Result<Self, PlanError> {
        if upload.bytes > MOST_BYTES {
            return Err(PlanError::invalid(place, format!("files have at most {MOST_BYTES} bytes")));
        }
        let (kind, content) = match upload.content {
            UploadContent::Jpeg => ("image/jpeg", picture(upload.bytes as usize, place)?),
            UploadContent::Filler => ("application/octet-stream", vec![b'.'; upload.bytes as usize].into()),
        };
        let kind = upload.content_type.clone().unwrap_or_else(|| kind.to_owned());
        if kind.chars().any(char::is_control) {
            return Err(PlanError::invalid(place, "the media type of a file contains control characters"));
        }
        let file_name = Template::compile(&upload.file_name, slots, place)?;
        Ok(CompiledUpload { field: upload.field.clone(), file_name, kind, content })
    }
}

/// A picture of this length, made once.
fn picture(bytes: usize, place: &str) -> Result<Arc<[u8]>, PlanError> {
    static MADE: LazyLock<Mutex<HashMap<usize, Arc<[u8]>>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().map_err(|_| PlanError::invalid(place, "no picture could be made"))?;
    if let Some(known) = made.get(&bytes) {
        return Ok(known.clone());
    }
    let (width, height) = PICTURE_POINTS;
    let coded = loadstone_picture::jpeg(width, height, bytes);
    let coded: Arc<[u8]> = coded.map_err(|error| PlanError::invalid(place, error.to_string()))?.into();
    made.insert(bytes, coded.clone());
    Ok(coded)
}

/// Writes the body's length and the body behind the head's other fields.
pub fn write(form: &[(String, Template)], uploads: &[CompiledUpload], values: &Values, out: &mut Vec<u8>) {
    let mut body = Vec::with_capacity(uploads.iter().map(|upload| upload.content.len() + 256).sum());
    for (name, value) in form {
        open(name, &mut body);
        body.extend_from_slice(b"\r\n\r\n");
        value.render(values, Encoding::Raw, &mut body);
        body.extend_from_slice(b"\r\n");
    }
    for upload in uploads {
        open(&upload.field, &mut body);
        body.extend_from_slice(b"; filename=\"");
        upload.file_name.render(values, Encoding::PartName, &mut body);
        let _ = write!(body, "\"\r\nContent-Type: {}\r\n\r\n", upload.kind); // a Vec takes all
        body.extend_from_slice(&upload.content);
        body.extend_from_slice(b"\r\n");
    }
    let _ = write!(body, "--{BOUNDARY}--\r\n");
    let length = body.len();
    let _ = write!(out, "Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {length}\r\n\r\n");
    out.extend_from_slice(&body);
}

/// A part's beginning, up to its name.
fn open(name: &str, body: &mut Vec<u8>) {
    let _ = write!(body, "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"");
    part_name_encode(name, body);
    body.push(b'"');
}
