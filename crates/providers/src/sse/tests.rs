use proptest::prelude::*;

use super::*;

fn frames(body: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut out = Vec::new();
    let mut sink = |frame: Frame| {
        out.push(match frame {
            Frame::Event { name, data } => format!("{}|{data}", name.unwrap_or("-")),
            Frame::ErrorField(value) => format!("error!{value}"),
            Frame::Stray(line) => format!("stray!{line}"),
        });
        Ok(())
    };
    let mut framer = Framer::default();
    let mut from = 0;
    for cut in cuts.iter().copied().chain([body.len()]) {
        let cut = cut.clamp(from, body.len());
        framer.push(&body[from..cut], &mut sink).unwrap();
        from = cut;
    }
    framer.end(&mut sink).unwrap();
    out
}

const MIXED: &str = "\u{feff}: hello\r\nevent: a\r\ndata: één\r\n\r\ndata:二\ndata: 三\n\n\
    id: 4\rretry: 10\rdata\r\rerror: {\"x\":1}\n\n{\n  \"bare\": true\n}\nunknown: y\ndata: cut off";

const EXPECTED: [&str; 8] = [
    "a|één",
    "-|二\n三",
    "-|",
    "error!{\"x\":1}",
    "stray!{",
    "stray!  \"bare\": true",
    "stray!}",
    "-|cut off",
];

#[test]
fn all_line_ends_comments_names_and_strays_are_read() {
    assert_eq!(frames(MIXED.as_bytes(), &[]), EXPECTED);
}

#[test]
fn one_byte_at_a_time_gives_the_same_events() {
    let cuts: Vec<usize> = (0..MIXED.len()).collect();
    assert_eq!(frames(MIXED.as_bytes(), &cuts), EXPECTED);
}

#[test]
fn an_event_over_the_limit_is_refused_whether_in_one_line_or_many() {
    let mut framer = Framer::new(100);
    let mut sink = |_: Frame| Ok(());
    let error = framer.push(&[b'x'; 101], &mut sink).unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Protocol);
    let mut framer = Framer::new(100);
    let lines = "data: 0123456789\n".repeat(20);
    assert!(framer.push(lines.as_bytes(), &mut sink).is_err());
}

proptest! {
    #[test]
    fn where_the_bytes_are_cut_never_matters(mut cuts in prop::collection::vec(0..MIXED.len(), 0..20)) {
        cuts.sort_unstable();
        prop_assert_eq!(frames(MIXED.as_bytes(), &cuts), EXPECTED);
    }

    #[test]
    fn no_bytes_make_it_fail(body in prop::collection::vec(any::<u8>(), 0..300)) {
        frames(&body, &[body.len() / 2]);
    }
}
