//! One recorded exchange.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use charla_proto::WireKind;
use charla_providers::endpoint::{
    AuthStyle, DocumentStyle, Endpoint, ModelRow, ModelThinking, Quirks, ReasoningReplay, Target,
};
use serde_json::Value;

pub struct Case {
    pub id: String,
    pub wire: WireKind,
    pub meta: Value,
    pub expect: Value,
    pub request: Option<Value>,
    pub response: Vec<u8>,
}

impl Case {
    pub fn load_all(root: &Path) -> Result<Vec<Case>, String> {
        let mut cases = Vec::new();
        for wire in WireKind::ALL {
            let folder = root.join(wire.name());
            let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            paths.sort();
            for path in paths.iter().filter(|path| path.is_dir()) {
                cases.push(Case::load(path, wire).map_err(|e| format!("{}: {e}", path.display()))?);
            }
        }
        Ok(cases)
    }

    fn load(path: &Path, wire: WireKind) -> Result<Case, String> {
        let read = |name: &str| fs::read(path.join(name)).map_err(|e| format!("{name}: {e}"));
        let json = |name: &str| -> Result<Value, String> {
            serde_json::from_slice(&read(name)?).map_err(|e| format!("{name}: {e}"))
        };
        let meta = json("meta.json")?;
        let request = match meta["request_file"].as_str() {
            Some(name) => Some(json(name)?),
            None => None,
        };
        Ok(Case {
            id: meta["id"].as_str().unwrap_or_default().to_owned(),
            wire,
            expect: json("expect.json")?,
            request,
            response: read(meta["response_file"].as_str().unwrap_or("response.json"))?,
            meta,
        })
    }

    pub fn name(&self) -> String {
        format!("{}/{}", self.wire.name(), self.id)
    }

    pub fn status(&self) -> u16 {
        self.meta["status"].as_u64().unwrap_or(200) as u16
    }

    /// The target a client of ours would have talked to.
    pub fn target(&self) -> Target {
        let vendor = self.meta["vendor"].as_str().unwrap_or_default();
        let endpoint = Endpoint {
            name: vendor.to_owned(),
            wire: self.wire,
            base_url: "http://127.0.0.1".to_owned(),
            auth: AuthStyle::None,
            headers: Vec::new(),
            quirks: self.shown_quirks(),
        };
        let model = ModelRow {
            id: self.meta["model"].as_str().unwrap_or("model").to_owned(),
            images: true,
            media_in_function_response: true,
            thinking: ModelThinking::Budget,
            ..ModelRow::default()
        };
        Target::new(Arc::new(endpoint), model)
    }

    /// What a recorded OpenAI Chat request shows its server to take beyond the wire's own.
    fn shown_quirks(&self) -> Quirks {
        let mut quirks = Quirks::default();
        let request = self.request.as_ref().filter(|_| self.wire == WireKind::OpenaiChat);
        let messages = request.and_then(|request| request["messages"].as_array());
        for message in messages.into_iter().flatten() {
            let says = |key: &str| message[key].as_str().is_some_and(|text| !text.is_empty());
            let items = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            let has = |kind: &str| items.iter().any(|item| item["type"] == kind);
            let by_address = |item: &Value| {
                item["file"]["file_data"].as_str().is_some_and(|address| address.starts_with("http"))
            };
            let thinks = says("reasoning_content") || says("reasoning") || has("thinking");
            if message["role"] == "assistant" && thinks {
                quirks.reasoning_replay = ReasoningReplay::Always;
            }
            if has("document_url") {
                quirks.documents = DocumentStyle::DocumentUrl;
            } else if has("video_url") || has("audio_url") || items.iter().any(by_address) {
                quirks.documents = DocumentStyle::FileUrl;
            }
        }
        quirks
    }
}
