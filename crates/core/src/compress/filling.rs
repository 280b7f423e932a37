//! What fills a window, and what of it can be cut.

use std::cmp::Reverse;
use std::sync::Arc;

use charla_proto::{Content, FunctionResponse, GenerateRequest, PartKind, Role, WindowPart};

use super::Counter;
use super::size::part_size;

/// How many characters stay of a tool's output that is cut: first only long ones are cut, and when there are
/// none, shorter ones and to less.
const OUTPUT_KEPT: [usize; 2] = [2_000, 400];

/// What fills a window, in words, and the largest part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filling {
    /// Kinds with their tokens, the largest first.
    pub description: String,
    /// The largest kind.
    pub fullest: WindowPart,
}

impl Default for Filling {
    fn default() -> Self {
        Self { description: String::new(), fullest: WindowPart::Input }
    }
}

/// One kind of what is sent.
struct Kind {
    name: &'static str,
    part: WindowPart,
    tokens: u64,
    /// The largest of several pieces, in words.
    largest: Option<String>,
}

/// What fills a request that does not fit.
pub fn what_fills(request: &GenerateRequest, count: &Counter) -> Filling {
    let empty = || GenerateRequest::new(request.model.clone(), Vec::new());
    let system = GenerateRequest { system_instruction: request.system_instruction.clone(), ..empty() };
    let tools = GenerateRequest { tools: request.tools.clone(), ..empty() };
    let mut kinds = [
        Kind {
            name: "instructions and instruction files",
            part: WindowPart::Instructions,
            tokens: count(&system),
            largest: None,
        },
        Kind { name: "descriptions of tools", part: WindowPart::Tools, tokens: count(&tools), largest: None },
        of_parts("your messages", WindowPart::Input, request, count, |role, kind| {
            role == Role::User && !matches!(kind, PartKind::FunctionResponse(_))
        }),
        of_parts("the model's words and calls", WindowPart::Answers, request, count, |role, _| {
            role == Role::Model
        }),
        of_parts("results of tools", WindowPart::ToolResults, request, count, |role, kind| {
            role == Role::User && matches!(kind, PartKind::FunctionResponse(_))
        }),
    ];
    kinds.sort_by_key(|kind| Reverse(kind.tokens));
    let nothing = count(&empty());
    let description = kinds.iter().filter(|kind| kind.tokens > nothing).map(|kind| {
        let largest = kind.largest.as_ref().map(|largest| format!(" ({largest})")).unwrap_or_default();
        format!("{} {}{largest}", kind.name, kind.tokens)
    });
    let description = description.collect::<Vec<_>>().join(", ");
    Filling { description, fullest: kinds.first().map_or(WindowPart::Input, |kind| kind.part) }
}

/// The parts of one kind, counted together, and the largest of them by itself.
fn of_parts(
    name: &'static str,
    part: WindowPart,
    request: &GenerateRequest,
    count: &Counter,
    belongs: fn(Role, &PartKind) -> bool,
) -> Kind {
    let tokens = |contents: Vec<Content>| {
        let contents = contents.into_iter().map(Arc::new).collect();
        count(&GenerateRequest::new(request.model.clone(), contents))
    };
    let mut contents = Vec::new();
    for content in &request.contents {
        for part in content.parts.iter().filter(|part| belongs(content.role, &part.kind)) {
            contents.push(Content::new(content.role, vec![part.clone()]));
        }
    }
    let largest = contents.iter().max_by_key(|content| content.parts.iter().map(part_size).sum::<usize>());
    let largest = largest.filter(|_| contents.len() > 1).map(|content| {
        let what = match content.parts.first().map(|part| &part.kind) {
            Some(PartKind::FunctionResponse(response)) => format!("the largest, of {}, ", response.name),
            _ => "the largest ".to_owned(),
        };
        format!("{what}{}", tokens(vec![content.clone()]))
    });
    Kind { name, part, tokens: tokens(contents), largest }
}

/// The calls whose results are cut next, and how many characters stay of each: the largest ones, as few as
/// bring the conversation down to `share` of its size. Never those that a cut makes hardly shorter: callers
/// cut until nothing is left to cut. `whole_in` goes into what stays, see [`FunctionResponse::cut`].
pub fn largest_outputs(
    contents: &[Arc<Content>],
    share: f64,
    whole_in: Option<&str>,
) -> Option<(Vec<String>, usize)> {
    let total: usize = contents.iter().map(|content| super::size(content)).sum();
    let excess = (total as f64 * (1.0 - share)).max(1.0) as usize;
    OUTPUT_KEPT.into_iter().find_map(|kept| {
        let responses = contents.iter().flat_map(|content| content.function_responses());
        let won =
            responses.filter_map(|response| Some((won(response, kept, whole_in), response.id.as_ref()?)));
        let mut won: Vec<(usize, &String)> = won.filter(|(won, _)| *won >= kept).collect();
        won.sort_by_key(|(won, _)| Reverse(*won));
        let mut sum = 0;
        let needed = won.into_iter().take_while(|(won, _)| {
            let needed = sum < excess;
            sum += won;
            needed
        });
        let calls: Vec<String> = needed.map(|(_, id)| id.clone()).collect();
        (!calls.is_empty()).then_some((calls, kept))
    })
}

