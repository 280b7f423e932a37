//! One recorded exchange.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use charla_proto::WireKind;
use charla_providers::endpoint::{AuthStyle, Endpoint, ModelRow, ModelThinking, Quirks, Target};
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
            quirks: Quirks::default(),
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
}
