//! The same calls in every dialect.

use serde_json::{Map, Value, json};

/// A call: name and arguments.
pub type Call = (&'static str, Value);

/// One dialect.
pub struct Format {
    /// Its name in reports.
    pub name: &'static str,
    /// Writes calls as a model of that family does.
    pub write: fn(&[Call]) -> String,
    /// Calls count although prose follows.
    pub before_prose: bool,
}

/// Prefixed tags, spelled apart so that this file holds no such tag itself.
const NAMESPACE: &str = "antml";

fn lines(calls: &[Call], write: impl Fn(&Call) -> String) -> String {
    calls.iter().map(write).collect::<Vec<_>>().join("\n")
}

fn loose((name, args): &Call) -> Value {
    json!({"name": name, "arguments": args})
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

fn texts(args: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    args.as_object().unwrap().iter().map(|(key, value)| (key.clone(), text(value))).collect()
}

fn invoke(prefix: &str, (name, args): &Call) -> String {
    let parameters: String = texts(args)
        .iter()
        .map(|(key, value)| format!("<{prefix}parameter name=\"{key}\">{value}</{prefix}parameter>\n"))
        .collect();
    format!("<{prefix}invoke name=\"{name}\">\n{parameters}</{prefix}invoke>\n")
}

fn array(calls: &[Call]) -> Value {
    calls.iter().map(loose).collect()
}

/// JSON whose characters beyond ASCII are escaped.
fn escaped(value: &Value) -> String {
    let mut text = String::new();
    for unit in value.to_string().encode_utf16() {
        match char::from_u32(unit.into()).filter(char::is_ascii) {
            Some(character) => text.push(character),
            None => text.push_str(&format!("\\u{unit:04x}")),
        }
    }
    text
}

pub const FORMATS: &[Format] = &[
    Format {
        name: "fenced tool_call",
        write: |calls| {
            lines(calls, |(name, args)| {
                format!("```json\n{}\n```", pretty(&json!({"tool_call": {"name": name, "arguments": args}})))
            })
        },
        before_prose: true,
    },
    Format {
        name: "inline tool_call",
        write: |calls| {
            lines(calls, |(name, args)| json!({"tool_call": {"name": name, "arguments": args}}).to_string())
        },
        before_prose: true,
    },
    Format {
        name: "tool_call fence without language",
        write: |calls| {
            lines(calls, |(name, args)| {
                format!("```\n{}\n```", escaped(&json!({"tool_call": {"name": name, "arguments": args}})))
            })
        },
        before_prose: true,
    },
    Format {
        name: "fence named tool_call",
        write: |calls| lines(calls, |call| format!("```tool_call\n{}\n```", loose(call))),
        before_prose: true,
    },
    Format {
        name: "fenced name and arguments",
        write: |calls| lines(calls, |call| format!("```json\n{}\n```", pretty(&loose(call)))),
        before_prose: false,
    },
    Format {
        name: "bare objects",
        write: |calls| lines(calls, |call| loose(call).to_string()),
        before_prose: false,
    },
    Format { name: "bare array", write: |calls| pretty(&array(calls)), before_prose: false },
    Format {
        name: "Llama bare",
        write: |calls| {
            let call = |(name, args): &Call| json!({"name": name, "parameters": args}).to_string();
            calls.iter().map(call).collect::<Vec<_>>().join("; ")
        },
        before_prose: false,
    },
    Format {
        name: "Llama python_tag",
        write: |calls| {
            let call = |(name, args): &Call| json!({"name": name, "parameters": args}).to_string();
            format!("<|python_tag|>{}<|eom_id|>", calls.iter().map(call).collect::<Vec<_>>().join("; "))
        },
        before_prose: true,
    },
    Format {
        name: "Hermes",
        write: |calls| lines(calls, |call| format!("<tool_call>\n{}\n</tool_call>", loose(call))),
        before_prose: true,
    },
    Format {
        name: "Hermes, arguments as text",
        write: |calls| {
            lines(calls, |(name, args)| {
                let call = json!({"id": "c1", "type": "function",
                    "function": {"name": name, "arguments": escaped(args)}});
                format!("<tool_call>{call}</tool_call>")
            })
        },
        before_prose: true,
    },
    Format {
        name: "Qwen coder",
        write: |calls| {
            lines(calls, |(name, args)| {
                let parameters: String = texts(args)
                    .iter()
                    .map(|(key, value)| format!("<parameter={key}>\n{value}\n</parameter>\n"))
                    .collect();
                format!("<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>")
            })
        },
        before_prose: true,
    },
    Format {
        name: "function tags",
        write: |calls| lines(calls, |(name, args)| format!("<function={name}>{args}</function>")),
        before_prose: true,
    },
    Format {
        name: "GLM",
        write: |calls| {
            lines(calls, |(name, args)| {
                let pairs: String = texts(args)
                    .iter()
                    .map(|(key, value)| format!("<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n"))
                    .collect();
                format!("<tool_call>{name}\n{pairs}</tool_call>")
            })
        },
        before_prose: true,
    },
    Format {
        name: "Mistral array",
        write: |calls| format!("[TOOL_CALLS]{}", array(calls)),
        before_prose: true,
    },
    Format {
        name: "Mistral names",
        write: |calls| calls.iter().map(|(name, args)| format!("[TOOL_CALLS]{name}{args}")).collect(),
        before_prose: true,
    },
    Format {
        name: "Mistral names with ids",
        write: |calls| {
            let call = |(name, args): &Call| format!("[TOOL_CALLS]{name}[CALL_ID]Ab3dEf9h1[ARGS]{args}");
            calls.iter().map(call).collect()
        },
        before_prose: true,
    },
    Format {
        name: "DeepSeek 3",
        write: |calls| {
            let call = |(name, args): &Call| {
                format!(
                    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{}\n```<｜tool▁call▁end｜>",
                    pretty(args)
                )
            };
            format!("<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>", lines(calls, call))
        },
        before_prose: true,
    },
    Format {
        name: "DeepSeek 3.1",
        write: |calls| {
            let call = |(name, args): &Call| {
                format!("<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{args}<｜tool▁call▁end｜>")
            };
            format!(
                "<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>",
                calls.iter().map(call).collect::<String>()
            )
        },
        before_prose: true,
    },
    Format {
        name: "DeepSeek 3.2",
        write: |calls| {
            let body: String = calls.iter().map(|call| invoke("｜DSML｜", call)).collect();
            format!("<｜DSML｜function_calls>\n{body}</｜DSML｜function_calls>")
        },
        before_prose: true,
    },
    Format {
        name: "Kimi",
        write: |calls| {
            let call = |(at, (name, args)): (usize, &Call)| {
                format!(
                    "<|tool_call_begin|>functions.{name}:{at}<|tool_call_argument_begin|>{args}<|tool_call_end|>"
                )
            };
            let calls: String = calls.iter().enumerate().map(call).collect();
            format!("<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>")
        },
        before_prose: true,
    },
    Format {
        name: "gpt-oss",
        write: |calls| {
            let call = |(name, args): &Call| {
                format!(
                    "<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{args}<|call|>"
                )
            };
            calls.iter().map(call).collect::<Vec<_>>().join("<|start|>assistant")
        },
        before_prose: true,
    },
    Format {
        name: "MiniMax",
        write: |calls| {
            let body: String = calls.iter().map(|call| invoke("", call)).collect();
            format!("<minimax:tool_call>\n{body}</minimax:tool_call>")
        },
        before_prose: true,
    },
    Format {
        name: "function_calls",
        write: |calls| {
            let prefix = format!("{NAMESPACE}:");
            let body: String = calls.iter().map(|call| invoke(&prefix, call)).collect();
            format!("<{prefix}function_calls>\n{body}</{prefix}function_calls>")
        },
        before_prose: true,
    },
    Format {
        name: "invoke alone",
        write: |calls| calls.iter().map(|call| invoke("", call)).collect::<String>().trim_end().to_owned(),
        before_prose: true,
    },
];

/// Sets of calls that every dialect must carry.
pub fn call_sets() -> Vec<(&'static str, Vec<Call>)> {
    let braces = "fn f() { if x { \"}{\" } }\n// ```json {\"a\": [1, {\"b\": \"\\\"\"}]} ``` `x` 'y' </b> ]}";
    let nested = json!({"path": "a/b c.rs", "content": braces, "options": {"deep": {"list": [1, {"k": "}"}], "none": null}}});
    let mut empty = Map::new();
    empty.insert("path".to_owned(), json!(""));
    vec![
        ("one call", vec![("read_file", json!({"path": "src/main.rs"}))]),
        (
            "two calls",
            vec![("read_file", json!({"path": "a.txt"})), ("list_directory", json!({"path": "."}))],
        ),
        ("nested", vec![("write_file", nested)]),
        (
            "unicode",
            vec![("write_file", json!({"path": "größe/日本.txt", "content": "é 😀 \u{2028} ｜ ▁ \u{7f}"}))],
        ),
        (
            "typed",
            vec![("search", json!({"pattern": "TODO", "limit": 5, "whole": true, "tags": ["a", "b"]}))],
        ),
        ("empty text", vec![("read_file", Value::Object(empty))]),
    ]
}
