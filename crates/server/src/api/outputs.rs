//! What tools printed that was too long to be told.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use crate::call::Call;
use crate::problem::Problem;

/// How much is read at a time.
const PIECE: usize = 64 * 1024;

/// The whole output of a call.
pub(crate) async fn whole(call: Call) -> Result<Response, Problem> {
    let (session, id) = (call.part("id"), call.part("call"));
    let gone = || Problem::not_found(format!("no more is kept of the call `{id}` than its record tells"));
    let sessions = call.owner.hub.charla().sessions()?;
    let path = {
        let _turn = call.app.limits.outputs.acquire().await;
        sessions.whole_output(session, id).await?.ok_or_else(gone)?
    };
    let file = File::open(path).await.map_err(|_| gone())?;
    let pieces = stream::unfold(Some((file, call)), |state| async {
        let (mut file, call) = state?;
        let mut piece = vec![0; PIECE];
        match file.read(&mut piece).await {
            Ok(0) => None,
            Ok(read) => {
                piece.truncate(read);
                Some((Ok(Bytes::from(piece)), Some((file, call))))
            }
            Err(error) => Some((Err(error), None)),
        }
    });
    let mut response = Body::from_stream(pieces).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    let name = HeaderValue::from_static("attachment; filename=\"output.txt\"");
    headers.insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}
