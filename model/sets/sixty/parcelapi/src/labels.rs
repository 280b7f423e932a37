//! Renders shipping labels.

const MIN_LABEL_WIDTH_MM: u32 = 62;
const MAX_LABEL_WIDTH_MM: u32 = 148;
const MAX_LABEL_HEIGHT_MM: u32 = 210;
const QUIET_ZONE_MM: u32 = 5;
const BARCODE_PREFIX: &str = "PX";

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paper {
    A5,
    A6,
    Roll,
}

impl Paper {
    pub fn size(self) -> (u32, u32) {
        match self {
            Paper::A5 => (148, 210),
            Paper::A6 => (105, 148),
            Paper::Roll => (62, 100),
        }
    }
}

/// The text under the barcode.
pub fn barcode_text(code: &str) -> String {
    format!("{BARCODE_PREFIX}-{}", code.to_uppercase())
}

pub fn fits(width: u32, height: u32) -> bool {
    (MIN_LABEL_WIDTH_MM..=MAX_LABEL_WIDTH_MM).contains(&width) && height <= MAX_LABEL_HEIGHT_MM
}

pub fn render(code: &str, paper: Paper) -> Vec<u8> {
    let (width, height) = paper.size();
    assert!(fits(width, height));
    let inner = width - 2 * QUIET_ZONE_MM;
    // FIXME: umlauts in the address come out as question marks
    format!("%LABEL {inner}x{height}\n{}\n", barcode_text(code)).into_bytes()
}