/// The calls whose results are long, and how many characters stay of each when they are cut.
pub fn large_outputs(contents: &[Arc<Content>], whole_in: Option<&str>) -> Option<(Vec<String>, usize)> {
    let kept = OUTPUT_KEPT[0];
    let responses = contents.iter().flat_map(|content| content.function_responses());
    let large = responses.filter(|response| won(response, kept, whole_in) >= kept);
    let calls: Vec<String> = large.filter_map(|response| response.id.clone()).collect();
    (!calls.is_empty()).then_some((calls, kept))
}

/// These contents with the results of these calls cut.
pub fn with_cut(
    contents: &[Arc<Content>],
    calls: &[String],
    kept: usize,
    whole_in: Option<&str>,
) -> Vec<Arc<Content>> {
    let is_cut = |part: &PartKind| match part {
        PartKind::FunctionResponse(response) => response.id.as_ref().is_some_and(|id| calls.contains(id)),
        _ => false,
    };
    let cut = |content: &Arc<Content>| {
        if !content.parts.iter().any(|part| is_cut(&part.kind)) {
            return content.clone();
        }
        let mut short = (**content).clone();
        for part in short.parts.iter_mut().filter(|part| is_cut(&part.kind)) {
            if let PartKind::FunctionResponse(response) = &mut part.kind {
                response.cut(kept, whole_in);
            }
        }
        Arc::new(short)
    };
    contents.iter().map(cut).collect()
}

/// By how much an output gets shorter when it is cut.
fn won(response: &FunctionResponse, kept: usize, whole_in: Option<&str>) -> usize {
    let long = response.to_text().len();
    if long <= kept {
        return 0;
    }
    let mut short = response.clone();
    short.cut(kept, whole_in);
    long.saturating_sub(short.to_text().len())
}

#[cfg(test)]
mod tests {
    use charla_proto::{FunctionDeclaration, Part, Tool};

    use super::*;

    fn result(id: &str, size: usize) -> Arc<Content> {
        let response = FunctionResponse::output(id, "read_file", "x".repeat(size));
        Arc::new(Content::new(Role::User, vec![Part::function_response(response)]))
    }

    #[test]
    fn what_fills_is_told_by_kind_with_figures() {
        let count: Counter = Arc::new(|request| serde_json::to_string(request).unwrap().len() as u64 / 100);
        let mut request = GenerateRequest::new(
            "m",
            vec![
                Arc::new(Content::user("u".repeat(2_000))),
                Arc::new(Content::model("m".repeat(300))),
                result("1", 4_000),
                result("2", 700),
            ],
        );
        request.system_instruction = Some(Arc::new(Content::user("s".repeat(1_000))));
        let declaration = FunctionDeclaration { name: "f".repeat(200), ..FunctionDeclaration::default() };
        request.tools = vec![Tool::functions(vec![Arc::new(declaration)])];
        let Filling { description, fullest } = what_fills(&request, &count);
        assert_eq!(fullest, WindowPart::ToolResults);
        let kinds: Vec<&str> = description.split(", ").collect();
        assert!(description.starts_with("results of tools 4"), "{description}");
        assert!(description.contains("the largest, of read_file, 4"), "{description}");
        for kind in ["your messages 2", "instructions and instruction files 1", "descriptions of tools"] {
            assert!(kinds.iter().any(|description| description.starts_with(kind)), "{kind}: {description}");
        }
    }

    #[test]
    fn the_largest_outputs_are_cut_first_and_no_more_than_needed() {
        let contents = [result("small", 500), result("big", 40_000), result("middle", 20_000)];
        assert_eq!(largest_outputs(&contents, 0.6, None), Some((vec!["big".to_owned()], 2_000)));
        let both = vec!["big".to_owned(), "middle".to_owned()];
        assert_eq!(largest_outputs(&contents, 0.1, None), Some((both, 2_000)));
    }

    #[test]
    fn when_no_output_is_long_shorter_ones_are_cut_and_then_none() {
        let contents = [result("a", 3_000), result("b", 900), result("c", 300)];
        let (calls, kept) = largest_outputs(&contents, 0.1, None).unwrap();
        assert_eq!((calls, kept), (vec!["a".to_owned(), "b".to_owned()], 400));
        assert_eq!(largest_outputs(&[result("c", 700)], 0.1, None), None);
    }

    #[test]
    fn cutting_comes_to_an_end_whatever_the_alphabet_and_however_long_the_place_is() {
        let long_place = "folder/".repeat(200);
        for (letter, place) in
            [("ж", None), ("海", None), ("x", Some(long_place.as_str())), ("海", Some("here"))]
        {
            let response = FunctionResponse::output("1", "read_file", letter.repeat(30_000));
            let mut content = Content::new(Role::User, vec![Part::function_response(response)]);
            let mut cuts = 0;
            while let Some((_, kept)) = largest_outputs(&[Arc::new(content.clone())], 0.001, place) {
                for part in &mut content.parts {
                    let PartKind::FunctionResponse(response) = &mut part.kind else { unreachable!() };
                    response.cut(kept, place);
                }
                cuts += 1;
                assert!(cuts <= 2, "{letter} is cut again and again");
            }
            assert!(cuts > 0, "{letter} is never cut");
        }
    }
}
