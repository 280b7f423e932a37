//! The JSON of an answer, typed and borrowed.
//!
//! Strings are borrowed from the event wherever they hold no escapes, the one choice of an ordinary chunk
//! needs no list, and what is rare is boxed, as these structs are moved several times on their way: the
//! common text delta is read without allocating and copies little.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::lenient::{Arguments, List, Maybe, Number, Visit, Word, by_visitor, skip, text};
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
    pub choices: Option<Choices<'a>>,
    pub usage: Maybe<Box<Usage>>,
    pub x_groq: Maybe<Box<Groq>>,
    /// Perplexity: addresses, repeated in every chunk.
    #[serde(borrow)]
    pub citations: List<Word<'a>>,
    #[serde(borrow)]
    pub search_results: List<SearchResult<'a>>,
    pub error: Option<Box<Value>>,
    pub message: Option<Box<Value>>,
    pub detail: Option<Box<Value>>,
    /// MiniMax: how it went, beside a status of success.
    pub base_resp: Option<Box<Value>>,
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
    pub message: Maybe<Box<Delta<'a>>>,
    #[serde(borrow)]
    pub finish_reason: Word<'a>,
    /// OpenRouter: the upstream server's word.
    #[serde(borrow)]
    pub native_finish_reason: Word<'a>,
    pub error: Option<Box<Value>>,
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
    pub function_call: Maybe<Box<Function<'a>>>,
    #[serde(borrow)]
    pub images: List<Item<'a>>,
    #[serde(borrow)]
    pub annotations: List<Annotation<'a>>,
    /// Google: thought signatures that must come back on the same message.
    pub extra_content: Option<Box<Value>>,
}

impl Delta<'_> {
    /// True when it says nothing that could be shown or run.
    pub fn is_empty(&self) -> bool {
        let silent = |body: &Body| match body {
            Body::Nothing => true,
            Body::Text(text) => text.is_empty(),
            Body::Items(items) => items.is_empty(),
        };
        [&self.content, &self.reasoning_content, &self.reasoning].into_iter().all(silent)
            && self.refusal.get().is_none()
            && self.tool_calls.0.is_empty()
            && self.function_call.0.is_none()
            && self.images.0.is_empty()
            && self.reasoning_details.0.is_empty()
    }
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
    pub extra_content: Option<Box<Value>>,
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

/// The choices: one, nearly always.
#[derive(Default)]
pub struct Choices<'a> {
    pub first: Option<Choice<'a>>,
    pub rest: Vec<Choice<'a>>,
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

/// A content: a text, or a list of items.
#[derive(Default)]
pub enum Body<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Items(Vec<Item<'a>>),
}

by_visitor!(<'a> Choices<'a>);

impl<'de: 'a, 'a> Visitor<'de> for Visit<Choices<'a>> {
    type Value = Choices<'a>;

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Choices<'a>, A::Error> {
        let mut choices =
            Choices { first: list.next_element::<Option<Choice>>()?.flatten(), rest: Vec::new() };
        while let Some(choice) = list.next_element::<Option<Choice>>()? {
            choices.rest.extend(choice);
        }
        Ok(choices)
    }

    skip!(expecting bool number text null object);
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
