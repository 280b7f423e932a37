//! Requests rewritten for one model of a chain: without tools, with a beginning that never changes, or with fields of its
//! provider's.

use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::{Content, GenerateRequest, Part, PartKind, Role};
use serde_json::{Map, Value};

use super::Layer;
use super::remembered::Remembered;

/// How requests are rewritten.
///
/// A local server keeps what it has read of a prompt (its prompt cache) as long as the next one begins with the same
/// words. So what is volatile, which is all of a system instruction but its first part, must come after the tools.
#[derive(Clone, Debug, PartialEq)]
pub enum Rewrite {
    /// Without tools, whatever the session has: in a chain each model has its own mode.
    WithoutTools,
    /// What is volatile goes in front of the first user message: templates put tools behind the system message.
    VolatileToFirstUser,
    /// What is volatile goes behind the last part of the system instruction, which tells of the tools. For the
    /// requests that [`super::TextTools`] makes.
    VolatileToEnd,
    /// With these fields in the body, as the settings name them (`extraBody`).
    WithFields(Map<String, Value>),
}

/// The layer that rewrites requests.
pub struct RewriteRequests {
    how: Rewrite,
    last: Mutex<Option<Split>>,
    moved: Mutex<Remembered>,
}

/// A system instruction and a first message as they came, and what was made of them. The same contents give the
/// same `Arc`s again, so that codecs below recognise what they have encoded.
#[derive(Clone)]
struct Split {
    system: Arc<Content>,
    first: Arc<Content>,
    stable: Arc<Content>,
    opened: Arc<Content>,
}

impl RewriteRequests {
    /// Rewrites in this way.
    pub fn new(how: Rewrite) -> Self {
        Self { how, last: Mutex::default(), moved: Mutex::default() }
    }

    fn rewritten(&self, request: &GenerateRequest) -> GenerateRequest {
        let mut request = request.clone();
        match &self.how {
            Rewrite::WithoutTools => {
                request.tools.clear();
                request.tool_config = None;
            }
            Rewrite::VolatileToFirstUser => self.to_first_user(&mut request),
            Rewrite::VolatileToEnd => self.to_end(&mut request),
            Rewrite::WithFields(fields) => {
                for (field, value) in fields {
                    request.extra.insert(field, value.clone());
                }
            }
        }
        request
    }

    fn to_end(&self, request: &mut GenerateRequest) {
        let system = request.system_instruction.as_mut().filter(|system| system.parts.len() > 2);
        let Some(system) = system else { return };
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        *system = moved.get(system, |system| {
            let mut parts = system.parts.clone();
            // The last one becomes the second.
            parts.get_mut(1..).unwrap_or_default().rotate_right(1);
            Content { parts, ..system.clone() }
        });
    }

    fn to_first_user(&self, request: &mut GenerateRequest) {
        let opens = |content: &Arc<Content>| {
            content.role == Role::User && content.function_responses().next().is_none()
        };
        let Some(system) = request.system_instruction.clone().filter(|system| system.parts.len() > 1) else {
            return;
        };
        let Some(first) = request.contents.iter_mut().find(|content| opens(content)) else { return };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |split: &&Split| Arc::ptr_eq(&split.system, &system) && Arc::ptr_eq(&split.first, first);
        let split = match last.as_ref().filter(same) {
            Some(known) => known.clone(),
            None => {
                let (stable, opened) = split(&system, first);
                Split { system, first: first.clone(), stable: Arc::new(stable), opened: Arc::new(opened) }
            }
        };
        request.system_instruction = Some(split.stable.clone());
        *first = split.opened.clone();
        *last = Some(split);
    }
}

impl Layer for RewriteRequests {
    fn outgoing(&self, request: &GenerateRequest) -> Option<GenerateRequest> {
        Some(self.rewritten(request))
    }
}

/// The first part of the instruction, and the message with the others in front.
fn split(system: &Content, first: &Content) -> (Content, Content) {
    let mut parts = system.parts.iter().cloned();
    let stable = Content { parts: parts.next().into_iter().collect(), ..system.clone() };
    let rest: Vec<String> = parts.filter_map(|part| Some(part.as_text()?.trim().to_owned())).collect();
    let mut opening = rest.join("\n\n");
    let mut opened = first.clone();
    // One text and not two: many templates take a message that is a list for a picture's.
    if let Some(PartKind::Text(words)) = opened.parts.first().map(|part| &part.kind) {
        opening = format!("{opening}\n\n{words}");
        opened.parts.remove(0);
    }
    opened.parts.insert(0, Part::text(opening));
    (stable, opened)
}

#[cfg(test)]
mod tests {
    use charla_proto::Tool;

    use super::*;

    fn request(folder: &str, contents: Vec<Arc<Content>>) -> GenerateRequest {
        let system = Content::new(Role::User, vec![Part::text("Be brief."), Part::text(folder)]);
        GenerateRequest {
            system_instruction: Some(Arc::new(system)),
            tools: vec![Tool::functions(Vec::new())],
            ..GenerateRequest::new("m", contents)
        }
    }

    #[test]
    fn what_changes_goes_in_front_of_the_first_message_and_stays_there() {
        let layer = RewriteRequests::new(Rewrite::VolatileToFirstUser);
        let said = Arc::new(Content::user("hi"));
        let mut step = request("Folder: /a", vec![said.clone()]);
        let first = layer.rewritten(&step);
        assert_eq!(first.system_instruction.as_ref().unwrap().text(), "Be brief.");
        assert_eq!(first.contents[0].text(), "Folder: /a\n\nhi");
        step.contents.extend([Arc::new(Content::model("hello")), Arc::new(Content::user("more"))]);
        let second = layer.rewritten(&step);
        assert!(Arc::ptr_eq(&first.contents[0], &second.contents[0]), "it is made anew at every step");
        assert_eq!(second.contents[2].text(), "more");
        let elsewhere = layer.rewritten(&request("Folder: /b", vec![said]));
        assert_eq!(elsewhere.system_instruction, first.system_instruction);
    }

    #[test]
    fn what_changes_goes_behind_what_is_said_of_tools() {
        let layer = RewriteRequests::new(Rewrite::VolatileToEnd);
        let mut asked = request("Folder: /a", vec![Arc::new(Content::user("hi"))]);
        assert_eq!(layer.rewritten(&asked), asked);
        let mut system = asked.system_instruction.as_deref().unwrap().clone();
        system.parts.push(Part::text("Tools."));
        asked.system_instruction = Some(Arc::new(system));
        let sent = layer.rewritten(&asked);
        let texts = |request: &GenerateRequest| -> Vec<String> {
            let system = request.system_instruction.as_ref().unwrap();
            system.parts.iter().map(|part| part.as_text().unwrap().to_owned()).collect()
        };
        assert_eq!(texts(&sent), ["Be brief.", "Tools.", "Folder: /a"]);
        assert_eq!(sent.contents, asked.contents);
        let again = layer.rewritten(&asked);
        let both = [&sent, &again].map(|request| request.system_instruction.clone().unwrap());
        assert!(Arc::ptr_eq(&both[0], &both[1]), "it is made anew at every step");
    }

    #[test]
    fn a_model_that_only_chats_is_offered_nothing() {
        let layer = RewriteRequests::new(Rewrite::WithoutTools);
        let sent = layer.rewritten(&request("x", vec![Arc::new(Content::user("hi"))]));
        assert!(sent.tools.is_empty());
        assert_eq!(sent.contents[0].text(), "hi");
    }
}
