//! One value beside one schema.

use std::cell::Cell;
use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use crate::problem::{Problem, Wrong};
use crate::values::{compared, has_type, is_multiple, same};
use crate::{MOST_STEPS, Schema, places};

/// How deep schemas may lead into each other. A reference that comes back to itself without a step into the value
/// ends here.
const DEEPEST: usize = 200;

/// Where in the value: the way back to its root.
pub(crate) struct Place<'p> {
    up: Option<&'p Place<'p>>,
    step: Step<'p>,
}

enum Step<'p> {
    Root,
    Field(&'p str),
    Item(usize),
}

impl<'p> Place<'p> {
    pub(crate) const ROOT: Place<'static> = Place { up: None, step: Step::Root };

    fn field(&'p self, name: &'p str) -> Place<'p> {
        Place { up: Some(self), step: Step::Field(name) }
    }

    fn item(&'p self, at: usize) -> Place<'p> {
        Place { up: Some(self), step: Step::Item(at) }
    }

    fn pointer(&self) -> String {
        let mut pointer = self.up.map(Place::pointer).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Field(name) => {
                pointer.push_str(&format!("/{}", name.replace('~', "~0").replace('/', "~1")))
            }
            Step::Item(at) => pointer.push_str(&format!("/{at}")),
        }
        pointer
    }
}

/// One check of one value.
pub(crate) struct Walk<'a> {
    schema: &'a Schema,
    steps: Cell<usize>,
    depth: Cell<usize>,
}

/// What was found so far.
type Found<'a> = Vec<Problem<'a>>;

impl<'a> Walk<'a> {
    pub(crate) fn new(schema: &'a Schema) -> Self {
        Self { schema, steps: Cell::new(0), depth: Cell::new(0) }
    }

