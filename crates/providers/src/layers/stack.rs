//! Puts the layers that one model needs over its generator.

use std::sync::Arc;

use charla_proto::ContentGenerator;
use serde::{Deserialize, Serialize};

use super::text_tools::StrayCalls;
use super::{
    Layer, Layered, NamedParameters, ParameterMap, Rewrite, RewriteRequests, TextTools, TextToolsOptions,
    ThinkFilter, ThinkOptions,
};
use crate::endpoint::Quirks;

/// How a model calls tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolMode {
    /// By its wire's own function calls.
    Native,
    /// In its text.
    Text,
    /// Not at all: it only answers in words.
    None,
    /// By what is known: what a probe found, in its text where the server refuses tools, else by its wire.
    #[default]
    Auto,
}

impl ToolMode {
    /// The mode with `Auto` decided: by what a probe found, else by the server's known peculiarities.
    pub fn decide(self, quirks: &Quirks, probed: Option<ToolMode>) -> ToolMode {
        match (self, probed) {
            (ToolMode::Auto, Some(ToolMode::Auto) | None) if quirks.no_tools => ToolMode::Text,
            (ToolMode::Auto, Some(ToolMode::Auto) | None) => ToolMode::Native,
            (ToolMode::Auto, Some(found)) => found,
            (decided, _) => decided,
        }
    }

    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            ToolMode::Native => "native",
            ToolMode::Text => "text",
            ToolMode::None => "none",
            ToolMode::Auto => "auto",
        }
    }
}

/// What one model needs over its generator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackOptions {
    /// How it calls tools; `Auto` counts as native here, see [`ToolMode::decide`].
    pub tools: ToolMode,
    /// How it is spoken to about tools in text.
    pub text: TextToolsOptions,
    /// How its thoughts are found.
    pub think: ThinkOptions,
    /// Other names it uses for parameters, in native calls and in text.
    pub parameters: ParameterMap,
    /// All of the system instruction but its first part is sent behind the tools. For servers with a prompt
    /// cache: see [`Rewrite`].
    pub stable_prefix: bool,
}

/// The generator with its layers: thoughts are taken out of the text before calls are looked for in it, and
/// calls have their parameters renamed wherever they come from.
///
/// Goes below [`super::Resilient`], one stack for each link of the chain, so that an answer that holds
/// nothing but thoughts is tried again and each model has its own mode.
pub fn stack(generator: Arc<dyn ContentGenerator>, options: StackOptions) -> Arc<dyn ContentGenerator> {
    let mut stack = over(generator, ThinkFilter::new(options.think));
    match options.tools {
        ToolMode::Native | ToolMode::Auto => {
            if options.stable_prefix {
                stack = over(stack, RewriteRequests::new(Rewrite::VolatileToFirstUser));
            }
            stack = over(stack, StrayCalls);
        }
        ToolMode::Text => {
            if options.stable_prefix {
                stack = over(stack, RewriteRequests::new(Rewrite::VolatileToEnd));
            }
            stack = over(stack, TextTools::new(options.text));
        }
        // Earlier calls of other models are told in words.
        ToolMode::None => {
            stack = over(stack, TextTools::new(options.text));
            return over(stack, RewriteRequests::new(Rewrite::WithoutTools));
        }
    }
    match options.parameters.is_empty() {
        true => stack,
        false => over(stack, NamedParameters::new(options.parameters)),
    }
}

fn over(generator: Arc<dyn ContentGenerator>, layer: impl Layer + 'static) -> Arc<dyn ContentGenerator> {
    Arc::new(Layered::over(generator, layer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_wins_over_a_probe_and_a_probe_over_what_is_known() {
        let plain = Quirks::default();
        let refusing = Quirks { no_tools: true, ..Quirks::default() };
        assert_eq!(ToolMode::Native.decide(&refusing, Some(ToolMode::None)), ToolMode::Native);
        assert_eq!(ToolMode::Auto.decide(&refusing, Some(ToolMode::Native)), ToolMode::Native);
        assert_eq!(ToolMode::Auto.decide(&plain, Some(ToolMode::None)), ToolMode::None);
        assert_eq!(ToolMode::Auto.decide(&refusing, None), ToolMode::Text);
        assert_eq!(ToolMode::Auto.decide(&plain, None), ToolMode::Native);
    }
}
