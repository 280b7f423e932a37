//! The table of commands that only read.

/// What a command does with the words that are no options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::policy) enum Operands {
    /// They are no files.
    Nothing,
    /// Files it tells names, sizes or sums of.
    Names,
    /// Files it shows.
    Contents,
    /// Patterns or programs among files it shows; the command has a check of its own.
    Patterned,
}

/// Which options a command may be given.
#[derive(Clone, Copy, Debug)]
pub(super) enum Options {
    /// Any: it has none that do harm.
    Any,
    /// These letters without a value, and these long ones (`--name=` has to have a value).
    Only { letters: &'static str, long: &'static [&'static str] },
    /// The same, and no other option does harm either: a file that is named like one may turn up in a pattern.
    Mild { letters: &'static str, long: &'static [&'static str] },
}

/// One row.
#[derive(Debug)]
pub(super) struct Spec {
    pub names: &'static [&'static str],
    pub options: Options,
    /// Letters of options that take the next word, which is no file.
    pub valued: &'static str,
    pub operands: Operands,
    /// How many operands it may have; one more may be a file it writes.
    pub most: usize,
}

const fn any(names: &'static [&'static str], valued: &'static str, operands: Operands) -> Spec {
    Spec { names, options: Options::Any, valued, operands, most: usize::MAX }
}

const fn only(
    names: &'static [&'static str],
    letters: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
    operands: Operands,
) -> Spec {
    Spec { names, options: Options::Only { letters, long }, valued, operands, most: usize::MAX }
}

const fn mild(
    names: &'static [&'static str],
    letters: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
) -> Spec {
    Spec {
        names,
        options: Options::Mild { letters, long },
        valued,
        operands: Operands::Contents,
        most: usize::MAX,
    }
}

