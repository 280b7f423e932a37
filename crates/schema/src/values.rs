//! How JSON Schema compares values.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Whether a value has a type of this name.
pub(crate) fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_number().is_some_and(is_whole),
        _ => true,
    }
}

fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Whether two values are the same: `1` and `1.0` are, and the order of fields means nothing.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compared(one, other) == Ordering::Equal,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

/// Which number is larger; exact for whole ones.
pub(crate) fn compared(one: &Number, other: &Number) -> Ordering {
    if let (Some(one), Some(other)) = (one.as_i128(), other.as_i128()) {
        return one.cmp(&other);
    }
    let float = |number: &Number| number.as_f64().unwrap_or_default();
    float(one).partial_cmp(&float(other)).unwrap_or(Ordering::Equal)
}

/// Whether a number is a multiple of another. Decimal fractions count as written: 0.3 is a multiple of 0.1.
pub(crate) fn is_multiple(number: &Number, of: &Number) -> bool {
    if let (Some(number), Some(of)) = (number.as_i128(), of.as_i128()) {
        return of == 0 || number % of == 0;
    }
    let (Some(number), Some(of)) = (number.as_f64(), of.as_f64()) else { return true };
    if of == 0.0 {
        return true;
    }
    let times = number / of;
    (times - times.round()).abs() <= f64::EPSILON * times.abs().max(1.0)
}
