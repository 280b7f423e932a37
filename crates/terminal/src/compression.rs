//! What came of a compression, in words.

use charla_proto::{CompressionReport, CompressionStatus, LlmError, LlmErrorKind};

/// What came of a compression, in words; an error where it failed.
pub fn told(report: &CompressionReport) -> Result<String, LlmError> {
    let CompressionReport { before, after, messages, .. } = report;
    Ok(match report.status {
        CompressionStatus::Compressed => format!(
            "Chat history compressed from about {before} to {after} tokens. `charla restore` brings the whole back."
        ),
        CompressionStatus::OutputsCut => {
            format!("Cut the largest outputs of tools: about {before} tokens are now {after}.")
        }
        CompressionStatus::LeftOut => format!(
            "The model gave no summary, so the oldest part of the conversation is left out: about {before} tokens \
             are now {after}. `charla restore` brings the whole back."
        ),
        CompressionStatus::Restored => {
            let told = format!("The whole conversation is back: {messages} messages, about {after} tokens.");
            match report.window.and_then(|window| too_much(*after, window)) {
                Some(warning) => format!("{told} {warning}"),
                None => told,
            }
        }
        CompressionStatus::NotNeeded => "Nothing to compress.".to_owned(),
        CompressionStatus::NothingToRestore => "Nothing is compressed: the conversation is whole.".to_owned(),
        CompressionStatus::Cancelled => return Err(error(LlmErrorKind::Cancelled, "cancelled".to_owned())),
        CompressionStatus::WouldInflate => {
            "A summary would be longer than what it stands for; the conversation is as it was.".to_owned()
        }
        CompressionStatus::EmptySummary => return Err(failed(report, "the model gave no summary")),
        CompressionStatus::Failed => return Err(failed(report, "the model could not be asked")),
    })
}

/// What a person should know when a restored conversation does not fit the model's window, or soon will not.
pub fn too_much(tokens: u64, window: u32) -> Option<String> {
    let again = "use a model with a larger window (-m), or the next prompt may compress it again; the setting \
                 `compression.automatic` can forbid that";
    // The system instruction and the tools take their part, too.
    let usable = f64::from(window) * 0.7;
    let what = match tokens {
        tokens if tokens >= u64::from(window) => "is more than",
        tokens if tokens as f64 > usable => "nearly fills",
        _ => return None,
    };
    Some(format!("That {what} the model's window of {window} tokens: {again}."))
}

fn failed(report: &CompressionReport, why: &str) -> LlmError {
    let why = report.detail.as_deref().unwrap_or(why);
    let message = format!("nothing was changed, the conversation is as it was: {why}");
    error(LlmErrorKind::InvalidStream, message)
}

fn error(kind: LlmErrorKind, message: String) -> LlmError {
    LlmError::new(kind, message)
}

/// What a run is told, in one line, of a compression that happened by itself.
pub fn in_passing(report: &CompressionReport) -> String {
    let CompressionReport { before, after, .. } = report;
    match report.status {
        CompressionStatus::Compressed => {
            format!("compressed the conversation from about {before} to {after} tokens")
        }
        _ => told(report).unwrap_or_else(|error| error.message),
    }
}
