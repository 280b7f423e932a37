//! The web page. Its files are part of the binary; nothing else is ever loaded.

use std::sync::LazyLock;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use miniz_oxide::inflate::decompress_to_vec;

use crate::access::Digest;
use crate::routes::wrong_method;

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Where each file is, its name and its kind.
const FILES: [(&str, &str, &str); 17] = [
    ("/", "index.html", "text/html; charset=utf-8"),
    ("/sign-in", "sign-in.html", "text/html; charset=utf-8"),
    ("/page/sign-in.js", "sign-in.js", SCRIPT),
    ("/page/main.js", "main.js", SCRIPT),
    ("/page/api.js", "api.js", SCRIPT),
    ("/page/dom.js", "dom.js", SCRIPT),
    ("/page/markdown.js", "markdown.js", SCRIPT),
    ("/page/conversation.js", "conversation.js", SCRIPT),
    ("/page/card.js", "card.js", SCRIPT),
    ("/page/changes.js", "changes.js", SCRIPT),
    ("/page/figures.js", "figures.js", SCRIPT),
    ("/page/notify.js", "notify.js", SCRIPT),
    ("/page/sharing.js", "sharing.js", SCRIPT),
    ("/page/listing.js", "listing.js", SCRIPT),
    ("/page/account.js", "account.js", SCRIPT),
    ("/page/style.css", "style.css", "text/css; charset=utf-8"),
    ("/favicon.svg", "favicon.svg", "image/svg+xml"),
];

/// The texts of all files with their names, packed when the program is built.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/page.packed"));

/// All texts with their names, from the first server of a process on.
static TEXTS: LazyLock<String> = LazyLock::new(|| {
    let texts = decompress_to_vec(PACKED).unwrap_or_default();
    String::from_utf8(texts).unwrap_or_default()
});

/// The text of a file.
fn text(file: &str) -> &'static str {
    let mut parts = TEXTS.split('\0');
    while let (Some(name), Some(text)) = (parts.next(), parts.next()) {
        if name == file {
            return text;
        }
    }
    ""
}

/// The address that signs a browser in. What is behind `#` is not sent with the request for the page.
pub(crate) fn sign_in_path(code: &str) -> String {
    format!("/sign-in#{code}")
}

/// Serves the page's files.
pub(crate) fn router() -> Router {
    FILES.into_iter().fold(Router::new(), |router, (path, name, kind)| {
        let text = text(name);
        let method = get(move |headers: HeaderMap| async move { file(&headers, text, kind) });
        router.route(path, method.fallback(wrong_method))
    })
}

/// A file, unless the browser has it already.
fn file(asked: &HeaderMap, text: &'static str, kind: &'static str) -> Response {
    let tag = format!("\"{}\"", Digest::of(text).text());
    let same = asked.get_all(header::IF_NONE_MATCH).iter().any(|known| names(known, &tag));
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

/// True when one of the tags that a browser has is this one; a proxy may have marked it as weak.
fn names(known: &HeaderValue, tag: &str) -> bool {
    let mut tags = known.to_str().unwrap_or_default().split(',').map(str::trim);
    tags.any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_the_browser_has_is_not_sent_again() {
        for known in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "\"b\",W/\"a\"", "*"] {
            assert!(names(&HeaderValue::from_static(known), "\"a\""), "{known}");
        }
        for other in ["", "a", "\"b\"", "\"ab\"", "W/\"b\", \"c\""] {
            assert!(!names(&HeaderValue::from_static(other), "\"a\""), "{other}");
        }
    }

    #[test]
    fn every_file_of_the_page_is_served_as_it_is() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), FILES.len());
        for (_, name, _) in FILES {
            assert_eq!(text(name), std::fs::read_to_string(folder.join(name)).unwrap(), "{name}");
        }
    }
}
