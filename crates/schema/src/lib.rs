//! Checks JSON values against a JSON Schema.
//!
//! All of draft 2020-12 that speaks about values is understood, and what earlier drafts wrote otherwise (`definitions`,
//! `dependencies`, lists in `items`, flags in `exclusiveMinimum`). `format` is a remark, as that draft has it.
//! References lead to places in the same schema, by pointer, anchor or `$id`; nothing is ever fetched, and `$dynamicRef` is
//! not followed.
//!
//! Schemas may come from strangers: a check takes a bounded number of steps, however a schema is nested. A schema is
//! read in place, so that one that is never used costs nothing.

mod evaluated;
mod places;
mod problem;
mod values;
mod walk;

use std::collections::HashMap;

use regex::Regex;
use serde_json::Value;

pub use problem::{Problem, Wrong};

/// What a schema may demand of the checker: a value that takes more steps counts as fitting.
const MOST_STEPS: usize = 200_000;
/// How large a pattern may become.
const MOST_PATTERN: usize = 1 << 20;

/// A schema, ready to check values.
#[derive(Debug)]
pub struct Schema {
    root: Value,
    /// The patterns that occur anywhere in the schema.
    patterns: HashMap<String, Regex>,
}

impl Schema {
    /// The schema if every part of it can be used, and what cannot be used otherwise.
    pub fn new(root: Value) -> Result<Self, String> {
        let mut unusable = Vec::new();
        let schema = Self::read(root, &mut unusable);
        unusable.into_iter().next().map_or(Ok(schema), Err)
    }

    /// The schema without the parts that cannot be used: those demand nothing.
    pub fn lenient(root: Value) -> Self {
        Self::read(root, &mut Vec::new())
    }

    fn read(root: Value, unusable: &mut Vec<String>) -> Self {
        let mut patterns = HashMap::new();
        if !(root.is_object() || root.is_boolean()) {
            unusable.push(format!("a schema is an object, not {root}"));
        }
        places::each(&root, &mut |schema| {
            places::patterns(schema, &mut |pattern| match regex::RegexBuilder::new(pattern)
                .size_limit(MOST_PATTERN)
                .build()
            {
                Ok(regex) => drop(patterns.insert(pattern.to_owned(), regex)),
                Err(error) => unusable.push(format!("the pattern `{pattern}` cannot be used: {error}")),
            });
            if let Some(problem) = places::unusable(&root, schema) {
                unusable.push(problem);
            }
        });
        Self { root, patterns }
    }

    /// What does not fit, at most so many problems; nothing when the value fits.
    pub fn problems<'a>(&'a self, value: &'a Value, most: usize) -> Vec<Problem<'a>> {
        let walk = walk::Walk::new(self);
        let mut found = Vec::new();
        walk.check(&self.root, value, &walk::Place::ROOT, &mut found);
        if walk.is_exhausted() {
            return Vec::new();
        }
        found.truncate(most);
        found
    }

    /// Whether the value fits.
    pub fn fits(&self, value: &Value) -> bool {
        self.problems(value, 1).is_empty()
    }
}

#[cfg(test)]
mod tests;