    /// Whether the schema demanded more than a check may take.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.steps.get() >= MOST_STEPS
    }

    /// The schema that a reference of this one leads to.
    pub(crate) fn referred(&self, schema: &'a Value) -> Option<&'a Value> {
        places::target(&self.schema.root, places::reference(schema)?)
    }

    /// Whether a pattern of the schema matches; one that could not be used matches everything.
    pub(crate) fn matches(&self, pattern: &str, text: &str) -> bool {
        self.schema.patterns.get(pattern).is_none_or(|regex| regex.is_match(text))
    }

    /// Whether the value fits.
    pub(crate) fn fits(&self, schema: &'a Value, value: &'a Value) -> bool {
        let mut found = Vec::new();
        self.check(schema, value, &Place::ROOT, &mut found);
        found.is_empty()
    }

    /// Adds what does not fit.
    pub(crate) fn check(&self, schema: &'a Value, value: &'a Value, place: &Place, found: &mut Found<'a>) {
        let depth = self.depth.get();
        if self.is_exhausted() || depth >= DEEPEST {
            return;
        }
        self.steps.set(self.steps.get() + 1);
        self.depth.set(depth + 1);
        match schema {
            Value::Bool(false) => found.push(problem(place, value, Wrong::Forbidden)),
            Value::Object(keywords) => {
                self.any_value(schema, keywords, value, place, found);
                match value {
                    Value::Number(number) => numbers(keywords, number, value, place, found),
                    Value::String(text) => self.text(keywords, text, value, place, found),
                    Value::Array(items) => self.items(keywords, items, value, place, found),
                    Value::Object(fields) => self.fields(keywords, fields, value, place, found),
                    _ => {}
                }
                self.combined(keywords, value, place, found);
                self.unevaluated(schema, keywords, value, place, found);
            }
            _ => {}
        }
        self.depth.set(depth);
    }

    fn any_value(
        &self,
        schema: &'a Value,
        keywords: &'a Map<String, Value>,
        value: &'a Value,
        place: &Place,
        found: &mut Found<'a>,
    ) {
        let types = places::types(schema);
        if !types.is_empty() && !types.iter().any(|name| has_type(value, name)) {
            found.push(problem(place, value, Wrong::Type(types)));
        }
        if let Some(Value::Array(options)) = keywords.get("enum")
            && !options.iter().any(|option| same(option, value))
        {
            found.push(problem(place, value, Wrong::OneOf(options)));
        }
        if let Some(only) = keywords.get("const").filter(|only| !same(only, value)) {
            found.push(problem(place, value, Wrong::Exactly(only)));
        }
        if let Some(referred) = self.referred(schema) {
            self.check(referred, value, place, found);
        }
    }

    fn text(
        &self,
        keywords: &'a Map<String, Value>,
        text: &str,
        value: &'a Value,
        place: &Place,
        found: &mut Found<'a>,
    ) {
        counted(
            keywords,
            ("minLength", "maxLength", "character(s)"),
            || text.chars().count(),
            |wrong| {
                found.push(problem(place, value, wrong));
            },
        );
        if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str)
            && !self.matches(pattern, text)
        {
            found.push(problem(place, value, Wrong::Pattern(pattern)));
        }
    }

    fn items(
        &self,
        keywords: &'a Map<String, Value>,
        items: &'a [Value],
        value: &'a Value,
        place: &Place,
        found: &mut Found<'a>,
    ) {
        counted(
            keywords,
            ("minItems", "maxItems", "item(s)"),
            || items.len(),
            |wrong| {
                found.push(problem(place, value, wrong));
            },
        );
        let (first, rest) = item_schemas(keywords);
        for (at, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(at).or(rest) {
                self.check(schema, item, &place.item(at), found);
            }
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) && self.repeated(items) {
            found.push(problem(place, value, Wrong::Repeated));
        }
        if let Some(schema) = keywords.get("contains") {
            let fitting = items.iter().filter(|item| self.fits(schema, item)).count() as u64;
            let (least, most) = (count(keywords, "minContains").unwrap_or(1), count(keywords, "maxContains"));
            if fitting < least {
                found.push(problem(place, value, Wrong::Contains("at least", least)));
            }
            if let Some(most) = most.filter(|most| fitting > *most) {
                found.push(problem(place, value, Wrong::Contains("at most", most)));
            }
        }
    }

    fn repeated(&self, items: &[Value]) -> bool {
        let mut later = items;
        while let Some((first, rest)) = later.split_first() {
            self.steps.set(self.steps.get() + rest.len());
            if self.is_exhausted() {
                return false;
            }
            if rest.iter().any(|other| same(first, other)) {
                return true;
            }
            later = rest;
        }
        false
    }

    fn fields(
        &self,
        keywords: &'a Map<String, Value>,
        fields: &'a Map<String, Value>,
        value: &'a Value,
        place: &Place,
        found: &mut Found<'a>,
    ) {
        let mut add = |wrong| found.push(problem(place, value, wrong));
        counted(keywords, ("minProperties", "maxProperties", "field(s)"), || fields.len(), &mut add);
        names(keywords.get("required"))
            .filter(|name| !fields.contains_key(*name))
            .map(Wrong::Missing)
            .for_each(&mut add);
        for key in ["dependentRequired", "dependencies"] {
            let needed = keywords.get(key).and_then(Value::as_object).into_iter().flatten();
            let needed = needed
                .filter(|(name, _)| fields.contains_key(*name))
                .flat_map(|(_, needed)| names(Some(needed)));
            needed.filter(|name| !fields.contains_key(*name)).map(Wrong::Missing).for_each(&mut add);
        }
        self.known_fields(keywords, fields, value, place, found);
        if let Some(schema) = keywords.get("propertyNames") {
            for name in fields.keys().filter(|name| !self.fits_name(schema, name)) {
                found.push(problem(place, value, Wrong::Name(name)));
            }
        }
        for key in ["dependentSchemas", "dependencies"] {
            let named = keywords.get(key).and_then(Value::as_object).into_iter().flatten();
            for (_, schema) in named.filter(|(name, schema)| !schema.is_array() && fields.contains_key(*name))
            {
                self.check(schema, value, place, found);
            }
        }
    }

    /// Fields by their schemas, and those that have none.
    fn known_fields(
        &self,
        keywords: &'a Map<String, Value>,
        fields: &'a Map<String, Value>,
        value: &'a Value,
        place: &Place,
        found: &mut Found<'a>,
    ) {
        let others = keywords.get("additionalProperties");
        let mut unknown = Vec::new();
        for (name, field) in fields {
            let mut known = false;
            for schema in self.schemas_of(keywords, name) {
                known = true;
                self.check(schema, field, &place.field(name), found);
            }
            match others {
                Some(Value::Bool(false)) if !known => unknown.push(name.as_str()),
                Some(schema) if !known => self.check(schema, field, &place.field(name), found),
                _ => {}
            }
        }
        if !unknown.is_empty() {
            found.push(problem(place, value, Wrong::Unknown(unknown)));
        }
    }

    /// The schemas that `properties` and `patternProperties` have for a field.
    pub(crate) fn schemas_of(
        &self,
        keywords: &'a Map<String, Value>,
        name: &'a str,
    ) -> impl Iterator<Item = &'a Value> {
        let own = keywords.get("properties").and_then(|properties| properties.get(name));
        let patterns = keywords.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
        own.into_iter()
            .chain(patterns.filter(|(pattern, _)| self.matches(pattern, name)).map(|(_, schema)| schema))
    }

    fn combined(
        &self,
        keywords: &'a Map<String, Value>,
        value: &'a Value,
        place: &Place,
        found: &mut Found<'a>,
    ) {
        let list = |key: &str| keywords.get(key).and_then(Value::as_array);
        list("allOf").into_iter().flatten().for_each(|schema| self.check(schema, value, place, found));
        if let Some(any) = list("anyOf")
            && !any.iter().any(|schema| self.fits(schema, value))
        {
            found.push(
                self.nearest(any, value, place)
                    .unwrap_or_else(|| problem(place, value, Wrong::NoAlternative)),
            );
        }
        if let Some(one) = list("oneOf") {
            match one.iter().filter(|schema| self.fits(schema, value)).take(2).count() {
                0 => found.push(
                    self.nearest(one, value, place)
                        .unwrap_or_else(|| problem(place, value, Wrong::NoAlternative)),
                ),
                1 => {}
                _ => found.push(problem(place, value, Wrong::Ambiguous)),
            }
        }
        if keywords.get("not").is_some_and(|not| self.fits(not, value)) {
            found.push(problem(place, value, Wrong::Excluded));
        }
        if let Some(condition) = keywords.get("if") {
            let then = if self.fits(condition, value) { "then" } else { "else" };
            keywords.get(then).into_iter().for_each(|schema| self.check(schema, value, place, found));
        }
    }

    /// What is wrong with the one alternative of the value's own type, where there is one: it is what was meant.
    fn nearest(&self, alternatives: &'a [Value], value: &'a Value, place: &Place) -> Option<Problem<'a>> {
        let mut of_its_type = alternatives.iter().filter_map(|schema| {
            let mut found = Vec::new();
            self.check(schema, value, place, &mut found);
            let wrong_type = found.iter().any(|problem| {
                std::ptr::eq(problem.given, value)
                    && matches!(problem.wrong, Wrong::Type(_) | Wrong::Forbidden)
            });
            (!wrong_type).then_some(found)
        });
        match (of_its_type.next(), of_its_type.next()) {
            (Some(found), None) => found.into_iter().next(),
            _ => None,
        }
    }

    fn unevaluated(
        &self,
        schema: &'a Value,
        keywords: &'a Map<String, Value>,
        value: &'a Value,
        place: &Place,
        found: &mut Found<'a>,
    ) {
        match (value, keywords.get("unevaluatedProperties"), keywords.get("unevaluatedItems")) {
            (Value::Object(fields), Some(rest), _) => {
                let seen = self.evaluated_fields(schema, value);
                for (name, field) in fields.iter().filter(|(name, _)| !seen.contains(name.as_str())) {
                    self.check(rest, field, &place.field(name), found);
                }
            }
            (Value::Array(items), _, Some(rest)) => {
                let seen = self.evaluated_items(schema, value);
                for (at, item) in items.iter().enumerate().filter(|(at, _)| !seen.contains(at)) {
                    self.check(rest, item, &place.item(at), found);
                }
            }
            _ => {}
        }
    }

    fn fits_name(&self, schema: &'a Value, name: &str) -> bool {
        let name = Value::from(name);
        Walk { schema: self.schema, steps: self.steps.clone(), depth: self.depth.clone() }.fits(schema, &name)
    }
}

