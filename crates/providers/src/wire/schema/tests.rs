use proptest::prelude::*;
use serde_json::json;

use super::*;

fn gemini(schema: Value) -> Value {
    adapt(&schema, WireKind::Gemini).unwrap().into_owned()
}

fn openai(schema: Value) -> Value {
    adapt(&schema, WireKind::OpenaiChat).unwrap().into_owned()
}

/// The adapted form of a schema as one argument's.
fn argument(schema: Value) -> Value {
    gemini(json!({"type": "object", "properties": {"a": schema}}))["properties"]["a"].clone()
}

#[test]
fn references_are_written_out_with_their_siblings() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/Some~1Name", "description": "mine"},
            "b": {"$ref": "#/definitions/Chain"},
            "c": {"$ref": "#/%24defs/Some~1Name"},
            "d": {"$ref": "#anchored"},
        },
        "$defs": {
            "Some/Name": {"type": "string", "description": "theirs"},
            "Anchored": {"$anchor": "anchored", "type": "integer"},
        },
        "definitions": {"Chain": {"$ref": "#/$defs/Some~1Name"}},
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "urn:test",
    });
    for wire in WireKind::ALL {
        let adapted = adapt(&schema, wire).unwrap();
        assert_eq!(adapted["properties"]["a"], json!({"type": "string", "description": "mine"}));
        assert_eq!(adapted["properties"]["b"], json!({"type": "string", "description": "theirs"}));
        assert_eq!(adapted["properties"]["c"], adapted["properties"]["b"]);
        assert_eq!(adapted["properties"]["d"], json!({"type": "integer"}));
        assert_eq!(adapted.as_object().unwrap().keys().collect::<Vec<_>>(), ["type", "properties"]);
    }
}

#[test]
fn a_cycle_ends_in_an_open_object() {
    let schema = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Node"}, "self": {"$ref": "#"}},
        "$defs": {"Node": {"type": "object", "properties": {
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        }}},
    });
    let adapted = gemini(schema);
    assert_eq!(adapted["properties"]["tree"]["properties"]["children"]["items"], json!({"type": "object"}));
    assert_eq!(adapted["properties"]["self"], json!({"type": "object"}));
}

#[test]
fn a_reference_to_nowhere_is_refused_with_its_name() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/Lost"}}});
    let reason = adapt(&schema, WireKind::Anthropic).unwrap_err();
    assert!(reason.contains("#/$defs/Lost"), "{reason}");
}

#[test]
fn references_that_double_at_every_level_are_refused() {
    let mut defs = Map::new();
    for level in 0..25 {
        let next = json!({"$ref": format!("#/$defs/L{}", level + 1)});
        let both = json!({"type": "object", "properties": {"a": next, "b": next}});
        defs.insert(format!("L{level}"), both);
    }
    defs.insert("L25".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/L0"}}, "$defs": defs});
    assert!(adapt(&schema, WireKind::OpenaiChat).unwrap_err().contains("512 KiB"));
}

#[test]
fn unions_spread_over_levels_are_refused_before_they_explode() {
    let mut schema = json!({"type": "string"});
    for _ in 0..28 {
        schema = json!({"items": schema, "anyOf": [{"minItems": 1}, {"minItems": 2}], "type": "array"});
    }
    let schema = json!({"type": "object", "properties": {"a": schema}});
    assert!(adapt(&schema, WireKind::Gemini).unwrap_err().contains("parts"));
}

#[test]
fn too_deep_a_schema_is_refused() {
    let mut schema = json!({"type": "string"});
    for _ in 0..100 {
        schema = json!({"type": "array", "items": schema});
    }
    let schema = json!({"type": "object", "properties": {"a": schema}});
    assert!(adapt(&schema, WireKind::Gemini).unwrap_err().contains("deeper"));
}

#[test]
fn null_among_types_becomes_nullable_for_gemini() {
    let nullable = json!({"type": "string", "nullable": true});
    assert_eq!(argument(json!({"type": ["string", "null"]})), nullable);
    assert_eq!(argument(json!({"anyOf": [{"type": "string"}, {"type": "null"}]})), nullable);
    assert_eq!(argument(json!({"oneOf": [{"type": "null"}, {"type": "STRING"}]})), nullable);
    assert_eq!(
        argument(json!({"enum": ["x", null]})),
        json!({"type": "string", "enum": ["x"], "nullable": true})
    );
    assert_eq!(
        argument(json!({"type": ["string", "integer", "null"], "description": "either"})),
        json!({"anyOf": [
            {"type": "string", "description": "either", "nullable": true},
            {"type": "integer", "description": "either", "nullable": true},
        ]})
    );
}

#[test]
fn nothing_stands_beside_any_of_for_gemini() {
    let adapted = argument(json!({
        "description": "where",
        "default": null,
        "oneOf": [{"type": "string"}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}],
    }));
    assert_eq!(
        adapted,
        json!({"anyOf": [
            {"type": "string", "description": "where"},
            {"type": "integer", "description": "where"},
        ]})
    );
}

