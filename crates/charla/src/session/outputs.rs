//! What others need of a session's calls beside its records: whole outputs, and what agents did for them.

use std::path::{Path, PathBuf};

use charla_proto::{CallEnded, Fact, Record};
use charla_store::is_plain_id;
use futures_util::{Stream, StreamExt, stream};

use super::agent_calls::{INVOKE_AGENT, child_id};
use super::error::SessionError;
use super::store::Sessions;

impl Sessions {
    /// The file with the whole output of a call, where its record tells less and names one; nothing where there is none. It need not
    /// exist.
    pub async fn whole_output(&self, id: &str, call: &str) -> Result<Option<PathBuf>, SessionError> {
        let records = self.records(id).await?;
        // What a journal from elsewhere names is not here, whatever has its name.
        let foreign = records.iter().find_map(|record| match &record.fact {
            Fact::SessionStarted(started) => started.imported_up_to,
            _ => None,
        });
        let own = records.iter().rev().filter(|record| Some(record.seq) > foreign);
        let named = own.filter_map(named_output).find(|(of, _)| *of == call);
        let Some((session, name)) = named.and_then(|(_, path)| kept_as(path)) else { return Ok(None) };
        self.output(session, name).await.map(Some)
    }

    /// The records of the agent that worked for a call of the session, as far as they can be read; none where none did.
    pub fn agent_records(&self, id: &str, ended: &CallEnded) -> impl Stream<Item = Record> + use<> {
        let agent = (ended.response.name == INVOKE_AGENT).then(|| child_id(id, &ended.call));
        let records = agent.map(|agent| self.stream_after(&agent, 0));
        stream::iter(records).flatten().filter_map(async |record| record.ok())
    }
}

/// The call whose end this is, and the file it names.
fn named_output(record: &Record) -> Option<(&str, &Path)> {
    let ended = match &record.fact {
        Fact::CallEnded(ended) => ended,
        Fact::ClientCallEnded(ended) => ended,
        _ => return None,
    };
    Some((&ended.call, ended.whole_output.as_deref()?))
}

/// The session and the name that a large output is kept under. Other machines may have it in another folder.
fn kept_as(path: &Path) -> Option<(&str, &str)> {
    let name = path.file_name()?.to_str().filter(|name| !name.starts_with('.'))?;
    let session = path.parent()?.file_name()?.to_str().filter(|session| is_plain_id(session))?;
    Some((session, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_known_by_its_session_and_name_wherever_its_folder_is() {
        let kept = |path| kept_as(Path::new(path));
        assert_eq!(kept("/a/sessions/outputs/01a1/output-1.txt"), Some(("01a1", "output-1.txt")));
        for path in ["", "/", "/x", "x", "/a/../x", "/a/./b/..", "/a b/c", "/outputs/01a1/.hidden"] {
            assert_eq!(kept(path), None, "{path}");
        }
    }
}
