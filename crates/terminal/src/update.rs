//! What is new, in words.

use charla::trust::TrustDemand;
use charla::update::{Release, VERSION, default_source};
use charla::{Charla, Failure};
use charla_proto::text::one_line;
use serde_json::json;

use crate::printer::Printer;

/// Asks this source what is new, or else the one that the program was built with, and tells it. Nothing is installed.
pub async fn check(
    source: Option<&str>,
    json: bool,
    charla: &Charla,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let source = source.map(str::to_owned).or_else(default_source).ok_or_else(|| {
        Failure::input("this program was built without an address to ask for news, and no other is given").with_hint(
            "name one with --from URL or the variable CHARLA_UPDATE_SOURCE: a JSON document with `version`, `url` and `notes`",
        )
    })?;
    let settings = charla.settings(Vec::new(), &TrustDemand::default())?.settings;
    let newest = charla::update::newest(&source, &settings, charla.environment()).await?;
    let newer = newest.is_newer().ok_or_else(|| {
        Failure::system(format!("the source names \"{}\", which is no version", one_line(&newest.version)))
    })?;
    if json {
        let (url, notes) = (&newest.url, &newest.notes);
        let told =
            json!({"version": VERSION, "newest": newest.version, "newer": newer, "url": url, "notes": notes});
        return printer.result(&format!("{told}\n"));
    }
    printer.result(&words(&newest, newer))
}

fn words(newest: &Release, newer: bool) -> String {
    let version = one_line(&newest.version);
    if !newer {
        return format!("charla {VERSION} is the newest; the source has {version}\n");
    }
    let mut text = format!("charla {version} is there; this is {VERSION}\n");
    let about = newest.notes.iter().chain(&newest.url);
    about.for_each(|line| text.push_str(&format!("{}\n", one_line(line))));
    text.push_str("Nothing was changed: install it the way you installed this one.\n");
    text
}
