//! Half a character in an answer costs that half, not the answer.

use charla_proto::{Assembler, WireKind};
use charla_providers::endpoint::{AuthStyle, Endpoint, ModelRow, Quirks, Target};
use charla_providers::wire::{self, BodyDecoder};

use crate::endings::events;

#[test]
fn lone_halves_of_surrogate_pairs_are_replaced_on_every_wire() {
    for kind in WireKind::ALL {
        let base_url = "http://127.0.0.1".to_owned();
        let (name, auth, quirks) = ("x".to_owned(), AuthStyle::None, Quirks::default());
        let endpoint = Endpoint { name, wire: kind, base_url, auth, headers: Vec::new(), quirks };
        let target = Target::new(endpoint.into(), ModelRow::default());
        let body = events(kind).whole().replace("Hello", "H\\ud83d \\ud83d\\ude00");
        let mut decoder = BodyDecoder::new(wire::of(kind).decoder(&target), 1 << 20);
        let mut chunks = Vec::new();
        decoder.push(body.as_bytes(), &mut chunks).and_then(|()| decoder.end(&mut chunks)).unwrap();
        let mut whole = Assembler::new();
        chunks.into_iter().for_each(|chunk| whole.push(chunk));
        assert_eq!(whole.finish().text(), "H\u{fffd} 😀", "{kind:?}");
    }
}
