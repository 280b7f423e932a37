//! The JSON of an answer, typed, borrowed and lenient.
//!
//! A field of an unexpected type reads as missing: one server's odd value in a field must not cost the
//! rest of its answer. Strings are borrowed from the event wherever they hold no escapes, and the one
//! choice of an ordinary chunk needs no list, so the common text delta is read without allocating.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::usage::Usage;

/// One event of a stream, or a whole answer.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Chunk<'a> {
    #[serde(borrow)]
    pub id: Word<'a>,
    #[serde(borrow)]
    pub model: Word<'a>,
    #[serde(borrow)]
    pub object: Word<'a>,
    /// `None` when the field is missing, which tells an error document from an empty chunk.
    #[serde(borrow)]
    pub choices: Option<List<Choice<'a>>>,
    pub usage: Maybe<Usage>,
    pub x_groq: Maybe<Groq>,
    /// Perplexity: addresses, repeated in every chunk.
    #[serde(borrow)]
    pub citations: List<Word<'a>>,
    #[serde(borrow)]
    pub search_results: List<SearchResult<'a>>,
    pub error: Option<Value>,
    pub message: Option<Value>,
    pub detail: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Groq {
    pub usage: Maybe<Usage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SearchResult<'a> {
    #[serde(borrow)]
    pub title: Word<'a>,
    #[serde(borrow)]
    pub url: Word<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Choice<'a> {
    pub index: Number,
    #[serde(borrow)]
    pub delta: Maybe<Delta<'a>>,
    /// The whole message; in a stream some servers repeat it beside the delta.
    #[serde(borrow)]
    pub message: Maybe<Delta<'a>>,
    #[serde(borrow)]
    pub finish_reason: Word<'a>,
    /// OpenRouter: the upstream server's word.
    #[serde(borrow)]
    pub native_finish_reason: Word<'a>,
    pub error: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Delta<'a> {
    #[serde(borrow)]
    pub content: Body<'a>,
    #[serde(borrow)]
    pub reasoning_content: Body<'a>,
    #[serde(borrow)]
    pub reasoning: Body<'a>,
    pub reasoning_details: List<Value>,
    #[serde(borrow)]
    pub refusal: Word<'a>,
    #[serde(borrow)]
    pub tool_calls: List<ToolCall<'a>>,
    #[serde(borrow)]
    pub function_call: Maybe<Function<'a>>,
    #[serde(borrow)]
    pub images: List<Item<'a>>,
    #[serde(borrow)]
    pub annotations: List<Annotation<'a>>,
    /// Google: thought signatures that must come back on the same message.
    pub extra_content: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ToolCall<'a> {
    pub index: Number,
    #[serde(borrow)]
    pub id: Word<'a>,
    #[serde(borrow)]
    pub function: Maybe<Function<'a>>,
    #[serde(borrow)]
    pub custom: Maybe<Custom<'a>>,
    pub extra_content: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Function<'a> {
    #[serde(borrow)]
    pub name: Word<'a>,
    #[serde(borrow)]
    pub arguments: Arguments<'a>,
}

/// A tool with free text instead of arguments.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Custom<'a> {
    #[serde(borrow)]
    pub name: Word<'a>,
    #[serde(borrow)]
    pub input: Word<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Annotation<'a> {
    #[serde(borrow)]
    pub url_citation: Maybe<SearchResult<'a>>,
    #[serde(borrow)]
    pub file: Maybe<AnnotatedFile<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct AnnotatedFile<'a> {
    #[serde(borrow)]
    pub name: Word<'a>,
}

/// One item of a content that is a list.
#[derive(Default)]
pub struct Item<'a> {
    pub text: Word<'a>,
    /// Mistral: what the model thought, as a list of items again.
    pub thinking: Body<'a>,
    pub refusal: Word<'a>,
    pub image_url: Maybe<ImageUrl<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ItemObject<'a> {
    #[serde(borrow)]
    text: Word<'a>,
    #[serde(borrow)]
    thinking: Body<'a>,
    #[serde(borrow)]
    refusal: Word<'a>,
    #[serde(borrow)]
    image_url: Maybe<ImageUrl<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ImageUrl<'a> {
    #[serde(borrow)]
    pub url: Word<'a>,
}

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

/// A content: a text, or a list of items.
#[derive(Default)]
pub enum Body<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Items(Vec<Item<'a>>),
}

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
pub struct List<T> {
    pub first: Option<T>,
    pub rest: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { first: None, rest: Vec::new() }
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::option::IntoIter<T>, std::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
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
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
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

struct Visit<T>(PhantomData<T>);

macro_rules! by_visitor {
    (<$($lifetime:lifetime)?> $type:ty) => {
        impl<'de $(: $lifetime, $lifetime)?> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Visit::<$type>(PhantomData))
            }
        }
    };
}

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

by_visitor!(<'a> Body<'a>);

impl<'de: 'a, 'a> Visitor<'de> for Visit<Body<'a>> {
    type Value = Body<'a>;

    text!(Body::Text);

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Body<'a>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Body::Items(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Body<'a>, A::Error> {
        Ok(Body::Items(vec![Visit::<Item>(PhantomData).visit_map(object)?]))
    }

    skip!(expecting bool number null);
}

by_visitor!(<'a> Item<'a>);

impl<'de: 'a, 'a> Visitor<'de> for Visit<Item<'a>> {
    type Value = Item<'a>;

    text!(|text| Item { text: Word(Some(text)), ..Item::default() });

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Item<'a>, A::Error> {
        let ItemObject { text, thinking, refusal, image_url } =
            ItemObject::deserialize(MapAccessDeserializer::new(object))?;
        Ok(Item { text, thinking, refusal, image_url })
    }

    skip!(expecting bool number null list);
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
        let mut items = List::default();
        while let Some(item) = list.next_element::<Option<T>>()? {
            match (item, &items.first) {
                (None, _) => {}
                (Some(item), None) => items.first = Some(item),
                (Some(item), Some(_)) => items.rest.push(item),
            }
        }
        Ok(items)
    }

    skip!(expecting bool number text null object);
}
