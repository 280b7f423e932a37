//! Schemas of enumerations that live in other crates: their names in settings, best known here.

use schemars::{Schema, SchemaGenerator, json_schema};

fn one_of(names: &[&str]) -> Schema {
    json_schema!({ "type": "string", "enum": names })
}

pub(super) fn wire(_: &mut SchemaGenerator) -> Schema {
    one_of(&charla_proto::WireKind::ALL.map(charla_proto::WireKind::name))
}

pub(super) fn auth(_: &mut SchemaGenerator) -> Schema {
    one_of(&["bearer", "goog-api-key", "x-api-key", "api-key", "none"])
}

pub(super) fn approval_mode(_: &mut SchemaGenerator) -> Schema {
    one_of(&["default", "auto_edit", "plan", "yolo"])
}

pub(super) fn thinking_level(_: &mut SchemaGenerator) -> Schema {
    one_of(&["minimal", "low", "medium", "high"])
}

pub(super) fn thinking_switch(_: &mut SchemaGenerator) -> Schema {
    one_of(&["none", "budget", "levels", "adaptive"])
}

pub(super) fn tool_mode(_: &mut SchemaGenerator) -> Schema {
    one_of(&["native", "text", "none", "auto"])
}

pub(super) fn prompt_length(_: &mut SchemaGenerator) -> Schema {
    one_of(&["full", "compact"])
}

pub(super) fn think_start(_: &mut SchemaGenerator) -> Schema {
    one_of(&["auto", "inside", "outside"])
}

pub(super) fn think_switch(_: &mut SchemaGenerator) -> Schema {
    one_of(&["wire", "slash-suffix", "slash-prefix", "tag-prefix"])
}

pub(super) fn guidance_style(_: &mut SchemaGenerator) -> Schema {
    one_of(&["full", "compact"])
}

pub(super) fn guidance_place(_: &mut SchemaGenerator) -> Schema {
    one_of(&["system", "first-user"])
}

pub(super) fn output_format(_: &mut SchemaGenerator) -> Schema {
    one_of(&["text", "json", "stream-json"])
}

pub(super) fn keys(_: &mut SchemaGenerator) -> Schema {
    one_of(&["emacs", "vi"])
}

pub(super) fn mcp_form(_: &mut SchemaGenerator) -> Schema {
    one_of(&["stdio", "http", "sse"])
}

pub(super) fn hook_kind(_: &mut SchemaGenerator) -> Schema {
    one_of(&["command"])
}
