//! `charla-extension.json`, or `gemini-extension.json`: what an extension says of itself.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use charla_proto::text::one_line;
use serde_json::{Map, Value};

use super::NONE;
use crate::bounded;
use crate::collection::is_name;

/// What the file is called; the first that is there counts.
const FILES: [&str; 2] = ["charla-extension.json", "gemini-extension.json"];
/// The file of its hooks.
const HOOKS: &str = "hooks/hooks.json";
/// Instruction files of one that names none.
const CONTEXT: [&str; 2] = ["CHARLA.md", "GEMINI.md"];
/// A larger file is not read.
const MOST_BYTES: u64 = 256 * 1024;
/// What an extension may not say of its servers: that is the user's to say.
const NOT_ITS_OWN: [&str; 1] = ["trust"];

/// What an extension says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// Its name.
    pub name: String,
    /// Its version, which is shown and compared, not understood.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// Its MCP servers by name, as settings.
    pub servers: Map<String, Value>,
    /// Its hooks by event, as settings.
    pub hooks: Map<String, Value>,
    /// Names of files in its folder that are read as instructions.
    pub context: Vec<String>,
    /// Tools that are not offered with it.
    pub excluded: Vec<String>,
}

impl Manifest {
    /// Reads the one in this folder, or says why there is none.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let file = FILES.iter().map(|name| folder.join(name)).find(|file| file.is_file());
        let file = file.ok_or_else(|| format!("it has neither {} nor {}", FILES[0], FILES[1]))?;
        let fields = read_object(&file, folder)?;
        let text = |key: &str| match fields.get(key) {
            Some(Value::String(text)) => Ok(Some(one_line(text.trim()))),
            None | Some(Value::Null) => Ok(None),
            Some(_) => Err(format!("its `{key}` is no text")),
        };
        let name = text("name")?.unwrap_or_default();
        if !is_name(&name) {
            return Err(format!("`{name}` is no name: 64 letters, digits, `-` and `_` at most"));
        }
        if name.eq_ignore_ascii_case(NONE) {
            return Err(format!("`{name}` is no name for an extension: it stands for none of them"));
        }
        Ok(Self {
            name,
            version: text("version")?.filter(|version| !version.is_empty()).ok_or("it has no `version`")?,
            description: text("description")?.unwrap_or_default(),
            servers: servers(fields.get("mcpServers"))?,
            hooks: hooks(folder)?,
            context: context(fields.get("contextFileName"), folder)?,
            excluded: words(fields.get("excludeTools"), "excludeTools")?,
        })
    }

    /// The files that are read as instructions and are there.
    pub(super) fn context_files(&self, folder: &Path) -> Vec<PathBuf> {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let files = self.context.iter().map(|name| folder.join(name));
        let is_inside = |file: &PathBuf| file.canonicalize().is_ok_and(|file| file.starts_with(&real));
        files.filter(|file| file.is_file()).filter(is_inside).collect()
    }
}

/// The object in a JSON file of the folder.
fn read_object(file: &Path, folder: &Path) -> Result<Map<String, Value>, String> {
    let name = file.strip_prefix(folder).unwrap_or(file).display();
    let failed = |why: String| format!("{name}: {why}");
    let real = |path: &Path| path.canonicalize().map_err(|error| failed(error.to_string()));
    if !real(file)?.starts_with(real(folder)?) {
        return Err(failed("it is a link out of the folder".to_owned()));
    }
    let mut text = String::new();
    let read = bounded::open(file).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    read.map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(failed(format!("it has more than {MOST_BYTES} bytes")));
    }
    match jsonc_parser::parse_to_serde_value(&text, &jsonc_parser::ParseOptions::default()) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(failed("it is no object".to_owned())),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn servers(value: Option<&Value>) -> Result<Map<String, Value>, String> {
    let mut servers = match value {
        None | Some(Value::Null) => return Ok(Map::new()),
        Some(Value::Object(servers)) => servers.clone(),
        Some(_) => return Err("its `mcpServers` are no object".to_owned()),
    };
    for (name, server) in &mut servers {
        let fields = server.as_object_mut();
        let fields = fields.ok_or_else(|| format!("its MCP server `{}` is no object", one_line(name)))?;
        NOT_ITS_OWN.iter().for_each(|key| drop(fields.remove(*key)));
    }
    Ok(servers)
}

fn hooks(folder: &Path) -> Result<Map<String, Value>, String> {
    let file = folder.join(HOOKS);
    if !file.is_file() {
        return Ok(Map::new());
    }
    match read_object(&file, folder)?.remove("hooks") {
        Some(Value::Object(hooks)) => Ok(hooks),
        _ => Err(format!("{HOOKS}: it has no object `hooks`")),
    }
}

fn context(value: Option<&Value>, folder: &Path) -> Result<Vec<String>, String> {
    let named = match value {
        Some(Value::String(name)) => vec![name.clone()],
        value => words(value, "contextFileName")?,
    };
    for name in &named {
        let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || name.is_empty() {
            return Err(format!("`{}` is no file of it", one_line(name)));
        }
    }
    let usual = CONTEXT.iter().find(|name| folder.join(name).is_file()).map(|name| (*name).to_owned());
    Ok(if named.is_empty() { usual.into_iter().collect() } else { named })
}

fn words(value: Option<&Value>, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("its `{key}` is no list of texts");
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(values)) => {
            values.iter().map(|value| value.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}
