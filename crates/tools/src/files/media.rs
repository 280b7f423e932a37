//! Media, recognized by their first bytes.

/// The type of an image, a PDF, a sound or a film that models can be shown; `None` for anything else.
pub(crate) fn sniff(bytes: &[u8]) -> Option<&'static str> {
    let at = |from: usize, wanted: &[u8]| bytes.get(from..from + wanted.len()) == Some(wanted);
    let known: &[(&str, bool)] = &[
        ("image/png", at(0, b"\x89PNG\r\n\x1a\n")),
        ("image/jpeg", at(0, b"\xFF\xD8\xFF")),
        ("image/gif", at(0, b"GIF87a") || at(0, b"GIF89a")),
        ("image/webp", at(0, b"RIFF") && at(8, b"WEBP")),
        // "BM" alone also begins words: the reserved bytes and the header's size must fit too.
        ("image/bmp", at(0, b"BM") && at(6, &[0; 4]) && bytes.get(14).is_some_and(|size| *size >= 12)),
        ("application/pdf", at(0, b"%PDF-")),
        ("audio/wav", at(0, b"RIFF") && at(8, b"WAVE")),
        ("audio/flac", at(0, b"fLaC")),
        ("audio/ogg", at(0, b"OggS")),
        ("audio/aiff", at(0, b"FORM") && at(8, b"AIFF")),
        ("audio/mp3", at(0, b"ID3") || is_mpeg_audio(bytes)),
        ("audio/mp4", at(4, b"ftypM4A")),
        ("video/quicktime", at(4, b"ftypqt")),
        ("video/mp4", at(4, b"ftyp")),
        ("video/webm", at(0, b"\x1A\x45\xDF\xA3")),
        ("video/mpeg", at(0, b"\0\0\x01\xBA") || at(0, b"\0\0\x01\xB3")),
        ("video/avi", at(0, b"RIFF") && at(8, b"AVI ")),
    ];
    known.iter().find(|(_, is)| *is).map(|(mime, _)| *mime)
}

/// An MPEG audio frame: its sync bits, and no reserved version, layer, bit rate or frequency.
fn is_mpeg_audio(bytes: &[u8]) -> bool {
    let Some([first, second, third]) = bytes.first_chunk::<3>() else { return false };
    *first == 0xFF
        && second & 0xE0 == 0xE0
        && second & 0x18 != 0x08
        && second & 0x06 != 0
        && third & 0xF0 != 0xF0
        && third & 0x0C != 0x0C
        // UTF-16's byte order mark has the sync bits as well.
        && *second != 0xFE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_are_known_by_their_bytes_and_text_is_none() {
        assert_eq!(sniff(b"\x89PNG\r\n\x1a\n\0\0"), Some("image/png"));
        assert_eq!(sniff(b"RIFF\x10\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(sniff(b"RIFF\x10\0\0\0WAVEfmt "), Some("audio/wav"));
        assert_eq!(sniff(b"\0\0\0\x18ftypisom"), Some("video/mp4"));
        assert_eq!(sniff(b"%PDF-1.7\n"), Some("application/pdf"));
        assert_eq!(sniff(b"\xFF\xFB\x90\x64\0"), Some("audio/mp3"));
        for text in [&b"BM is a company"[..], b"\xFF\xFEh\0i\0", b"<svg xmlns=''/>", b"", b"\xFF", b"GIF"] {
            assert_eq!(sniff(text), None, "{text:?}");
        }
    }
}
