//! Decode throughput of each wire beside plain `serde_json` parsing of the same bytes.
//!
//! `cargo bench -p charla-providers --bench decode`

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use charla_proto::WireKind;
use charla_providers::endpoint::{AuthStyle, Endpoint, ModelRow, Quirks, Target};
use charla_providers::sse::{DEFAULT_MAX_EVENT, Frame, Framer};
use charla_providers::wire::{self, BodyDecoder};
use serde_json::Value;

/// Long enough to be steady, short enough to be run.
const SPAN: Duration = Duration::from_millis(700);

fn main() {
    // `cargo test` builds benches and runs them with `--test`; there is nothing to check then.
    if std::env::args().any(|arg| arg == "--test" || arg == "--list") {
        return;
    }
    println!("{:18} {:>8} {:>12} {:>12} {:>7}", "wire", "bodies", "decode MB/s", "json MB/s", "ratio");
    for kind in WireKind::ALL {
        let bodies = streams(kind);
        let bytes: usize = bodies.iter().map(Vec::len).sum();
        let decode = throughput(bytes, || bodies.iter().for_each(|body| decode(kind, body)));
        let parse = throughput(bytes, || bodies.iter().for_each(|body| parse(body)));
        println!(
            "{:18} {:>8} {decode:>12.1} {parse:>12.1} {:>6.2}x",
            kind.name(),
            bodies.len(),
            decode / parse
        );
    }
}

/// The corpus's recorded event streams of a wire.
fn streams(kind: WireKind) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(kind.name());
    let cases = std::fs::read_dir(folder).into_iter().flatten().flatten();
    cases.filter_map(|case| std::fs::read(case.path().join("response.sse")).ok()).collect()
}

fn target(kind: WireKind) -> Target {
    let endpoint = Endpoint {
        name: "bench".to_owned(),
        wire: kind,
        base_url: String::new(),
        auth: AuthStyle::None,
        headers: Vec::new(),
        quirks: Quirks::default(),
    };
    Target::new(Arc::new(endpoint), ModelRow { id: "bench".to_owned(), ..ModelRow::default() })
}

fn decode(kind: WireKind, body: &[u8]) {
    let mut decoder = BodyDecoder::new(wire::of(kind).decoder(&target(kind)), DEFAULT_MAX_EVENT);
    let mut out = Vec::new();
    // Recorded errors inside streams are part of the work.
    let _ = decoder.push(body, &mut out).and_then(|()| decoder.end(&mut out));
    black_box(out);
}

/// The reference: the same framing, every event parsed into a `Value`.
fn parse(body: &[u8]) {
    let mut sink = |frame: Frame| {
        if let Frame::Event { data, .. } = frame {
            let _ = black_box(serde_json::from_str::<Value>(data));
        }
        Ok(())
    };
    let mut framer = Framer::default();
    let _ = framer.push(body, &mut sink).and_then(|()| framer.end(&mut sink));
}

fn throughput(bytes: usize, work: impl Fn()) -> f64 {
    work();
    let start = Instant::now();
    let mut rounds = 0;
    while start.elapsed() < SPAN {
        work();
        rounds += 1;
    }
    (bytes * rounds) as f64 / start.elapsed().as_secs_f64() / 1_048_576.0
}
