//! What scripts and tests made for Gemini CLI find: its flags, settings, recordings, telemetry and words.
//!
//! Runs are set up as such scripts set them up: the same settings for the user and for the workspace, a home of their own, answers
//! from a recording.

mod commands;
mod coverage;
mod flags;
mod hooks;
mod output;
mod planning;
mod policy;
mod settings;
mod telemetry;
mod tools;

use serde_json::{Value, json};

use crate::place::{Place, Run};

/// A place set up for Gemini CLI.
pub struct Stage {
    pub place: Place,
}

impl Stage {
    /// With these settings beside the usual ones, in both files.
    pub fn new(more: &Value) -> Self {
        let place = Place::new();
        std::fs::remove_dir(place.work().join(".charla")).unwrap();
        let home = place.path().join("gemini-home");
        let mut settings = json!({
            "general": {"enableAutoUpdate": false},
            "telemetry": {"enabled": true, "target": "local", "otlpEndpoint": "", "outfile": "telemetry.log"},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
            "ui": {"useAlternateBuffer": true},
            "model": {"name": "gemini-3-flash-preview"},
            "sandbox": false,
            "ide": {"enabled": false, "hasSeenNudge": true},
        });
        merge(&mut settings, more);
        for folder in [home.clone(), place.work()] {
            std::fs::create_dir_all(folder.join(".gemini")).unwrap();
            std::fs::write(folder.join(".gemini/settings.json"), settings.to_string()).unwrap();
        }
        let place =
            place.variable("GEMINI_CLI_HOME", home.to_str().unwrap()).variable("GEMINI_API_KEY", "key-1");
        Self { place }
    }

    pub fn plain() -> Self {
        Self::new(&json!({}))
    }

    pub fn file(self, name: &str, text: &str) -> Self {
        Self { place: self.place.file(name, text) }
    }

    /// Runs with these answers and arguments; nothing is piped in.
    pub fn run(&self, answers: &[Value], arguments: &[&str]) -> Run {
        self.place.run(&self.arguments(answers, arguments).iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub fn run_with_input(&self, answers: &[Value], arguments: &[&str], input: &str) -> Run {
        let arguments = self.arguments(answers, arguments);
        self.place.run_with_input(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), input)
    }

    fn arguments(&self, answers: &[Value], arguments: &[&str]) -> Vec<String> {
        let lines: Vec<String> = answers.iter().map(Value::to_string).collect();
        std::fs::write(self.place.path().join("answers.jsonl"), lines.join("\n")).unwrap();
        let recording = self.place.path().join("answers.jsonl").display().to_string();
        let given = arguments.iter().map(|argument| (*argument).to_owned());
        ["--fake-responses".to_owned(), recording].into_iter().chain(given).collect()
    }

    /// The objects of the telemetry file, split as its readers split it.
    pub fn telemetry(&self) -> Vec<Value> {
        let text = self.place.read("telemetry.log").unwrap_or_default();
        let objects = text.trim_end().split("}\n{");
        let whole = |object: &str| {
            let start = if object.starts_with('{') { "" } else { "{" };
            let end = if object.ends_with('}')
                && serde_json::from_str::<Value>(&format!("{start}{object}")).is_ok()
            {
                ""
            } else {
                "}"
            };
            serde_json::from_str(&format!("{start}{object}{end}")).unwrap()
        };
        objects.filter(|object| !object.is_empty()).map(whole).collect()
    }

    /// What the events of this name say.
    pub fn events(&self, name: &str) -> Vec<Value> {
        let objects = self.telemetry().into_iter();
        let named = |object: &Value| object["attributes"]["event.name"] == format!("gemini_cli.{name}");
        objects.filter(named).map(|object| object["attributes"].clone()).collect()
    }

    /// The calls that were made: name, arguments, whether they came to anything.
    pub fn calls(&self) -> Vec<(String, Value, bool)> {
        let call = |call: Value| {
            let args = serde_json::from_str(call["function_args"].as_str().unwrap()).unwrap();
            let name = call["function_name"].as_str().unwrap().to_owned();
            (name, args, call["success"].as_bool().unwrap())
        };
        self.events("tool_call").into_iter().map(call).collect()
    }
}

fn merge(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                merge(below.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above.clone(),
    }
}

/// An answer as it comes, in one chunk with these parts.
pub fn streamed(parts: &[Value]) -> Value {
    let content = json!({"role": "model", "parts": parts});
    let usage = json!({"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15});
    let chunk = json!({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage});
    json!({"method": "generateContentStream", "response": [chunk]})
}

pub fn say(text: &str) -> Value {
    streamed(&[json!({"text": text})])
}

pub fn call(name: &str, args: Value) -> Value {
    streamed(&[part(name, args)])
}

pub fn part(name: &str, args: Value) -> Value {
    json!({"functionCall": {"name": name, "args": args}})
}

pub fn shell(command: &str) -> Value {
    call("run_shell_command", json!({"command": command}))
}
