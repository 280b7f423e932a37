//! What the Gemini API refuses.

use charla_proto::WireKind;
use serde_json::Value;

use super::{Checks, Verdict, fail, is_base64, is_name, list, object, schema, text, unknown_field};
use crate::opaque;

const TOP: [&str; 11] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
    "labels",
    "model",
    "serviceTier",
    "modelArmorConfig",
];
const CONFIG: [&str; 24] = [
    "stopSequences",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "responseModalities",
    "candidateCount",
    "maxOutputTokens",
    "temperature",
    "topP",
    "topK",
    "seed",
    "presencePenalty",
    "frequencyPenalty",
    "responseLogprobs",
    "logprobs",
    "enableEnhancedCivicAnswers",
    "speechConfig",
    "thinkingConfig",
    "imageConfig",
    "mediaResolution",
    "audioTimestamp",
    "routingConfig",
    "modelSelectionConfig",
    "responseFormat",
];
const DATA: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];
const BESIDE_DATA: [&str; 5] =
    ["thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"];
/// The values by which a client may say that it has no signature to give.
const NO_SIGNATURE: [&str; 2] = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

pub(super) fn generate(checks: &Checks) -> Verdict {
    let body = checks.body;
    let extra: Vec<&str> = checks.script.extra_fields.iter().map(String::as_str).collect();
    known("", body, &[&TOP, &extra])?;
    if list(&body["contents"]).len() == 0 {
        return fail("* GenerateContentRequest.contents: contents is not specified");
    }
    for (at, content) in list(&body["contents"]) {
        check_content(checks, &format!("contents[{at}]"), content)?;
    }
    pairing(&body["contents"])?;
    signatures(checks)?;
    if let Some(instruction) = body.get("systemInstruction").filter(|value| !value.is_null()) {
        system(instruction)?;
    }
    if let Some(config) = body.get("generationConfig").filter(|value| !value.is_null()) {
        known("generation_config", config, &[&CONFIG])?;
        if let Some(answer) = config.get("responseSchema") {
            schema::gemini("generation_config.response_schema", answer)?;
        }
    }
    tools(body)
}

pub(super) fn count_tokens(checks: &Checks) -> Verdict {
    let body = checks.body;
    known("", body, &[&["contents", "generateContentRequest"], &TOP])?;
    if let Some(inner) = body.get("generateContentRequest") {
        if body.get("contents").is_some() {
            return fail("contents and generateContentRequest must not both be set.");
        }
        if text(inner, "model").strip_prefix("models/") != Some(checks.model) {
            return fail("generateContentRequest.model must name the model of the path.");
        }
        return generate(&Checks { body: inner, ..*checks });
    }
    if list(&body["contents"]).len() == 0 {
        return fail("* CountTokensRequest.contents: contents is not specified");
    }
    Ok(())
}

fn known(place: &str, value: &Value, allowed: &[&[&str]]) -> Verdict {
    let at = if place.is_empty() { String::new() } else { format!(" at '{place}'") };
    match unknown_field(object(value, place)?, allowed) {
        Some(name) => {
            fail(format!("Invalid JSON payload received. Unknown name \"{name}\"{at}: Cannot find field."))
        }
        None => Ok(()),
    }
}

fn check_content(checks: &Checks, place: &str, content: &Value) -> Verdict {
    known(place, content, &[&["role", "parts"]])?;
    match content.get("role").map(|role| role.as_str().unwrap_or_default()) {
        None | Some("user" | "model" | "function") => {}
        Some(_) => return fail("Please use a valid role: user, model."),
    }
    if list(&content["parts"]).len() == 0 {
        return fail(format!("* GenerateContentRequest.{place}.parts: contents.parts must not be empty."));
    }
    for (at, part) in list(&content["parts"]) {
        let place = format!("{place}.parts[{at}]");
        known(&place, part, &[&DATA, &BESIDE_DATA])?;
        if DATA.iter().filter(|name| part.get(**name).is_some()).count() != 1 {
            return fail(format!(
                "{place}.data: required oneof field 'data' must have one initialized field"
            ));
        }
        check_part(&place, part, content["role"] == "model")?;
        check_signature(checks, part)?;
    }
    Ok(())
}

fn check_part(place: &str, part: &Value, is_model: bool) -> Verdict {
    if let Some(blob) = part.get("inlineData") {
        media(place, blob)?;
    }
    if let Some(call) = part.get("functionCall") {
        known(&format!("{place}.function_call"), call, &[&["id", "name", "args"]])?;
        if !is_model {
            return fail(format!("{place}: a function call belongs to the role model."));
        }
        if call.get("args").is_some_and(|args| !args.is_object()) {
            return fail(format!("Invalid value at '{place}.function_call.args'"));
        }
        function_name(text(call, "name"))?;
    }
    if let Some(response) = part.get("functionResponse") {
        let fields = ["id", "name", "response", "parts", "willContinue", "scheduling"];
        known(&format!("{place}.function_response"), response, &[&fields])?;
        if is_model {
            return fail(format!("{place}: a function response belongs to the role user."));
        }
        if !response["response"].is_object() {
            return fail(format!("Invalid value at '{place}.function_response.response'"));
        }
        for (_, inner) in list(&response["parts"]) {
            media(place, &inner["inlineData"])?;
        }
    }
    Ok(())
}

fn function_name(name: &str) -> Verdict {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts && is_name(name, "_.:-", 128) {
        return Ok(());
    }
    fail(format!("Invalid function name \"{name}\". It must start with a letter or an underscore."))
}

