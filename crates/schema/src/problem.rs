//! What does not fit, and how it is said.

use std::fmt;

use serde_json::Value;

/// One part of a value that does not fit.
#[derive(Debug)]
pub struct Problem<'a> {
    /// Where in the value, as a JSON pointer; empty for all of it.
    pub place: String,
    /// What stands there.
    pub given: &'a Value,
    /// What the schema demands.
    pub wrong: Wrong<'a>,
}

/// What a schema demands and a value does not have.
#[derive(Debug)]
pub enum Wrong<'a> {
    /// A field is missing.
    Missing(&'a str),
    /// Fields that the schema does not know and does not allow.
    Unknown(Vec<&'a str>),
    /// Another type: one of these.
    Type(Vec<&'a str>),
    /// One of these values.
    OneOf(&'a [Value]),
    /// This value and no other.
    Exactly(&'a Value),
    /// A limit of size or number: `at least`, `at most`, `more than`, `less than`, and the limit.
    Number(&'static str, &'a Value),
    /// How many characters, items or fields: their name, `at least` or `at most`, and how many.
    Count(&'static str, &'static str, u64),
    /// A multiple of this.
    MultipleOf(&'a Value),
    /// Text that this pattern matches.
    Pattern(&'a str),
    /// Items that occur twice.
    Repeated,
    /// An item that fits, at least so often or at most so often.
    Contains(&'static str, u64),
    /// The name of a field that must not be there.
    Name(&'a str),
    /// None of the alternatives fits.
    NoAlternative,
    /// Several of the alternatives fit where one must.
    Ambiguous,
    /// Something that must not fit does.
    Excluded,
    /// Nothing may stand here.
    Forbidden,
}

impl fmt::Display for Wrong<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "the required field `{name}` is missing"),
            Self::Unknown(names) => {
                write!(f, "no other fields are allowed, but there is `{}`", names.join("`, `"))
            }
            Self::Type(types) => write!(f, "must be of type {}", types.join(" or ")),
            Self::OneOf(options) => {
                let options: Vec<String> = options.iter().map(Value::to_string).collect();
                write!(f, "must be one of {}", options.join(", "))
            }
            Self::Exactly(value) => write!(f, "must be {value}"),
            Self::Number(relation, limit) => write!(f, "must be {relation} {limit}"),
            Self::Count(what, relation, limit) => write!(f, "must have {relation} {limit} {what}"),
            Self::MultipleOf(step) => write!(f, "must be a multiple of {step}"),
            Self::Pattern(pattern) => write!(f, "must match the pattern `{pattern}`"),
            Self::Repeated => write!(f, "must not have the same item twice"),
            Self::Contains(relation, limit) => {
                write!(f, "must have {relation} {limit} items that fit `contains`")
            }
            Self::Name(name) => write!(f, "must not have a field named `{name}`"),
            Self::NoAlternative => write!(f, "fits none of the alternatives"),
            Self::Ambiguous => write!(f, "fits more than one of the alternatives that exclude each other"),
            Self::Excluded => write!(f, "fits what is excluded"),
            Self::Forbidden => write!(f, "must not be there"),
        }
    }
}

impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.wrong.fmt(f)
    }
}