#[test]
fn all_of_is_merged_for_gemini() {
    let adapted = argument(json!({"allOf": [
        {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
        {"properties": {"y": {"type": "integer"}}, "required": ["y", "ghost"]},
    ]}));
    assert_eq!(
        adapted,
        json!({
            "type": "object",
            "properties": {"x": {"type": "string"}, "y": {"type": "integer"}},
            "required": ["x", "y"],
        })
    );
}

#[test]
fn missing_types_are_inferred_for_gemini() {
    assert_eq!(argument(json!({"properties": {}}))["type"], "object");
    assert_eq!(argument(json!({"items": {"type": "string"}}))["type"], "array");
    assert_eq!(argument(json!({"minimum": 1}))["type"], "number");
    assert_eq!(argument(json!({"maxLength": 3}))["type"], "string");
    assert_eq!(argument(json!({"const": "x"})), json!({"type": "string", "enum": ["x"]}));
    assert_eq!(argument(json!({"type": "array"}))["items"], argument(json!(true)));
    assert_eq!(argument(json!({}))["anyOf"].as_array().unwrap().len(), 4);
}

#[test]
fn what_gemini_refuses_is_left_out() {
    assert_eq!(
        argument(json!({
            "type": "string", "format": "uri", "pattern": "^(?!x)", "default": "d", "examples": ["e"],
            "x-vendor": 1, "minLength": 2.0,
        })),
        json!({"type": "string", "minLength": 2})
    );
    assert_eq!(argument(json!({"type": "string", "format": "date-time"}))["format"], "date-time");
    assert_eq!(
        argument(json!({"type": "integer", "enum": [1, 2], "exclusiveMinimum": 0, "description": "n"})),
        json!({"type": "integer", "description": "n (one of: 1, 2)"})
    );
    assert_eq!(
        argument(json!({"type": "object", "additionalProperties": {"type": "string"}, "propertyNames": {}})),
        json!({"type": "object"})
    );
    assert_eq!(argument(json!({"type": "string", "enum": ["", "a"]}))["enum"], json!(["a"]));
    assert_eq!(argument(json!(false)), Value::Null);
}

#[test]
fn arguments_are_always_an_object() {
    let empty = json!({"type": "object", "properties": {}});
    for wire in WireKind::ALL {
        for schema in [json!(null), json!(true), json!({}), json!({"type": ["object", "null"]})] {
            assert_eq!(*adapt(&schema, wire).unwrap(), empty, "{wire:?} {schema}");
        }
        for schema in [json!(false), json!(3), json!("object"), json!([]), json!({"type": "array"})] {
            assert!(adapt(&schema, wire).is_err(), "{wire:?} {schema}");
        }
    }
}

#[test]
fn a_union_at_the_top_becomes_one_object() {
    let schema = json!({
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind", "x"]},
            {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind"]},
        ],
    });
    let adapted = openai(schema.clone());
    assert_eq!(
        adapted,
        json!({
            "type": "object",
            "properties": {"kind": {"enum": ["a", "b"]}, "x": {"type": "string"}, "y": {"type": "string"}},
            "required": ["kind"],
        })
    );
    assert_eq!(gemini(schema)["properties"]["kind"], json!({"type": "string", "enum": ["a", "b"]}));
}

#[test]
fn other_wires_keep_what_they_accept() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "format": "uri"},
            "b": {"type": "integer", "enum": [1, 2], "exclusiveMinimum": 0},
            "c": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["a"],
        "additionalProperties": false,
    });
    assert_eq!(openai(schema.clone()), schema);
    let repaired = openai(json!({"properties": {
        "list": {"type": "ARRAY"},
        "old": {"type": "any", "required": true, "exclusiveMinimum": true, "minimum": 1},
        "tuple": {"type": "array", "items": [{"type": "string"}, true], "additionalItems": false},
        "maybe": {"type": "string", "nullable": true},
    }}));
    assert_eq!(
        repaired["properties"],
        json!({
            "list": {"type": "array", "items": {}},
            "old": {"minimum": 1},
            "tuple": {"type": "array", "prefixItems": [{"type": "string"}, {}], "items": false},
            "maybe": {"type": ["string", "null"]},
        })
    );
}

