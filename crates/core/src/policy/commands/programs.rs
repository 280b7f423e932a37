//! What programs do beside reading: which of their words they write, which options run a program or send a file.
//!
//! One row for each program, for whoever asks: an allowance that does not say so covers none of it. That what a command is given
//! only reads is the other table's affair ([`super::table`]).

use super::given::Named;

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

/// What a program writes that its words name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writes {
    pub files: Files,
    /// Options whose value is written.
    pub targets: Named,
    /// With one of these letters, nothing is written.
    pub unless: &'static str,
    /// Where there are any, something is only written with one of these letters.
    pub only_with: &'static str,
    /// It may read what none of its words names: a list, a script, settings of its own.
    pub reads_more: bool,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub names: &'static [&'static str],
    /// Options with a value that is neither written nor sent, those that run it among them.
    pub valued: Named,
    /// Nothing where it is not known to write what words name; then options such as `-o` say it.
    pub writes: Option<Writes>,
    /// Options with which it runs a program of one's choice.
    pub runs: Named,
    /// Options with which it sends files.
    pub sends: Named,
    /// The options with which it changes ordinary files and does nothing else, where that is known.
    pub edits: Option<&'static [&'static str]>,
}

impl Program {
    /// A program with these options that have a value, none of them a file that is written.
    pub(super) const fn new(names: &'static [&'static str], valued: Named) -> Program {
        Program { names, valued, writes: None, runs: Named::NONE, sends: Named::NONE, edits: None }
    }

    pub(super) const fn writing(self, files: Files, targets: Named) -> Program {
        let writes = Writes { files, targets, unless: "", only_with: "", reads_more: false };
        Program { writes: Some(writes), ..self }
    }

    /// The same for one that may read what none of its words names.
    const fn transforming(self, files: Files, targets: Named) -> Program {
        let writes = Writes { files, targets, unless: "", only_with: "", reads_more: true };
        Program { writes: Some(writes), ..self }
    }

    /// With one of these letters, nothing is written.
    const fn unless(self, letters: &'static str) -> Program {
        match self.writes {
            Some(writes) => Program { writes: Some(Writes { unless: letters, ..writes }), ..self },
            None => self,
        }
    }

    /// Only with one of these letters, something is written.
    const fn only_with(self, letters: &'static str) -> Program {
        match self.writes {
            Some(writes) => Program { writes: Some(Writes { only_with: letters, ..writes }), ..self },
            None => self,
        }
    }

    /// The options that have a value.
    pub(super) fn with_values(&self) -> [Named; 3] {
        [self.valued, self.writes.map(|writes| writes.targets).unwrap_or_default(), self.sends]
    }

    const fn running(self, runs: Named) -> Program {
        Program { runs, ..self }
    }

    const fn sending(self, sends: Named) -> Program {
        Program { sends, ..self }
    }

    const fn editing(self, options: &'static [&'static str]) -> Program {
        Program { edits: Some(options), ..self }
    }
}

/// The row of a program.
pub(super) fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.names.contains(&name))
}

/// What it writes, if that is known.
pub(super) fn writes(name: &str) -> Option<Writes> {
    find(name)?.writes
}

const fn letters(letters: &'static str) -> Named {
    Named::new(letters, &[])
}

const NONE: Named = Named::NONE;
const INTO: Named = Named::new("t", &["--target-directory"]);
const PLAIN: Program = Program::new(&[], NONE);

const fn program(names: &'static [&'static str]) -> Program {
    Program { names, ..PLAIN }
}

