//! Types that read whatever a server sends.
//!
//! A field of an unexpected type reads as missing: one server's odd value in a field must not cost the
//! rest of its answer.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Text; a number counts as its digits, anything else as missing.
#[derive(Default)]
pub struct Word<'a>(pub Option<Cow<'a, str>>);

impl<'a> Word<'a> {
    /// The text, unless it is missing or empty: servers send both for the same thing.
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    /// As [`Word::get`], by value.
    pub fn take(self) -> Option<Cow<'a, str>> {
        self.0.filter(|text| !text.is_empty())
    }
}

/// A count or an index.
#[derive(Clone, Copy, Default)]
pub struct Number(pub Option<u64>);

/// The text of a call's arguments; an object counts as its JSON.
#[derive(Default)]
pub struct Arguments<'a>(pub Option<Cow<'a, str>>);

/// An object, or nothing.
pub struct Maybe<T>(pub Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// A list; null, or anything that is no list, is an empty one.
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// The visitor methods for types that a field should not have: the value is skipped.
macro_rules! skip {
    ($($kind:ident)*) => { $(skip!(@$kind);)* };
    (@bool) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
    (@number) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Default::default())
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Default::default())
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
    (@text) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
    (@null) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
    (@list) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
    (@object) => {
        fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
            while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
    (@expecting) => {
        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("any JSON value")
        }
    };
}

/// The visitor methods for text, borrowed where the event allows it; `$make` takes the `Cow`.
macro_rules! text {
    ($make:expr) => {
        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok($make(Cow::Borrowed(text)))
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok($make(Cow::Owned(text.to_owned())))
        }

        fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
            Ok($make(Cow::Owned(text)))
        }
    };
}

/// The visitor that reads a `T`.
pub struct Visit<T>(pub PhantomData<T>);

/// Reads a type through its visitor.
macro_rules! by_visitor {
    (<$($lifetime:lifetime)?> $type:ty) => {
        impl<'de $(: $lifetime, $lifetime)?> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Visit::<$type>(PhantomData))
            }
        }
    };
}

pub(super) use {by_visitor, skip, text};

by_visitor!(<'a> Word<'a>);

impl<'de: 'a, 'a> Visitor<'de> for Visit<Word<'a>> {
    type Value = Word<'a>;

    text!(|text| Word(Some(text)));

    fn visit_u64<E>(self, number: u64) -> Result<Word<'a>, E> {
        Ok(Word(Some(Cow::Owned(number.to_string()))))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Word<'a>, E> {
        Ok(Word(Some(Cow::Owned(number.to_string()))))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Word<'a>, E> {
        Ok(Word(Some(Cow::Owned(number.to_string()))))
    }

    skip!(expecting bool null list object);
}

by_visitor!(<> Number);

impl<'de> Visitor<'de> for Visit<Number> {
    type Value = Number;

    fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
        Ok(Number(Some(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
        Ok(Number(u64::try_from(number).ok()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
        // Beyond 2^53 a float is no count any more.
        let whole = number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number);
        Ok(Number(whole.then_some(number as u64)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Number, E> {
        Ok(Number(text.trim().parse().ok()))
    }

    skip!(expecting bool null list object);
}

by_visitor!(<'a> Arguments<'a>);

impl<'de: 'a, 'a> Visitor<'de> for Visit<Arguments<'a>> {
    type Value = Arguments<'a>;

    text!(|text| Arguments(Some(text)));

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Arguments<'a>, A::Error> {
        let arguments = Value::deserialize(MapAccessDeserializer::new(object))?;
        Ok(Arguments(Some(Cow::Owned(arguments.to_string()))))
    }

    skip!(expecting bool number null list);
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visit::<Maybe<T>>(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Visit<Maybe<T>> {
    type Value = Maybe<T>;

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Maybe<T>, A::Error> {
        Ok(Maybe(Some(T::deserialize(MapAccessDeserializer::new(object))?)))
    }

    skip!(expecting bool number text null list);
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visit::<List<T>>(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Visit<List<T>> {
    type Value = List<T>;

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Option<T>>()? {
            items.extend(item);
        }
        Ok(List(items))
    }

    skip!(expecting bool number text null object);
}