#[test]
fn an_argument_name_anthropic_refuses_is_left_out_unless_required() {
    let schema = |required: Value| json!({"type": "object", "properties": {"$filter": {"type": "string"}, "ok": {}}, "required": required});
    let adapted = adapt(&schema(json!(["ok"])), WireKind::Anthropic).unwrap().into_owned();
    assert_eq!(adapted["properties"], json!({"ok": {}}));
    assert!(adapt(&schema(json!(["$filter"])), WireKind::Anthropic).is_err());
    assert!(adapt(&schema(json!(["$filter"])), WireKind::OpenaiChat).is_ok());
}

#[test]
fn property_names_that_look_like_keywords_are_names() {
    let schema = json!({"type": "object", "properties": {
        "$ref": {"type": "string"}, "definitions": {"type": "string"}, "type": {"type": "string"},
    }, "required": ["$ref"]});
    assert_eq!(gemini(schema.clone()), schema);
    assert_eq!(openai(schema.clone()), schema);
}

#[test]
fn an_answer_may_be_of_any_type() {
    let list = json!({"type": "array", "items": {"$ref": "#/$defs/I"}, "$defs": {"I": {"type": "integer"}}});
    for wire in WireKind::ALL {
        let adapted = adapt_answer(&list, wire).unwrap();
        assert_eq!(adapted, json!({"type": "array", "items": {"type": "integer"}}));
    }
}

#[test]
fn names_are_checked_by_wire() {
    let check = |name: &str, wire| check_name(name, wire).is_ok();
    assert!(check("read_file", WireKind::Gemini) && check("read_file", WireKind::OpenaiChat));
    assert!(check("mcp.server.tool", WireKind::Gemini) && !check("mcp.server.tool", WireKind::OpenaiChat));
    assert!(!check("1st", WireKind::Gemini) && check("1st", WireKind::Anthropic));
    assert!(!check("", WireKind::Anthropic) && !check("a b", WireKind::Gemini));
    assert!(!check(&"x".repeat(65), WireKind::Gemini) && check(&"x".repeat(65), WireKind::Anthropic));
}

/// Wires that take JSON Schema as it is.
const OPEN_WIRES: [WireKind; 2] = [WireKind::OpenaiChat, WireKind::OpenaiResponses];

#[test]
fn a_usual_schema_is_sent_as_it_stands() {
    let schema = json!({
        "type": "object",
        "title": "Arguments",
        "properties": {
            "path": {"type": "string", "description": "A file.", "minLength": 1, "pattern": "^/"},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3},
            "any": {},
        },
        "required": ["path", "kind"],
        "additionalProperties": false,
    });
    for wire in OPEN_WIRES {
        assert!(matches!(adapt(&schema, wire), Ok(Cow::Borrowed(_))), "{wire:?}");
        assert_eq!(adapted(&schema, wire).unwrap().to_string(), schema.to_string());
    }
}

#[test]
fn a_schema_beyond_the_usual_size_or_depth_is_measured() {
    let huge = json!({"type": "object", "properties": {"a": {"description": "x".repeat(600 * 1024)}}});
    let deep = (0..100).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    let deep = json!({"type": "object", "properties": {"a": deep}});
    for wire in OPEN_WIRES {
        assert!(adapt(&huge, wire).unwrap_err().contains("512 KiB"));
        assert!(adapt(&deep, wire).unwrap_err().contains("deeper"));
    }
}

