//! Which fields and items of a value a schema has spoken about, for `unevaluatedProperties` and `unevaluatedItems`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::walk::{Walk, item_schemas};

/// How deep schemas that apply to the same value are followed.
const MOST_APPLIED: usize = 32;

impl<'a> Walk<'a> {
    /// The fields that a schema, and those within it that fit, have spoken about.
    pub(crate) fn evaluated_fields(&self, schema: &'a Value, value: &'a Value) -> HashSet<&'a str> {
        let mut seen = HashSet::new();
        self.each_applied(schema, value, MOST_APPLIED, &mut |keywords, outermost| {
            let fields = value.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
            let all = keywords.contains_key("additionalProperties")
                || (!outermost && keywords.contains_key("unevaluatedProperties"));
            seen.extend(fields.filter(|name| all || self.schemas_of(keywords, name).next().is_some()));
        });
        seen
    }

    /// The items that a schema, and those within it that fit, have spoken about.
    pub(crate) fn evaluated_items(&self, schema: &'a Value, value: &'a Value) -> HashSet<usize> {
        let mut seen = HashSet::new();
        self.each_applied(schema, value, MOST_APPLIED, &mut |keywords, outermost| {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let (first, rest) = item_schemas(keywords);
            let all = rest.is_some() || (!outermost && keywords.contains_key("unevaluatedItems"));
            let contained = keywords.get("contains");
            seen.extend(items.iter().enumerate().filter_map(|(at, item)| {
                let told = all || at < first.len() || contained.is_some_and(|schema| self.fits(schema, item));
                told.then_some(at)
            }));
        });
        seen
    }

    /// Shows the keywords of a schema and of those that apply to the same value and fit it.
    fn each_applied(
        &self,
        schema: &'a Value,
        value: &'a Value,
        depth: usize,
        see: &mut impl FnMut(&'a Map<String, Value>, bool),
    ) {
        let Some(keywords) = schema.as_object() else { return };
        see(keywords, depth == MOST_APPLIED);
        let Some(depth) = depth.checked_sub(1) else { return };
        let lists =
            ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| keywords.get(key)?.as_array()).flatten();
        let condition = keywords.get("if").map(|condition| (condition, self.fits(condition, value)));
        let branch = condition.and_then(|(_, holds)| keywords.get(if holds { "then" } else { "else" }));
        let dependent = keywords.get("dependentSchemas").and_then(Value::as_object).into_iter().flatten();
        let dependent =
            dependent.filter(|(name, _)| value.get(name.as_str()).is_some()).map(|(_, schema)| schema);
        let others = self.referred(schema).into_iter().chain(lists).chain(branch).chain(dependent);
        for applied in others.chain(condition.map(|(condition, _)| condition)) {
            if self.fits(applied, value) {
                self.each_applied(applied, value, depth, see);
            }
        }
    }
}
