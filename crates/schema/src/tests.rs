use proptest::prelude::*;
use serde_json::json;

use super::*;

fn told(schema: Value, value: Value) -> Vec<String> {
    let schema = Schema::new(schema).unwrap();
    schema.problems(&value, 10).iter().map(|problem| format!("{}: {problem}", problem.place)).collect()
}

#[test]
fn problems_name_their_place_and_what_is_demanded() {
    for (schema, value, expected) in [
        (json!({"required": ["a"]}), json!({}), ": the required field `a` is missing"),
        (
            json!({"properties": {"a/b": {"type": "string"}}}),
            json!({"a/b": 1}),
            "/a~1b: must be of type string",
        ),
        (json!({"items": {"enum": ["x", 2]}}), json!(["x", 3]), "/1: must be one of \"x\", 2"),
        (json!({"const": {"a": 1}}), json!({"a": 2}), ": must be {\"a\":1}"),
        (json!({"exclusiveMinimum": 3}), json!(3), ": must be more than 3"),
        (json!({"maximum": 3, "exclusiveMaximum": true}), json!(3), ": must be less than 3"),
        (json!({"minLength": 2}), json!("ü"), ": must have at least 2 character(s)"),
        (json!({"pattern": "^a+$"}), json!("ab"), ": must match the pattern `^a+$`"),
        (json!({"multipleOf": 0.1}), json!(0.35), ": must be a multiple of 0.1"),
        (json!({"uniqueItems": true}), json!([1, 1.0]), ": must not have the same item twice"),
        (
            json!({"contains": {"type": "null"}}),
            json!([1]),
            ": must have at least 1 items that fit `contains`",
        ),
        (
            json!({"additionalProperties": false}),
            json!({"b": 1}),
            ": no other fields are allowed, but there is `b`",
        ),
        (json!({"propertyNames": {"maxLength": 1}}), json!({"ab": 1}), ": must not have a field named `ab`"),
        (
            json!({"anyOf": [{"type": "null"}, {"type": "boolean"}]}),
            json!(1),
            ": fits none of the alternatives",
        ),
        (
            json!({"oneOf": [{"minimum": 0}, {"minimum": 1}]}),
            json!(1),
            ": fits more than one of the alternatives that exclude each other",
        ),
        (json!({"not": {"type": "string"}}), json!(""), ": fits what is excluded"),
        (json!({"properties": {"a": false}}), json!({"a": 1}), "/a: must not be there"),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), ": the required field `b` is missing"),
        (json!({"if": {"const": 1}, "then": {"const": 2}}), json!(1), ": must be 2"),
        (
            json!({"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}),
            json!({"b": 1}),
            "/b: must not be there",
        ),
    ] {
        assert_eq!(told(schema.clone(), value), [expected], "{schema}");
    }
}

#[test]
fn the_alternative_of_the_values_own_type_tells_what_is_wrong() {
    let schema = json!({"anyOf": [{"type": "null"}, {"type": "object", "required": ["a"]}]});
    assert_eq!(told(schema, json!({})), [": the required field `a` is missing"]);
}

#[test]
fn references_lead_to_places_in_the_schema_and_nowhere_else() {
    let tree = json!({"$defs": {"n%1": {"properties": {"next": {"$ref": "#/$defs/n%251"}, "v": {"type": "integer"}}}}, "$ref": "#/$defs/n%251"});
    assert_eq!(told(tree, json!({"next": {"next": {"v": "x"}}})), ["/next/next/v: must be of type integer"]);
    let anchored =
        json!({"$id": "s", "$defs": {"a": {"$anchor": "here", "type": "null"}}, "items": {"$ref": "s#here"}});
    assert_eq!(told(anchored, json!([1])), ["/0: must be of type null"]);
    let identified =
        json!({"$id": "urn:x", "$defs": {"a": {"type": "null"}}, "items": {"$ref": "#/$defs/a"}});
    assert_eq!(told(identified, json!([1])), ["/0: must be of type null"]);
    let refused = Schema::new(json!({"items": {"$ref": "other.json#/a"}})).unwrap_err();
    assert!(refused.contains("other.json#/a"), "{refused}");
    assert!(Schema::lenient(json!({"items": {"$ref": "other.json"}})).fits(&json!([1])));
}