/// Schemas of usual tools, some with one thing in them that is not usual.
fn usual_schemas() -> impl Strategy<Value = Value> {
    let odd = prop_oneof![
        Just(json!(true)),
        Just(json!(3)),
        Just(json!([])),
        Just(json!(["a", "a"])),
        Just(json!("Object")),
        Just(json!({"type": "array"})),
        Just(json!({"nullable": true, "type": "string"})),
        Just(json!({"anyOf": [{"type": "string"}, true]})),
    ];
    let leaf = prop_oneof![
        Just(json!({"type": "string", "description": "words", "minLength": 1})),
        Just(json!({"type": "integer", "minimum": 1})),
        Just(json!({"type": "string", "enum": ["a", "b"]})),
        Just(json!({})),
    ];
    let inner = leaf.prop_recursive(3, 20, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.prop_map(|a| json!({"type": "object", "properties": {"a": a}, "required": ["a"]})),
        ]
    });
    let key = "type|properties|items|enum|required|additionalProperties|description|minimum|minLength|not|x";
    (inner, key, prop::option::of(odd), any::<bool>()).prop_map(|(a, key, odd, at_the_top)| {
        let mut schema = json!({"type": "object", "properties": {"a": a}, "required": ["a"]});
        let place = if at_the_top { Some(&mut schema) } else { schema.pointer_mut("/properties/a") };
        if let (Some(odd), Some(Value::Object(place))) = (odd, place) {
            place.insert(key, odd);
        }
        schema
    })
}

/// JSON that looks like schemas, right and wrong.
fn schemas() -> impl Strategy<Value = Value> {
    let pointer = prop_oneof!["#", "#/\\$defs/A", "#/\\$defs/B", "#/properties/a", "#B", "x", "#/%zz"];
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
        pointer.prop_map(|reference| json!({ "$ref": reference })),
        prop_oneof!["string", "object", "array", "null", "INTEGER"].prop_map(|name| json!({ "type": name })),
    ];
    let key = prop_oneof![
        "type|properties|items|anyOf|oneOf|allOf|\\$ref|\\$defs|enum|const|required|not|prefixItems",
        "additionalProperties|description|nullable|minimum|\\$anchor|a|A|B",
    ];
    leaf.prop_recursive(5, 60, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// True when a schema position below holds a reference.
fn has_reference(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return false };
    map.contains_key("$ref")
        || map.iter().any(|(key, value)| match (key.as_str(), value) {
            ("properties" | "patternProperties", Value::Object(named)) => named.values().any(has_reference),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter().any(has_reference)
            }
            ("items" | "not" | "additionalProperties", value) => has_reference(value),
            _ => false,
        })
}

/// True when Gemini would know every keyword and find every rule kept.
fn is_gemini(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return false };
    if let Some(Value::Array(variants)) = map.get("anyOf") {
        return map.len() == 1 && variants.len() > 1 && variants.iter().all(is_gemini);
    }
    let names: Vec<&String> =
        map.get("properties").and_then(Value::as_object).into_iter().flatten().map(|p| p.0).collect();
    map.get("type").is_some_and(Value::is_string)
        && map.get("type") != Some(&json!("null"))
        && (map["type"] != "array" || map.get("items").is_some_and(is_gemini))
        && map.get("properties").is_none_or(|named| named.as_object().unwrap().values().all(is_gemini))
        && union::required(map).iter().all(|name| names.contains(&name))
        && map.get("enum").is_none_or(|values| values.as_array().unwrap().iter().all(Value::is_string))
        && !["const", "allOf", "oneOf", "$ref", "additionalProperties"]
            .iter()
            .any(|key| map.contains_key(*key))
}

proptest! {
    #[test]
    fn only_what_would_not_change_is_sent_as_it_stands(
        usual in usual_schemas(),
        any in schemas(),
        properties in schemas(),
    ) {
        let object = json!({"type": "object", "properties": {"a": properties}});
        for schema in [usual, any, object] {
            for wire in OPEN_WIRES {
                if let Ok(Cow::Borrowed(_)) = adapt(&schema, wire) {
                    prop_assert_eq!(adapted(&schema, wire).map(|value| value.to_string()), Ok(schema.to_string()));
                }
            }
        }
    }

    #[test]
    fn any_json_is_adapted_or_refused(schema in schemas()) {
        for wire in WireKind::ALL {
            if let Ok(adapted) = adapt(&schema, wire) {
                prop_assert!(!has_reference(&adapted), "{adapted}");
                prop_assert_eq!(&adapted["type"], "object");
                prop_assert!(adapted["properties"].is_object());
                prop_assert!(wire != WireKind::Gemini || is_gemini(&adapted), "{schema} became {adapted}");
                for key in ["anyOf", "oneOf", "allOf"] {
                    prop_assert!(adapted.get(key).is_none(), "{adapted}");
                }
            }
            let _ = adapt_answer(&schema, wire);
        }
    }
}
