//! Calls in tags of their own.
//!
//! - Hermes, Qwen: `<tool_call>{"name": …, "arguments": …}</tool_call>`
//! - Qwen coder: `<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>`, also
//!   without the outer tag, also with a JSON object as the function's body (Llama)
//! - GLM: `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>`
//! - Anthropic's old prompt format, MiniMax, DeepSeek 3.2: `<invoke name="NAME"><parameter name="KEY">VALUE`
//!   `</parameter></invoke>`, in an outer tag or without one
//!
//! A closing outer tag that is missing is forgiven: many models end their answer instead.

use serde_json::{Map, Value};

use super::cursor::{Cursor, Read, Stop};
use super::draft::Draft;
use super::object;

/// Outer tags and their ends.
const OUTER: [(&str, &str); 7] = [
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<function_call>", "</function_call>"),
    ("<function_calls>", "</function_calls>"),
    ("<antml:function_calls>", "</antml:function_calls>"),
    ("<minimax:tool_call>", "</minimax:tool_call>"),
    ("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
];

/// What may stand before `invoke` and `parameter`.
const PREFIXES: [&str; 3] = ["", "antml:", "｜DSML｜"];

/// How a call in tags begins.
pub(super) const OPENERS: [&str; 11] = [
    "<tool_call>",
    "<tool_calls>",
    "<function_call>",
    "<function_calls>",
    "<antml:function_calls>",
    "<minimax:tool_call>",
    "<｜DSML｜function_calls>",
    "<function=",
    "<invoke name=",
    "<antml:invoke name=",
    "<｜DSML｜invoke name=",
];

/// Reads one block.
pub(super) fn read(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    let openers = OUTER.map(|(opener, _)| opener);
    let Some(opener) = cursor.take_any(&openers)? else {
        read_body(cursor, draft)?;
        // Qwen coder forgets the opening tag more often than the closing one.
        return close(cursor, "</tool_call>");
    };
    let closer = OUTER.iter().find(|(known, _)| *known == opener).map_or("", |(_, closer)| closer);
    loop {
        cursor.space();
        let before = draft.len();
        match cursor.peek()? {
            '{' | '[' => {
                object::read(cursor, draft, Some(closer))?;
            }
            '<' if draft.len() > 0 && !more_follows(cursor)? => break,
            '<' => read_body(cursor, draft)?,
            _ if draft.len() == 0 && opener == "<tool_call>" => read_pairs(cursor, draft)?,
            _ => break,
        }
        if draft.len() == before {
            break;
        }
    }
    if draft.len() == 0 {
        return Err(Stop::No);
    }
    close(cursor, closer)
}

/// Past the closing tag, if it is there.
fn close(cursor: &mut Cursor, closer: &str) -> Read<()> {
    let mut ahead = cursor.clone();
    ahead.space();
    if ahead.take(closer)? {
        *cursor = ahead;
    }
    Ok(())
}

/// True when another call follows within the same outer tag.
fn more_follows(cursor: &Cursor) -> Read<bool> {
    let words = ["<function=", "<invoke name=", "<antml:invoke name=", "<｜DSML｜invoke name="];
    Ok(cursor.clone().take_any(&words)?.is_some())
}

fn read_body(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    if cursor.take("<function=")? {
        return read_function(cursor, draft);
    }
    let mut waiting = None;
    for prefix in PREFIXES {
        match cursor.take(&format!("<{prefix}invoke name=")) {
            Ok(true) => return read_invoke(cursor, draft, prefix),
            Ok(false) => {}
            Err(stop) => waiting = Some(stop),
        }
    }
    Err(waiting.unwrap_or(Stop::No))
}

/// `NAME>`, then parameters or a JSON object, then `</function>`.
fn read_function(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    let name = quoted_name(cursor)?;
    cursor.expect(">")?;
    draft.begin(name, cursor.at())?;
    cursor.space();
    if cursor.peek()? == '{' {
        object::read_arguments(cursor, draft, "</function>")?;
        return close(cursor, "</function>");
    }
    let mut args = Map::new();
    loop {
        cursor.space();
        if cursor.take("<parameter=")? {
            let key = cursor.until(">")?.trim().trim_matches('"');
            read_value(cursor, draft, &mut args, key, "</parameter>")?;
        } else if cursor.take("</function>")? {
            draft.end(args);
            return Ok(());
        } else {
            return Err(Stop::No);
        }
    }
}

/// `"NAME">`, then parameters, then the closing tag.
fn read_invoke(cursor: &mut Cursor, draft: &mut Draft, prefix: &str) -> Read<()> {
    let name = quoted_name(cursor)?;
    cursor.until(">")?;
    draft.begin(name, cursor.at())?;
    let (parameter, value_end) = (format!("<{prefix}parameter name="), format!("</{prefix}parameter>"));
    let end = format!("</{prefix}invoke>");
    let mut args = Map::new();
    loop {
        cursor.space();
        if cursor.take(&parameter)? {
            let key = quoted_name(cursor)?;
            cursor.until(">")?;
            read_value(cursor, draft, &mut args, key, &value_end)?;
        } else if cursor.take(&end)? {
            draft.end(args);
            return Ok(());
        } else {
            return Err(Stop::No);
        }
    }
}

/// `NAME`, then pairs of keys and values.
fn read_pairs(cursor: &mut Cursor, draft: &mut Draft) -> Read<()> {
    let name = cursor.name()?;
    draft.begin(name, cursor.at())?;
    let mut args = Map::new();
    loop {
        cursor.space();
        if cursor.take("<arg_key>")? {
            let key = cursor.until("</arg_key>")?.trim();
            cursor.space();
            cursor.expect("<arg_value>")?;
            read_value(cursor, draft, &mut args, key, "</arg_value>")?;
        } else if cursor.rest().starts_with("</tool_call>") {
            draft.end(args);
            return Ok(());
        } else if "</tool_call>".starts_with(cursor.rest()) {
            return Err(cursor.out());
        } else {
            return Err(Stop::No);
        }
    }
}

/// A value in its declared type, without the line breaks that set it off from its tags.
fn read_value(
    cursor: &mut Cursor,
    draft: &Draft,
    args: &mut Map<String, Value>,
    key: &str,
    end: &str,
) -> Read<()> {
    let text = cursor.until(end)?;
    let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
    let text = text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text);
    args.insert(key.to_owned(), draft.typed(key, text));
    Ok(())
}

/// A name, in quotation marks or without.
fn quoted_name<'a>(cursor: &mut Cursor<'a>) -> Read<&'a str> {
    for quote in ["\"", "'"] {
        if cursor.peek()? == quote.chars().next().unwrap_or_default() {
            cursor.skip(1);
            let name = cursor.until(quote)?;
            return Ok(name);
        }
    }
    cursor.name()
}
