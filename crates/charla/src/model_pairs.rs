//! Names that stand for two models: one that plans, one that works. Users of Gemini CLI know them.

/// A name, the model that works, and the one that plans.
pub(crate) const PAIRS: [(&str, &str, &str); 2] = [
    ("auto-gemini-3", "gemini/gemini-3.6-flash", "gemini/gemini-3.1-pro"),
    ("auto-gemini-2.5", "gemini/gemini-2.5-flash", "gemini/gemini-2.5-pro"),
];

/// The model that works where this name stands for two.
pub(crate) fn working(name: &str) -> Option<&'static str> {
    PAIRS.iter().find(|(pair, ..)| *pair == name).map(|(_, working, _)| *working)
}

/// The model that plans where this name stands for two.
pub(crate) fn planning(name: &str) -> Option<&'static str> {
    PAIRS.iter().find(|(pair, ..)| *pair == name).map(|(.., planning)| *planning)
}
