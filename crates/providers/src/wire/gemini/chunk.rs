//! One document of an answer, as it comes in.
//!
//! Read by hand-written visitors: a stream of thousands of small text chunks must cost little, so strings
//! that are not kept are not copied, and unknown fields cost nothing until there are any.

use std::borrow::Cow;
use std::fmt;

use charla_proto::{Blob, Extra, FileData, FunctionResponse, Part, PartKind, PromptFeedback, UsageMetadata};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A whole answer, or one chunk of a streamed one.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    pub candidates: Vec<WireCandidate<'a>>,
    pub usage: Option<UsageMetadata>,
    pub model_version: Option<Cow<'a, str>>,
    pub response_id: Option<Cow<'a, str>>,
    pub prompt_feedback: Option<PromptFeedback>,
    pub error: Option<Value>,
    pub extra: Extra,
}

#[derive(Debug, Default)]
pub(super) struct WireCandidate<'a> {
    pub index: u32,
    pub parts: Vec<WirePart>,
    pub finish_reason: Option<Cow<'a, str>>,
    pub finish_message: Option<String>,
    pub extra: Extra,
}

/// A part; a call among them may be only a piece of one.
#[derive(Debug, Default)]
pub(super) struct WirePart {
    pub part: Part,
    pub call: Option<WireCall>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireCall {
    pub id: Option<String>,
    pub name: Option<String>,
    pub args: Option<Value>,
    pub partial_args: Option<Vec<Value>>,
    pub will_continue: Option<bool>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A string that is borrowed from the text where it can be.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<Cow<'de, str>>, A::Error> {
    Ok(map.next_value::<Option<Text>>()?.map(|text| text.0))
}

fn list<'de, A: MapAccess<'de>, T: Deserialize<'de>>(map: &mut A) -> Result<Vec<T>, A::Error> {
    Ok(map.next_value::<Option<Vec<T>>>()?.unwrap_or_default())
}

impl<'de: 'a, 'a> Deserialize<'de> for Chunk<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ChunkVisitor;
        impl<'de> Visitor<'de> for ChunkVisitor {
            type Value = Chunk<'de>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an answer: an object with candidates")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Chunk<'de>, A::Error> {
                let mut chunk = Chunk::default();
                while let Some(Text(key)) = map.next_key::<Text>()? {
                    match &*key {
                        "candidates" => chunk.candidates = list(&mut map)?,
                        "usageMetadata" => chunk.usage = map.next_value()?,
                        "modelVersion" => chunk.model_version = text(&mut map)?,
                        "responseId" => chunk.response_id = text(&mut map)?,
                        "promptFeedback" => chunk.prompt_feedback = map.next_value()?,
                        "error" => chunk.error = map.next_value()?,
                        _ => chunk.extra.insert(key.into_owned(), map.next_value()?),
                    }
                }
                Ok(chunk)
            }
        }
        deserializer.deserialize_map(ChunkVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WireCandidate<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CandidateVisitor;
        impl<'de> Visitor<'de> for CandidateVisitor {
            type Value = WireCandidate<'de>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a candidate: an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireCandidate<'de>, A::Error> {
                let mut candidate = WireCandidate::default();
                while let Some(Text(key)) = map.next_key::<Text>()? {
                    match &*key {
                        "content" => {
                            let content = map.next_value::<Option<WireContent>>()?.unwrap_or_default();
                            candidate.parts = content.parts;
                        }
                        "index" => candidate.index = map.next_value::<Option<u32>>()?.unwrap_or(0),
                        "finishReason" => candidate.finish_reason = text(&mut map)?,
                        "finishMessage" => candidate.finish_message = map.next_value()?,
                        _ => candidate.extra.insert(key.into_owned(), map.next_value()?),
                    }
                }
                Ok(candidate)
            }
        }
        deserializer.deserialize_map(CandidateVisitor)
    }
}

/// A candidate's content; its role is always the model's, also where it is missing.
#[derive(Default, Deserialize)]
struct WireContent {
    #[serde(default, deserialize_with = "null_is_empty")]
    parts: Vec<WirePart>,
}

fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<WirePart>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl<'de> Deserialize<'de> for WirePart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = WirePart;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a part: an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WirePart, A::Error> {
        let mut wire = WirePart::default();
        let part = &mut wire.part;
        while let Some(Text(key)) = map.next_key::<Text>()? {
            match &*key {
                "text" => part.kind = kind(map.next_value()?, PartKind::Text),
                "thought" => part.thought = map.next_value::<Option<bool>>()?.unwrap_or(false),
                "thoughtSignature" => part.thought_signature = map.next_value()?,
                "functionCall" => wire.call = map.next_value()?,
                "inlineData" => {
                    part.kind = kind(map.next_value::<Option<Box<Blob>>>()?, PartKind::InlineData)
                }
                "fileData" => {
                    part.kind = kind(map.next_value::<Option<Box<FileData>>>()?, PartKind::FileData)
                }
                "functionResponse" => {
                    let response = map.next_value::<Option<Box<FunctionResponse>>>()?;
                    part.kind = kind(response, PartKind::FunctionResponse);
                }
                _ => part.extra.insert(key.into_owned(), map.next_value()?),
            }
        }
        Ok(wire)
    }
}

fn kind<T>(value: Option<T>, kind: impl FnOnce(T) -> PartKind) -> PartKind {
    value.map_or(PartKind::Other, kind)
}
