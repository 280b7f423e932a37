//! Finds out whether a record that was read would lose something when it is written again.
//!
//! A parser that reports ignored fields does not see into tagged enums and flattened structs. So the paths of all
//! keys that were read are compared with those that would be written: by a sum of hashes, which costs little,
//! and only where the sums differ by the values themselves.

mod walk;

use memchr::memchr2;
use serde::Serialize;
use serde_json::Value;

use super::Record;

/// True when something in `line` is not in the `record` that was read from it.
pub(super) fn loses(record: &Record, line: &str) -> bool {
    if Paths::of_text(line.as_bytes()) == Paths::of_record(record) {
        return false;
    }
    match (serde_json::from_str::<Value>(line), serde_json::to_value(record)) {
        (Ok(read), Ok(written)) => !covers(&written, &read),
        _ => true,
    }
}

/// True when `written` has every key and every element of `read`. It may have more: defaults.
fn covers(written: &Value, read: &Value) -> bool {
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => {
            read.iter().all(|(key, value)| written.get(key).is_some_and(|written| covers(written, value)))
        }
        (Value::Array(written), Value::Array(read)) => {
            written.len() == read.len()
                && written.iter().zip(read).all(|(written, read)| covers(written, read))
        }
        (written, read) => [written, read].iter().all(|value| !value.is_object() && !value.is_array()),
    }
}

/// The sum of the hashes of all keys' paths in a JSON text, whatever their order.
#[derive(Default)]
struct Paths {
    sum: u64,
    /// The path of the object at hand, and those around it.
    object: u64,
    outer: Vec<u64>,
    /// The path of the value that comes next.
    value: u64,
    /// A key comes next.
    at_key: bool,
}

impl Paths {
    fn of_text(json: &[u8]) -> u64 {
        let mut paths = Self::default();
        let mut string = &json[..0];
        let mut rest = json;
        while let Some((byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'"' => (string, rest) = split_string(after),
                b':' => paths.key(string),
                b'{' => paths.open(),
                b'}' => paths.close(),
                _ => {}
            }
        }
        paths.sum
    }

    fn of_record(record: &Record) -> u64 {
        let mut paths = Self::default();
        // What cannot be written at all has other paths than what was read.
        let _ = record.serialize(&mut paths);
        paths.sum
    }

    fn open(&mut self) {
        self.outer.push(self.object);
        self.object = self.value;
    }

    fn key(&mut self, key: &[u8]) {
        self.value = key.iter().fold(self.object.wrapping_add(1), |hash, byte| {
            (hash.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        self.sum = self.sum.wrapping_add(self.value);
    }

    fn close(&mut self) {
        self.value = self.object;
        self.object = self.outer.pop().unwrap_or_default();
    }
}

/// What is in a JSON string whose opening quote was read, and what is after it.
fn split_string(text: &[u8]) -> (&[u8], &[u8]) {
    let mut end = 0;
    while let Some(found) = text.get(end..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        end += found;
        if text.get(end) == Some(&b'"') {
            return (text.get(..end).unwrap_or_default(), text.get(end + 1..).unwrap_or_default());
        }
        end += 2;
    }
    (text, &[])
}
