//! Calls between the special tokens of a model's own template, leaked into its text.
//!
//! - Mistral: `[TOOL_CALLS][{…}]`, `[TOOL_CALLS]NAME{…}`, `[TOOL_CALLS]NAME[CALL_ID]…[ARGS]{…}`
//! - Llama: `<|python_tag|>{"name": …, "parameters": …}`, several with `;` between
//! - DeepSeek: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>…<｜tool▁sep｜>…<｜tool▁call▁end｜><｜tool▁calls▁end｜>`
//! - Kimi: `<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}…`
//! - gpt-oss: `<|channel|>commentary to=functions.NAME …<|message|>{…}<|call|>`

use super::cursor::{Cursor, Read, Stop};
use super::draft::Draft;
use super::object;

const MISTRAL: &str = "[TOOL_CALLS]";
const LLAMA: &str = "<|python_tag|>";
const DEEPSEEK: &str = "<｜tool▁calls▁begin｜>";
const DEEPSEEK_CALL: &str = "<｜tool▁call▁begin｜>";
const KIMI: &str = "<|tool_calls_section_begin|>";
const KIMI_CALL: &str = "<|tool_call_begin|>";
const HARMONY: &str = "<|channel|>";
const HARMONY_START: &str = "<|start|>";

/// How a call between tokens begins.
pub(super) const OPENERS: [&str; 8] =
    [MISTRAL, LLAMA, DEEPSEEK, DEEPSEEK_CALL, KIMI, KIMI_CALL, HARMONY, HARMONY_START];

/// The longest header of a gpt-oss message.
const MAX_HEADER: usize = 200;

/// Reads one block.
pub(super) fn read(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    match cursor.clone().take_any(&OPENERS)? {
        Some(MISTRAL) => read_mistral(cursor, draft),
        Some(LLAMA) => read_llama(cursor, draft),
        Some(DEEPSEEK | DEEPSEEK_CALL) => read_deepseek(cursor, draft),
        Some(KIMI | KIMI_CALL) => read_kimi(cursor, draft),
        Some(HARMONY | HARMONY_START) => read_harmony(cursor, draft),
        _ => Err(Stop::No),
    }
}

fn read_mistral(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    cursor.expect(MISTRAL)?;
    cursor.space();
    if matches!(cursor.peek()?, '[' | '{') {
        object::read(cursor, draft, None)?;
        return Ok(());
    }
    let name = cursor.name()?;
    draft.begin(name, cursor.at())?;
    if cursor.take("[CALL_ID]")? {
        cursor.name()?;
    }
    cursor.take("[ARGS]")?;
    cursor.space();
    if cursor.peek()? != '{' {
        return Err(Stop::No);
    }
    object::read_arguments(cursor, draft, "\n")
}

fn read_llama(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    cursor.expect(LLAMA)?;
    loop {
        cursor.space();
        object::read(cursor, draft, Some("<|eom_id|>"))?;
        let mut ahead = cursor.clone();
        ahead.space();
        match ahead.peek() {
            Ok(';') => {
                ahead.skip(1);
                *cursor = ahead;
            }
            Err(Stop::More) => return Err(Stop::More),
            _ => return Ok(()),
        }
    }
}

fn read_deepseek(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    const SEPARATOR: &str = "<｜tool▁sep｜>";
    const CALL_END: &str = "<｜tool▁call▁end｜>";
    cursor.take(DEEPSEEK)?;
    loop {
        cursor.space();
        if !take_if_calls(cursor, draft, DEEPSEEK_CALL)? {
            break;
        }
        let head = bounded(cursor, SEPARATOR)?.trim();
        let fenced = head == "function";
        let name = if fenced { bounded(cursor, "\n")?.trim() } else { head };
        draft.begin(name, cursor.at())?;
        cursor.space();
        let fenced = cursor.take("```json")? || fenced;
        cursor.space();
        object::read_arguments(cursor, draft, if fenced { "```" } else { CALL_END })?;
        cursor.space();
        if fenced {
            cursor.take("```")?;
            cursor.space();
        }
        cursor.take(CALL_END)?;
    }
    finish(cursor, draft, "<｜tool▁calls▁end｜>")
}

fn read_kimi(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    const CALL_END: &str = "<|tool_call_end|>";
    cursor.take(KIMI)?;
    loop {
        cursor.space();
        if !take_if_calls(cursor, draft, KIMI_CALL)? {
            break;
        }
        let head = bounded(cursor, "<|tool_call_argument_begin|>")?.trim();
        let name = head.strip_prefix("functions.").unwrap_or(head);
        let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
        draft.begin(name, cursor.at())?;
        cursor.space();
        object::read_arguments(cursor, draft, CALL_END)?;
        cursor.space();
        cursor.take(CALL_END)?;
    }
    finish(cursor, draft, "<|tool_calls_section_end|>")
}

/// True, and past `opener`, when another call begins. The first one must.
fn take_if_calls(cursor: &mut Cursor, draft: &Draft, opener: &str) -> Read<bool> {
    match cursor.take(opener) {
        Ok(false) if draft.len() == 0 => Err(Stop::No),
        taken => taken,
    }
}

fn finish(cursor: &mut Cursor, draft: &Draft, closer: &str) -> Read<()> {
    if draft.len() == 0 {
        return Err(Stop::No);
    }
    cursor.take(closer)?;
    Ok(())
}

fn read_harmony(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    if cursor.take(HARMONY_START)? {
        cursor.expect("assistant")?;
    }
    let header = bounded(cursor, "<|message|>")?;
    let words = || header.split(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '|'));
    let recipient = words().find_map(|word| word.strip_prefix("to="));
    let Some(recipient) = recipient else { return Err(Stop::No) };
    draft.begin(recipient.strip_prefix("functions.").unwrap_or(recipient), cursor.at())?;
    cursor.space();
    object::read_arguments(cursor, draft, "<|call|>")?;
    cursor.space();
    cursor.take_any(&["<|call|>", "<|end|>"])?;
    Ok(())
}

/// The text before `word`, which must come soon: nobody's names are that long.
fn bounded<'a>(cursor: &mut Cursor<'a>, word: &str) -> Read<&'a str> {
    match cursor.until(word) {
        Ok(before) if before.len() <= MAX_HEADER => Ok(before),
        Err(stop) if cursor.rest().len() <= MAX_HEADER + word.len() => Err(stop),
        _ => Err(Stop::No),
    }
}
