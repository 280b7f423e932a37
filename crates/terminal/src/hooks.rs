//! Hooks in words.

use charla::hooks::{Hook, HookStanding};
use charla_proto::text::one_line;

/// A line for each hook.
pub fn in_words(hooks: &[(Hook, HookStanding)]) -> Vec<String> {
    if hooks.is_empty() {
        return vec!["no hooks are configured (the setting `hooks`)".to_owned()];
    }
    let line = |(hook, standing): &(Hook, HookStanding)| {
        let about = match standing {
            HookStanding::Runs => String::new(),
            HookStanding::Disabled => " (disabled)".to_owned(),
            HookStanding::Missing => {
                " (cannot run: its script is not there, or may not be run: chmod +x)".to_owned()
            }
            HookStanding::Untrusted => " (not run: the workspace is not trusted)".to_owned(),
        };
        let matcher = hook.matcher.as_deref().filter(|matcher| !matcher.is_empty());
        let matcher = matcher.map(|matcher| format!(" [{}]", one_line(matcher))).unwrap_or_default();
        let unreadable =
            if hook.unreadable_matcher { " (for every tool: its matcher is not understood)" } else { "" };
        let command = match hook.name == hook.command {
            true => one_line(&hook.command),
            false => format!("{}: {}", one_line(&hook.name), one_line(&hook.command)),
        };
        format!("{}{matcher} {command}  {}{unreadable}{about}", hook.event, one_line(&hook.source))
    };
    hooks.iter().map(line).collect()
}

/// What a hook has for the person.
pub fn hook_message(message: &str) -> String {
    format!("Hook system message: {message}")
}
