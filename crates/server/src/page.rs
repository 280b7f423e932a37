//! The web page. Its files are part of the binary; nothing else is ever loaded.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::access::Digest;
use crate::routes::wrong_method;

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! files {
    ($($path:literal $file:literal $kind:expr;)*) => {
        [$(($path, include_str!(concat!("../page/", $file)), $kind)),*]
    };
}

/// Where each file is, its text and its kind.
static FILES: [(&str, &str, &str); 17] = files! {
    "/" "index.html" "text/html; charset=utf-8";
    "/sign-in" "sign-in.html" "text/html; charset=utf-8";
    "/page/sign-in.js" "sign-in.js" SCRIPT;
    "/page/main.js" "main.js" SCRIPT;
    "/page/api.js" "api.js" SCRIPT;
    "/page/dom.js" "dom.js" SCRIPT;
    "/page/markdown.js" "markdown.js" SCRIPT;
    "/page/conversation.js" "conversation.js" SCRIPT;
    "/page/card.js" "card.js" SCRIPT;
    "/page/changes.js" "changes.js" SCRIPT;
    "/page/figures.js" "figures.js" SCRIPT;
    "/page/notify.js" "notify.js" SCRIPT;
    "/page/sharing.js" "sharing.js" SCRIPT;
    "/page/listing.js" "listing.js" SCRIPT;
    "/page/account.js" "account.js" SCRIPT;
    "/page/style.css" "style.css" "text/css; charset=utf-8";
    "/favicon.svg" "favicon.svg" "image/svg+xml";
};

/// The address that signs a browser in. What is behind `#` is not sent with the request for the page.
pub(crate) fn sign_in_path(code: &str) -> String {
    format!("/sign-in#{code}")
}

/// Serves the page's files.
pub(crate) fn router() -> Router {
    FILES.iter().fold(Router::new(), |router, (path, text, kind)| {
        let method = get(move |headers: HeaderMap| async move { file(&headers, text, kind) });
        router.route(path, method.fallback(wrong_method))
    })
}

/// A file, unless the browser has it already.
fn file(asked: &HeaderMap, text: &'static str, kind: &'static str) -> Response {
    let tag = format!("\"{}\"", Digest::of(text).text());
    let same = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = match same {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => text.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}
