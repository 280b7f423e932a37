//! From values to types, with the place of what does not fit.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A value that is not of its type.
#[derive(Debug)]
pub(super) struct Misfit {
    /// The keys that lead to it, such as `tools.approvalMode`; a dot for the whole.
    pub(super) path: String,
    /// What is wrong with it.
    pub(super) why: String,
}

/// The value as this type.
pub(super) fn typed<T: DeserializeOwned>(mut value: Value) -> Result<T, Misfit> {
    T::deserialize(&value).map_err(|error| {
        let (why, mut steps) = (error.to_string(), Vec::new());
        while let Some(key) = culprit::<T>(&mut value, &steps, &why) {
            steps.push(key);
        }
        let path = if steps.is_empty() { ".".to_owned() } else { steps.join(".") };
        Misfit { path, why }
    })
}

/// The key below these steps without which this would not be said of the rest. The value stays as it was.
fn culprit<T: DeserializeOwned>(value: &mut Value, steps: &[String], why: &str) -> Option<String> {
    let keys: Vec<String> = object(value, steps)?.keys().cloned().collect();
    keys.into_iter().find(|key| {
        let taken = object(value, steps).and_then(|object| object.remove(key));
        let is_it = T::deserialize(&*value).map_or_else(|error| error.to_string() != why, |_| true);
        if let (Some(taken), Some(object)) = (taken, object(value, steps)) {
            object.insert(key.clone(), taken);
        }
        is_it
    })
}

fn object<'a>(value: &'a mut Value, steps: &[String]) -> Option<&'a mut Map<String, Value>> {
    steps.iter().try_fold(value, |value, step| value.get_mut(step))?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    type Depths = BTreeMap<String, BTreeMap<String, u8>>;

    #[test]
    fn what_does_not_fit_is_named_by_the_keys_that_lead_to_it() {
        let path = |value: Value| typed::<Depths>(value).unwrap_err().path;
        assert_eq!(path(json!({"a": {"b.c/d": 1, "e": "x"}, "f": {}})), "a.e");
        assert_eq!(path(json!({"a": {"b": 1}, "f": 7})), "f");
        assert_eq!(path(json!([])), ".");
        assert_eq!(path(json!({"a": 1, "b": "x"})), "a");
        let fits = typed::<Depths>(json!({"a": {"b": 1}})).unwrap();
        assert_eq!(fits["a"]["b"], 1);
        assert!(typed::<Depths>(json!({"a": {"b": 300}})).unwrap_err().why.contains("300"));
    }
}
