//! Fields we do not know, kept so that a round trip loses nothing.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Unknown fields of an object. Empty in nearly every value, so it costs one pointer until used.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Extra(Option<Box<Map<String, Value>>>);

impl Extra {
    /// True when nothing unknown was seen.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|map| map.is_empty())
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.as_ref()?.get(key)
    }

    /// Keeps `value` under `key`, replacing an earlier one.
    pub fn insert(&mut self, key: impl Into<String>, value: Value) {
        self.0.get_or_insert_default().insert(key.into(), value);
    }

    /// Takes the value under `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let map = self.0.as_mut()?;
        let value = map.shift_remove(key);
        if map.is_empty() {
            self.0 = None;
        }
        value
    }

    /// All fields, in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter().flat_map(|map| map.iter())
    }
}

impl FromIterator<(String, Value)> for Extra {
    fn from_iter<T: IntoIterator<Item = (String, Value)>>(iter: T) -> Self {
        let map: Map<String, Value> = iter.into_iter().collect();
        Self((!map.is_empty()).then(|| Box::new(map)))
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Map::deserialize(deserializer)?.into_iter().collect())
    }
}
