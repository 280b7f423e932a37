//! A record in JSON: one flat object, which is written again as it was read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::unknown::loses;
use super::{Fact, Record};

/// The names of what every record begins with.
const HEAD: [&str; 3] = ["seq", "at", "kind"];

/// What every record begins with.
#[derive(Serialize, Deserialize)]
pub(super) struct Head<'a> {
    seq: u64,
    at: u64,
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

/// A record as it is written.
#[derive(Serialize)]
pub(super) struct Flat<'a, T> {
    #[serde(flatten)]
    pub(super) head: Head<'a>,
    #[serde(flatten)]
    pub(super) body: T,
}

impl Record {
    /// Reads one line of a journal. Kinds and fields this version does not know are kept, not refused.
    pub fn from_json(line: &str) -> Result<Self, serde_json::Error> {
        let mut record = Self::to_look_at(line)?;
        if loses(&record, line) {
            record.original = Some(line.into());
        }
        Ok(record)
    }

    /// Reads one line for whoever writes nothing: fields this version does not know are not kept.
    pub fn to_look_at(line: &str) -> Result<Self, serde_json::Error> {
        let mut json = serde_json::Deserializer::from_str(line);
        let read = json.deserialize_map(InOrder)?;
        json.end()?;
        read.map_or_else(|| Self::in_any_order(line), Ok)
    }

    /// Reads a line that does not begin with the head, as only others write it: the head first, then all again.
    fn in_any_order(line: &str) -> Result<Self, serde_json::Error> {
        let head: Head = serde_json::from_str(line)?;
        let mut fact = Fact::read(&head.kind, &mut serde_json::Deserializer::from_str(line))?;
        if let Fact::Unknown { fields, .. } = &mut fact {
            fields.retain(|key, _| !HEAD.contains(&key.as_str()));
        }
        Ok(Self::new(head.seq, head.at, fact))
    }
}

/// Reads a record whose head comes first straight into its types, without a tree in between; nothing where the
/// head does not come first.
struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Option<Record>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a record: an object with seq, at and kind")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        if let Some(seq) = field(&mut map, "seq")?
            && let Some(at) = field(&mut map, "at")?
            && let Some(kind) = field::<String, _>(&mut map, "kind")?
        {
            let fact = Fact::read(&kind, MapAccessDeserializer::new(map))?;
            return Ok(Some(Record::new(seq, at, fact)));
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// The next field's value, if its name is `name`.
fn field<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    map: &mut A,
    name: &str,
) -> Result<Option<T>, A::Error> {
    match map.next_key_seed(Named(name))? {
        Some(true) => map.next_value().map(Some),
        Some(false) => map.next_value::<IgnoredAny>().map(|_| None),
        None => Ok(None),
    }
}

/// Tells whether a key is this one, without keeping it.
struct Named<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Named<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Map::<String, Value>::deserialize(deserializer)?;
        Self::from_json(&Value::Object(object).to_string()).map_err(de::Error::custom)
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let head = Head { seq: self.seq, at: self.at, kind: self.fact.kind().into() };
        let Some(original) = &self.original else { return self.fact.write(head, serializer) };
        let mut body: BTreeMap<String, &RawValue> =
            serde_json::from_str(original).map_err(serde::ser::Error::custom)?;
        body.retain(|key, _| !HEAD.contains(&key.as_str()));
        Flat { head, body }.serialize(serializer)
    }
}