fn media(place: &str, blob: &Value) -> Verdict {
    let mime_type = text(blob, "mimeType");
    let image = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"].contains(&mime_type);
    let other = mime_type == "application/pdf"
        || ["audio/", "video/", "text/"].iter().any(|family| mime_type.starts_with(family));
    if !image && !other {
        return fail(format!("Unsupported MIME type: {mime_type}"));
    }
    if !is_base64(text(blob, "data")) {
        return fail(format!(
            "Invalid value at '{place}.inline_data.data' (TYPE_BYTES), Base64 decoding failed"
        ));
    }
    Ok(())
}

fn check_signature(checks: &Checks, part: &Value) -> Verdict {
    let Some(signature) = part.get("thoughtSignature") else { return Ok(()) };
    let signature = signature.as_str().unwrap_or_default();
    let stands_for_none = NO_SIGNATURE.iter().any(|value| {
        *value == signature || opaque::decode_base64(signature).as_deref() == Some(value.as_bytes())
    });
    let content = part["functionCall"]["name"].as_str().unwrap_or("text");
    if stands_for_none || opaque::is_ours(signature, WireKind::Gemini, checks.model, content) {
        return Ok(());
    }
    fail("Thought signature is not valid.")
}

/// Calls and responses stand in neighbouring turns, as many of the one as of the other.
fn pairing(contents: &Value) -> Verdict {
    let mut open: Vec<&Value> = Vec::new();
    let mut after_user = false;
    for (_, content) in list(contents) {
        let responses = parts_of(content, "functionResponse");
        let calls = parts_of(content, "functionCall");
        if responses.len() != open.len() {
            return fail(if open.is_empty() {
                "Please ensure that function response turn comes immediately after a function call turn."
            } else {
                "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
            });
        }
        answers(&open, &responses)?;
        if !calls.is_empty() && !after_user {
            return fail(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
            );
        }
        after_user = content["role"] != "model";
        open = calls;
    }
    if open.is_empty() { Ok(()) } else { fail("Please ensure that every function call is answered.") }
}

fn parts_of<'a>(content: &'a Value, name: &str) -> Vec<&'a Value> {
    list(&content["parts"]).filter_map(|(_, part)| part.get(name)).collect()
}

/// Each response names a call of the turn before, and each call is named once.
fn answers(calls: &[&Value], responses: &[&Value]) -> Verdict {
    let mut left: Vec<&Value> = calls.to_vec();
    for response in responses {
        let fits = |call: &&Value| {
            call["name"] == response["name"]
                && (response.get("id").is_none() || call.get("id").is_none() || call["id"] == response["id"])
        };
        let Some(at) = left.iter().position(fits) else {
            return fail(format!("Function response {} has no function call.", response["name"]));
        };
        left.swap_remove(at);
    }
    Ok(())
}

/// In the turns since the user last spoke, the first call of each model turn has its signature.
fn signatures(checks: &Checks) -> Verdict {
    if !checks.script.signature_models.iter().any(|start| checks.model.starts_with(start)) {
        return Ok(());
    }
    let contents = &checks.body["contents"];
    let speaks = |content: &Value| {
        content["role"] != "model"
            && list(&content["parts"]).any(|(_, part)| part.get("functionResponse").is_none())
            && parts_of(content, "functionResponse").is_empty()
    };
    let start = list(contents).rposition(|(_, content)| speaks(content)).unwrap_or(0);
    for (at, content) in list(contents).skip(start) {
        let first = list(&content["parts"]).find(|(_, part)| part.get("functionCall").is_some());
        if let Some((position, part)) = first
            && part.get("thoughtSignature").is_none()
        {
            return fail(format!(
                "Function call is missing a thought_signature in functionCall parts: {}, content {at}, position {position}.",
                part["functionCall"]["name"]
            ));
        }
    }
    Ok(())
}

fn system(instruction: &Value) -> Verdict {
    known("system_instruction", instruction, &[&["role", "parts"]])?;
    if list(&instruction["parts"]).any(|(_, part)| !part["text"].is_string()) {
        return fail("* GenerateContentRequest.system_instruction.parts: text is expected here.");
    }
    Ok(())
}

fn tools(body: &Value) -> Verdict {
    let mut names: Vec<&str> = Vec::new();
    for (at, tool) in list(&body["tools"]) {
        for (position, declaration) in list(&tool["functionDeclarations"]) {
            let place = format!("tools[{at}].function_declarations[{position}]");
            let fields = [
                "name",
                "description",
                "parameters",
                "parametersJsonSchema",
                "response",
                "responseJsonSchema",
                "behavior",
            ];
            known(&place, declaration, &[&fields])?;
            let name = text(declaration, "name");
            function_name(name)?;
            if names.contains(&name) {
                return fail(format!("Duplicate function declaration found: {name}"));
            }
            names.push(name);
            match (declaration.get("parameters"), declaration.get("parametersJsonSchema")) {
                (Some(_), Some(_)) => {
                    return fail(format!("{place}: parameters and parametersJsonSchema exclude each other."));
                }
                (Some(own), None) => schema::gemini(&format!("{place}.parameters"), own)?,
                (None, Some(json)) => schema::gemini_json(&place, json)?,
                (None, None) => {}
            }
        }
    }
    let config = &body["toolConfig"]["functionCallingConfig"];
    let mode = text(config, "mode");
    if !["", "AUTO", "ANY", "NONE", "VALIDATED"].contains(&mode) {
        return fail(format!("Invalid value at 'tool_config.function_calling_config.mode': \"{mode}\""));
    }
    if mode == "ANY" && names.is_empty() {
        return fail("Function calling config is set without function_declarations.");
    }
    if list(&config["allowedFunctionNames"]).len() > 0 && !["ANY", "VALIDATED"].contains(&mode) {
        return fail("allowed_function_names can only be set when the mode is ANY.");
    }
    Ok(())
}
