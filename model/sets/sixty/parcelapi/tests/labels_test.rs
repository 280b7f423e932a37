use parcelapi::labels::{barcode_text, fits};

#[test]
fn prefix_is_added() {
    assert_eq!(barcode_text("ab12"), "PX-AB12");
}

#[test]
fn too_wide_does_not_fit() {
    assert!(!fits(149, 100));
}