/// The schemas of the first items one by one, and the one of all others.
pub(crate) fn item_schemas(keywords: &Map<String, Value>) -> (&[Value], Option<&Value>) {
    match (keywords.get("prefixItems"), keywords.get("items")) {
        (_, Some(Value::Array(first))) => (first, keywords.get("additionalItems")),
        (Some(Value::Array(first)), rest) => (first, rest),
        (_, rest) => (&[], rest),
    }
}

fn numbers<'a>(
    keywords: &'a Map<String, Value>,
    number: &Number,
    value: &'a Value,
    place: &Place,
    found: &mut Found<'a>,
) {
    let strict = |key: &str| keywords.get(key) == Some(&Value::Bool(true));
    for (key, relation, broken) in [
        ("minimum", "at least", Ordering::Less),
        ("maximum", "at most", Ordering::Greater),
        ("exclusiveMinimum", "more than", Ordering::Less),
        ("exclusiveMaximum", "less than", Ordering::Greater),
    ] {
        let Some(limit @ Value::Number(bound)) = keywords.get(key) else { continue };
        // Draft 4 makes a limit exclusive by a flag beside it.
        let (relation, exclusive) = match key {
            "minimum" if strict("exclusiveMinimum") => ("more than", true),
            "maximum" if strict("exclusiveMaximum") => ("less than", true),
            _ => (relation, key.starts_with("exclusive")),
        };
        let order = compared(number, bound);
        if order == broken || (exclusive && order == Ordering::Equal) {
            found.push(problem(place, value, Wrong::Number(relation, limit)));
        }
    }
    if let Some(step @ Value::Number(of)) = keywords.get("multipleOf")
        && !is_multiple(number, of)
    {
        found.push(problem(place, value, Wrong::MultipleOf(step)));
    }
}

/// Tells what is wrong with how many there are; counts only where a limit is set.
fn counted<'a>(
    keywords: &Map<String, Value>,
    (least, most, what): (&str, &str, &'static str),
    there_are: impl Fn() -> usize,
    mut tell: impl FnMut(Wrong<'a>),
) {
    if let Some(limit) = count(keywords, least).filter(|limit| (there_are() as u64) < *limit) {
        tell(Wrong::Count(what, "at least", limit));
    }
    if let Some(limit) = count(keywords, most).filter(|limit| (there_are() as u64) > *limit) {
        tell(Wrong::Count(what, "at most", limit));
    }
}

fn count(keywords: &Map<String, Value>, key: &str) -> Option<u64> {
    let limit = keywords.get(key)?;
    limit.as_u64().or_else(|| limit.as_f64().filter(|limit| *limit >= 0.0).map(|limit| limit as u64))
}

fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn problem<'a>(place: &Place, given: &'a Value, wrong: Wrong<'a>) -> Problem<'a> {
    Problem { place: place.pointer(), given, wrong }
}