const SPECS: &[Spec] = &[
    any(
        &[
            "echo", "pwd", "true", "false", ":", "basename", "dirname", "whoami", "id", "groups", "uname",
            "arch", "nproc", "uptime", "free", "seq", "sleep", "tty", "which", "type", "exit", "return",
            "break", "continue", "shift", "expr", "tr", "cal", "numfmt", "factor", "logname", "locale",
            "yes", "lscpu", "whereis", "jobs", "dirs", "tput",
        ],
        "",
        Operands::Nothing,
    ),
    any(&["ls", "dir", "stat", "readlink", "realpath"], "", Operands::Names),
    only(
        &["wc"],
        "clmwL",
        "",
        &["--lines", "--words", "--bytes", "--chars", "--max-line-length"],
        Operands::Contents,
    ),
    only(
        &["cksum", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"],
        "btz",
        "",
        &["--binary", "--text", "--tag"],
        Operands::Contents,
    ),
    only(
        &["du"],
        "abchHkLlmsSxP0",
        "d",
        &["--summarize", "--human-readable", "--max-depth=", "--apparent-size", "--all", "--total"],
        Operands::Names,
    ),
    mild(
        &["cat"],
        "AbeEnstTuv",
        "",
        &["--number", "--number-nonblank", "--show-all", "--show-ends", "--show-tabs", "--squeeze-blank"],
    ),
    mild(&["tac"], "br", "s", &["--separator=", "--before", "--regex"]),
    mild(&["rev"], "", "", &[]),
    mild(
        &["head"],
        "qvz",
        "nc",
        &["--lines=", "--bytes=", "--quiet", "--silent", "--verbose", "--zero-terminated"],
    ),
    mild(
        &["tail"],
        "fFqvz",
        "ncs",
        &["--lines=", "--bytes=", "--quiet", "--silent", "--verbose", "--zero-terminated", "--follow"],
    ),
    mild(
        &["cut"],
        "nsz",
        "dfcb",
        &[
            "--delimiter=",
            "--fields=",
            "--characters=",
            "--bytes=",
            "--complement",
            "--only-delimited",
            "--output-delimiter=",
        ],
    ),
    mild(
        &["nl"],
        "p",
        "bdfhilnsvw",
        &["--body-numbering=", "--number-format=", "--number-width=", "--number-separator="],
    ),
    mild(&["paste"], "sz", "d", &["--delimiters=", "--serial"]),
    mild(&["fold"], "bs", "w", &["--width=", "--spaces", "--bytes"]),
    mild(&["fmt"], "cstu", "wgp", &["--width=", "--goal=", "--prefix=", "--split-only"]),
    mild(&["expand"], "i", "t", &["--tabs=", "--initial"]),
    mild(&["unexpand"], "a", "t", &["--tabs=", "--all", "--first-only"]),
    mild(&["column"], "tx", "socN", &["--table", "--separator=", "--output-separator="]),
    mild(
        &["od"],
        "abcdfilosxv",
        "AjNt",
        &["--address-radix=", "--format=", "--skip-bytes=", "--read-bytes="],
    ),
    only(&["hexdump", "hd"], "bcCdovx", "ns", &["--canonical", "--length=", "--skip="], Operands::Contents),
    only(&["strings"], "af", "nte", &["--all", "--bytes=", "--radix=", "--encoding="], Operands::Contents),
    mild(&["cmp"], "bls", "in", &["--silent", "--quiet", "--verbose", "--print-bytes", "--bytes="]),
    mild(&["comm"], "123z", "", &["--total", "--check-order", "--nocheck-order", "--output-delimiter="]),
    mild(&["join"], "iz", "12aetjov", &["--ignore-case", "--header", "--nocheck-order"]),
    mild(&["base64", "base32"], "di", "w", &["--decode", "--ignore-garbage", "--wrap="]),
    only(
        &["sort"],
        "bdfghiMnrRsuVcCmz",
        "kt",
        &[
            "--unique",
            "--reverse",
            "--numeric-sort",
            "--key=",
            "--field-separator=",
            "--human-numeric-sort",
            "--version-sort",
            "--ignore-case",
            "--stable",
            "--check",
        ],
        Operands::Contents,
    ),
    Spec {
        names: &["uniq"],
        options: Options::Only {
            letters: "cdDiuz",
            long: &["--count", "--repeated", "--unique", "--ignore-case"],
        },
        valued: "fsw",
        operands: Operands::Contents,
        most: 1,
    },
    only(
        &["diff"],
        "uqwbBiyastdpEZcrN",
        "UCIWxL",
        &[
            "--brief",
            "--recursive",
            "--unified",
            "--color",
            "--side-by-side",
            "--ignore-all-space",
            "--new-file",
            "--exclude=",
            "--ignore-space-change",
            "--strip-trailing-cr",
        ],
        Operands::Contents,
    ),
    only(
        &["tree"],
        "adfipshDCnvtrlugNxQ",
        "LIP",
        &["--dirsfirst", "--gitignore", "--noreport", "--prune", "--filelimit="],
        Operands::Names,
    ),
    only(&["file"], "biLh", "", &["--brief", "--mime-type", "--mime"], Operands::Contents),
    only(&["bc"], "lqsi", "", &["--mathlib", "--quiet"], Operands::Contents),
    only(&["shuf"], "erz", "n", &["--head-count=", "--echo", "--zero-terminated"], Operands::Contents),
    only(
        &["nm"],
        "aACDglnoprsSuvB",
        "t",
        &["--dynamic", "--demangle", "--defined-only", "--undefined-only", "--extern-only", "--size-sort"],
        Operands::Contents,
    ),
    only(
        &["objdump"],
        "aCdDfhlprRsStTwxz",
        "jM",
        &["--disassemble", "--demangle", "--syms", "--section-headers", "--no-show-raw-insn", "--section="],
        Operands::Contents,
    ),
    only(
        &["readelf"],
        "aehlSsdnrVuAgtW",
        "px",
        &["--all", "--file-header", "--sections", "--symbols", "--syms", "--dynamic", "--notes", "--wide"],
        Operands::Contents,
    ),
    only(&["size"], "ABdoxt", "", &["--format=", "--totals", "--common"], Operands::Contents),
    only(&["zipinfo"], "12hlmstvzMT", "", &[], Operands::Contents),
    only(&["xmllint"], "", "", &["--format", "--noout", "--xpath=", "--html"], Operands::Contents),
    mild(
        &["bat", "batcat"],
        "pnA",
        "lr",
        &["--plain", "--number", "--style=", "--color=", "--language=", "--line-range="],
    ),
    only(&["iconv"], "cl", "ft", &["--from-code=", "--to-code=", "--list"], Operands::Contents),
    mild(&["less", "more"], "NSRFXnie", "", &[]),
    mild(&["zcat", "tsort"], "", "", &[]),
    Spec {
        names: &["xxd"],
        options: Options::Only { letters: "abeipuE", long: &[] },
        valued: "cglos",
        operands: Operands::Contents,
        most: 1,
    },
];

/// The row of a command.
pub(super) fn find(name: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.names.contains(&name))
}