const PROGRAMS: &[Program] = &[
    program(&["tee"]).writing(Files::Every, NONE).editing(&["-a", "--append", "--"]),
    program(&["rm"]).writing(Files::Every, NONE).editing(&["-v", "-i", "--"]),
    program(&["rmdir"]).writing(Files::Every, NONE).editing(&["-p", "-v", "--"]),
    program(&["chmod"]).writing(Files::Every, NONE).editing(&["-v", "-c", "--"]),
    program(&["unlink", "link", "sponge", "shred", "chown", "chgrp", "chattr", "mkfifo", "mknod"])
        .writing(Files::Every, NONE),
    program(&["nano", "ed"]).transforming(Files::Every, NONE),
    Program::new(&["touch"], Named::new("drt", &["--date", "--reference", "--time"]))
        .writing(Files::Every, NONE)
        .editing(&["-a", "-m", "-c", "--"]),
    Program::new(&["mkdir"], Named::new("m", &["--mode"])).writing(Files::Every, NONE).editing(&[
        "-p",
        "-v",
        "-pv",
        "--parents",
        "--verbose",
        "--",
    ]),
    Program::new(&["truncate"], Named::new("sr", &["--size", "--reference"])).writing(Files::Every, NONE),
    Program::new(&["fallocate"], Named::new("lo", &["--length", "--offset"])).writing(Files::Every, NONE),
    Program::new(&["ex", "vi", "vim", "nvim"], Named::new("cSuUiTWw", &["--cmd"]))
        .transforming(Files::Every, NONE)
        .running(Named::new("cS", &["--cmd"])),
    Program::new(&["cp"], Named::new("S", &["--suffix", "--no-preserve", "--sparse"]))
        .writing(Files::Copied, INTO)
        .editing(&["-r", "-R", "-a", "-p", "-v", "-n", "-u", "-i", "--"]),
    Program::new(&["mv"], Named::new("S", &["--suffix"]))
        .writing(Files::Moved, INTO)
        .editing(&["-v", "-n", "-u", "-i", "--"]),
    Program::new(&["ln"], Named::new("S", &["--suffix"])).writing(Files::Moved, INTO).editing(&[
        "-s",
        "-v",
        "-sv",
        "-vs",
        "--symbolic",
        "--",
    ]),
    Program::new(
        &["install"],
        Named::new("Sgmo", &["--suffix", "--group", "--mode", "--owner", "--strip-program"]),
    )
    .writing(Files::Moved, INTO)
    .running(Named::new("", &["--strip-program"])),
    Program::new(
        &["rsync"],
        Named::new(
            "efBM",
            &[
                "--rsh",
                "--rsync-path",
                "--exclude",
                "--exclude-from",
                "--include",
                "--include-from",
                "--files-from",
                "--filter",
                "--chmod",
                "--chown",
                "--max-size",
                "--min-size",
                "--bwlimit",
                "--out-format",
                "--suffix",
                "--timeout",
            ],
        ),
    )
    .transforming(
        Files::Moved,
        Named::new("T", &["--backup-dir", "--log-file", "--partial-dir", "--temp-dir", "--write-batch"]),
    )
    .running(Named::new("e", &["--rsh", "--rsync-path"])),
    Program::new(&["scp"], letters("cDFiJloPSX"))
        .transforming(Files::Moved, NONE)
        .running(Named::new("So", &[])),
    Program::new(
        &["patch"],
        Named::new("pFDVYgizB", &["--input", "--strip", "--fuzz", "--ifdef", "--prefix", "--suffix"]),
    )
    .transforming(Files::Every, Named::new("odr", &["--output", "--directory", "--reject-file"])),
    Program::new(&["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "lz4"], letters("S"))
        .writing(Files::Every, letters("o"))
        .unless("ctl"),
    Program::new(&["zip"], letters("bnti"))
        .transforming(Files::First, NONE)
        .running(Named::new("T", &["--unzip-command", "--test"])),
    Program::new(&["cpio", "pax"], Named::new("", &["--rsh-command"]))
        .transforming(Files::Every, Named::new("DFO", &["--directory", "--file"]))
        .running(Named::new("", &["--rsh-command"])),
    Program::new(&["objcopy"], letters("IOBFjRKNGWL")).writing(Files::Behind, NONE),
    Program::new(&["unzip"], letters("P")).writing(Files::Behind, letters("d")).unless("lpZtv"),
    Program::new(&["split"], Named::new("abClnt", &["--filter"]))
        .writing(Files::Behind, NONE)
        .running(Named::new("", &["--filter"])),
    Program::new(&["csplit"], letters("bn")).writing(Files::None, Named::new("f", &["--prefix"])),
    Program::new(&["uniq"], letters("fsw")).writing(Files::Behind, NONE),
    Program::new(&["xxd"], letters("cglosR")).writing(Files::Behind, NONE),
    Program::new(&["script"], Named::new("cEIOBTmo", &["--command"]))
        .transforming(Files::Every, NONE)
        .running(Named::new("c", &["--command"])),
    Program::new(&["perl", "ruby"], letters("eEIMmr")).transforming(Files::Every, NONE).only_with("i"),
    Program::new(
        &["sort"],
        Named::new(
            "ktST",
            &["--key", "--field-separator", "--buffer-size", "--temporary-directory", "--compress-program"],
        ),
    )
    .writing(Files::None, Named::new("o", &["--output"]))
    .running(Named::new("", &["--compress-program"])),
    Program::new(
        &["curl"],
        Named::new(
            "AbCeEHmPQrtuUwxXyYz",
            &[
                "--request",
                "--header",
                "--user",
                "--user-agent",
                "--url",
                "--proxy-header",
                "--cookie",
                "--write-out",
                "--proto-default",
            ],
        ),
    )
    .transforming(
        Files::Fetched,
        Named::new(
            "oDc",
            &[
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
        ),
    )
    .sending(Named::new(
        "TdFK",
        &[
            "--upload-file",
            "--data",
            "--data-ascii",
            "--data-binary",
            "--data-raw",
            "--data-urlencode",
            "--form",
            "--form-string",
            "--json",
            "--config",
            "--url-query",
            "--variable",
            "--etag-compare",
        ],
    )),
    Program::new(
        &["wget"],
        Named::new("eBitTwQlARDIXU", &["--header", "--user-agent", "--user", "--password", "--execute"]),
    )
    .transforming(
        Files::Fetched,
        Named::new(
            "OoaP",
            &[
                "--output-document",
                "--output-file",
                "--append-output",
                "--directory-prefix",
                "--save-cookies",
            ],
        ),
    )
    .running(Named::new("e", &["--execute", "--use-askpass", "--config"]))
    .sending(Named::new("", &["--post-data", "--post-file", "--body-data", "--body-file"])),
    // Its words have rules of their own: see `writers::tar`.
    Program::new(&["tar", "gtar", "bsdtar"], letters("fCbTXHgKNVIF")).running(Named::new(
        "IF",
        &[
            "--use-compress-program",
            "--checkpoint-action",
            "--to-command",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
    )),
    Program::new(&["make", "gmake"], Named::new("fCIjloW", &["--file", "--makefile", "--directory"]))
        .running(Named::new("E", &["--eval"])),
    Program::new(&["rg"], letters("egtTfABCmMjr")).running(Named::new("", &["--pre", "--hostname-bin"])),
    Program::new(&["fd", "fdfind"], letters("etdEoScCj"))
        .running(Named::new("xX", &["--exec", "--exec-batch"])),
    program(&["npm", "pnpm", "yarn"]).running(Named::new("", &["--script-shell"])),
    Program::new(&["cargo"], letters("pjFZ")).running(Named::new("", &["--config"])),
    program(&["go"]).running(Named::new("", &["-exec", "-toolexec", "-vettool"])),
    Program::new(&["gcc", "g++", "cc", "c++", "clang", "clang++"], letters("oDILl"))
        .running(Named::new("B", &["-wrapper", "-specs", "-fplugin", "-fuse-ld"])),
    Program::new(&["man"], letters("MLmsSe")).running(Named::new("PH", &["--pager", "--html"])),
    Program::new(&["ssh"], letters("pilLRDbcEeIJmOQSwW")).running(letters("oF")),
];