#[test]
fn parts_that_cannot_be_used_are_told_or_left_out() {
    for schema in [
        json!({"type": "text"}),
        json!({"type": 5}),
        json!("object"),
        json!({"properties": {"a": {"pattern": "("}}}),
        json!({"required": "a"}),
        json!({"anyOf": {}}),
        json!({"properties": []}),
        json!({"$dynamicRef": "#a", "$dynamicAnchor": "a"}),
    ] {
        assert!(Schema::new(schema.clone()).is_err(), "{schema}");
        assert!(Schema::lenient(schema).fits(&json!({"a": "x"})));
    }
}

#[test]
fn a_schema_that_leads_nowhere_or_everywhere_ends() {
    assert!(Schema::new(json!({"$ref": "#"})).unwrap().fits(&json!(1)));
    let mut bomb = json!({"type": "string"});
    for _ in 0..60 {
        bomb = json!({"anyOf": [bomb, bomb.clone()], "$defs": {}});
        if bomb.to_string().len() > 1_000_000 {
            break;
        }
    }
    assert!(Schema::new(json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}))
        .unwrap()
        .fits(&json!(1)));
    Schema::new(bomb).unwrap().fits(&json!(1));
    let many: Vec<Value> = (0..5_000).map(Value::from).collect();
    Schema::new(json!({"uniqueItems": true})).unwrap().fits(&json!(many));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..6).prop_map(Value::from),
        (-3i64..6).prop_map(|n| Value::from(n as f64 / 2.0)),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[abc]", inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}

fn schema() -> impl Strategy<Value = Value> {
    let kind =
        prop::sample::select(vec!["array", "boolean", "integer", "null", "number", "object", "string"]);
    let names = prop::collection::hash_set("[abc]", 0..3)
        .prop_map(|names| json!(names.into_iter().collect::<Vec<_>>()));
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        kind.clone().prop_map(|kind| json!({"type": kind})),
        prop::collection::hash_set(kind, 1..3)
            .prop_map(|kinds| json!({"type": kinds.into_iter().collect::<Vec<_>>()})),
        value().prop_map(|value| json!({"const": value})),
        prop::collection::vec(value(), 1..4).prop_map(|values| json!({"enum": values})),
        (
            0..4i64,
            prop::sample::select(vec![
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "minLength",
                "maxLength",
                "minItems",
                "maxItems",
                "minProperties",
                "maxProperties"
            ])
        )
            .prop_map(|(n, key)| json!({key: n})),
        prop::sample::select(vec![1.0, 0.5, 2.0]).prop_map(|n| json!({"multipleOf": n})),
        prop::sample::select(vec!["^a", "b$", "a.b", "^[ab]{2}$"])
            .prop_map(|pattern| json!({"pattern": pattern})),
        names.clone().prop_map(|names| json!({"required": names})),
        names.prop_map(|names| json!({"dependentRequired": {"a": names}})),
        Just(json!({"uniqueItems": true})),
        Just(json!({"$ref": "#/$defs/other"})),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..3);
        let named = prop::collection::hash_map("[abc]", inner.clone(), 0..3);
        let one = prop::sample::select(vec![
            "not",
            "items",
            "additionalProperties",
            "contains",
            "propertyNames",
            "unevaluatedProperties",
            "unevaluatedItems",
        ]);
        let several = prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]);
        let by_name = prop::sample::select(vec!["properties", "dependentSchemas", "patternProperties"]);
        let part = prop_oneof![
            (one, inner.clone()).prop_map(|(key, schema)| json!({key: schema})),
            (several, list).prop_map(|(key, schemas)| json!({key: schemas})),
            (by_name, named).prop_map(|(key, schemas)| json!({key: schemas})),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            (inner.clone(), 0..3u8, 1..3u8).prop_map(
                |(schema, least, most)| json!({"contains": schema, "minContains": least, "maxContains": most})
            ),
            inner,
        ];
        prop::collection::vec(part, 1..4).prop_map(|parts| {
            let fields = parts.into_iter().filter_map(|part| part.as_object().cloned()).flatten();
            Value::Object(fields.collect())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Another implementation, which no release contains, is of the same opinion.
    #[test]
    fn values_fit_as_another_implementation_says(root in schema(), other in schema(), values in prop::collection::vec(value(), 1..8)) {
        let mut root = if root.is_boolean() { json!({"allOf": [root]}) } else { root };
        root["$defs"] = json!({"other": if other.to_string().contains("$ref") { json!(true) } else { other }});
        let reference = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&root).unwrap();
        let own = Schema::new(root.clone()).unwrap();
        for value in values {
            prop_assert_eq!(own.fits(&value), reference.is_valid(&value), "{} {}", &root, &value);
        }
    }
}
