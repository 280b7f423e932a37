//! The table of commands that write what their words name.

/// Which of the words that are no options are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Files {
    /// All of them.
    Every,
    /// All of them, and what arrives in the last.
    Moved,
    /// The last, or the one an option names, and what arrives in it.
    Copied,
    /// The first.
    First,
    /// Those behind the first.
    Behind,
    /// None: they are addresses, whose last part is the name of what is fetched.
    Fetched,
    /// None.
    None,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer {
    pub names: &'static [&'static str],
    pub files: Files,
    /// Letters of options with a value that is not written.
    pub valued: &'static str,
    /// Letters of options whose value is.
    pub targets: &'static str,
    /// The same two, in words.
    pub long_valued: &'static [&'static str],
    pub long_targets: &'static [&'static str],
    /// With one of these letters, nothing is written.
    pub unless: &'static str,
    /// Where there are any, something is only written with one of these letters.
    pub only_with: &'static str,
    /// It may read what none of its words names.
    pub reads_more: bool,
}

impl Writer {
    /// A command with these options that have a value, none of them a file that is written.
    pub(super) const fn options(valued: &'static str, long_valued: &'static [&'static str]) -> Writer {
        Writer { long_valued, ..row(&[], Files::None, valued) }
    }
}

const fn row(names: &'static [&'static str], files: Files, valued: &'static str) -> Writer {
    Writer {
        names,
        files,
        valued,
        targets: "",
        long_valued: &[],
        long_targets: &[],
        unless: "",
        only_with: "",
        reads_more: false,
    }
}

/// The same for a program that may read what none of its words names: a list, a script, settings of its own.
const fn reader(names: &'static [&'static str], files: Files, valued: &'static str) -> Writer {
    Writer { reads_more: true, ..row(names, files, valued) }
}

const INTO: &[&str] = &["--target-directory"];

pub(super) const WRITERS: &[Writer] = &[
    row(
        &[
            "tee", "rm", "rmdir", "unlink", "link", "sponge", "shred", "chown", "chgrp", "chattr", "mkfifo",
            "mknod",
        ],
        Files::Every,
        "",
    ),
    reader(&["nano", "ed"], Files::Every, ""),
    row(&["chmod"], Files::Every, ""),
    Writer { long_valued: &["--date", "--reference", "--time"], ..row(&["touch"], Files::Every, "drt") },
    Writer { long_valued: &["--mode"], ..row(&["mkdir"], Files::Every, "m") },
    Writer { long_valued: &["--size", "--reference"], ..row(&["truncate"], Files::Every, "sr") },
    Writer { long_valued: &["--length", "--offset"], ..row(&["fallocate"], Files::Every, "lo") },
    reader(&["ex", "vi", "vim", "nvim"], Files::Every, "cSuUiTWw"),
    Writer {
        long_targets: INTO,
        long_valued: &["--suffix", "--no-preserve", "--sparse"],
        targets: "t",
        ..row(&["cp"], Files::Copied, "S")
    },
    Writer {
        long_targets: INTO,
        long_valued: &["--suffix"],
        targets: "t",
        ..row(&["mv", "ln"], Files::Moved, "S")
    },
    Writer {
        long_targets: INTO,
        long_valued: &["--suffix", "--group", "--mode", "--owner", "--strip-program"],
        targets: "t",
        ..row(&["install"], Files::Moved, "Sgmo")
    },
    Writer {
        long_targets: &["--backup-dir", "--log-file", "--partial-dir", "--temp-dir", "--write-batch"],
        long_valued: &[
            "--exclude",
            "--exclude-from",
            "--include",
            "--include-from",
            "--files-from",
            "--filter",
            "--rsh",
            "--rsync-path",
            "--chmod",
            "--chown",
            "--max-size",
            "--min-size",
            "--bwlimit",
            "--out-format",
            "--suffix",
            "--timeout",
        ],
        targets: "T",
        ..reader(&["rsync"], Files::Moved, "efBM")
    },
    reader(&["scp"], Files::Moved, "cDFiJloPSX"),
    Writer {
        targets: "odr",
        long_targets: &["--output", "--directory", "--reject-file"],
        long_valued: &["--input", "--strip", "--fuzz", "--ifdef", "--prefix", "--suffix"],
        ..reader(&["patch"], Files::Every, "pFDVYgizB")
    },
    Writer {
        unless: "ctl",
        targets: "o",
        ..row(&["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "lz4"], Files::Every, "S")
    },
    reader(&["zip"], Files::First, "bnt"),
    Writer {
        targets: "DFO",
        long_targets: &["--directory", "--file"],
        ..reader(&["cpio", "pax"], Files::Every, "")
    },
    row(&["objcopy"], Files::Behind, "IOBFjRKNGWL"),
    Writer { targets: "d", unless: "lpZtv", ..row(&["unzip"], Files::Behind, "P") },
    row(&["split"], Files::Behind, "abClnt"),
    Writer { targets: "f", long_targets: &["--prefix"], ..row(&["csplit"], Files::None, "bn") },
    row(&["uniq"], Files::Behind, "fsw"),
    row(&["xxd"], Files::Behind, "cglosR"),
    reader(&["script"], Files::Every, "cEIOBTmo"),
    Writer { only_with: "i", ..reader(&["perl", "ruby"], Files::Every, "eEIMmr") },
    Writer {
        targets: "o",
        long_targets: &["--output"],
        long_valued: &["--key", "--field-separator", "--buffer-size", "--temporary-directory"],
        ..row(&["sort"], Files::None, "ktST")
    },
    Writer {
        targets: "oDc",
        long_targets: &[
            "--output",
            "--output-dir",
            "--dump-header",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--etag-save",
            "--hsts",
            "--libcurl",
        ],
        long_valued: &["--request", "--header", "--data", "--user", "--user-agent", "--url", "--form"],
        ..reader(&["curl"], Files::Fetched, "AbCdeEFHKmPQrtTuUwxXyYz")
    },
    Writer {
        targets: "OoaP",
        long_targets: &[
            "--output-document",
            "--output-file",
            "--append-output",
            "--directory-prefix",
            "--save-cookies",
        ],
        long_valued: &["--header", "--user-agent", "--post-data", "--user", "--password"],
        ..reader(&["wget"], Files::Fetched, "eBitTwQlARDIXU")
    },
];
