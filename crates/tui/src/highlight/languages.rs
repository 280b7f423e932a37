//! What languages look like: a table.

/// How a language is read.
pub enum Kind {
    Code(&'static Language),
    Markup,
    Diff,
    Markdown,
}

/// A language's tokens.
#[derive(Debug)]
pub struct Language {
    names: &'static [&'static str],
    pub line_comments: &'static [&'static str],
    /// What begins and ends a comment over lines.
    pub block: Option<(&'static str, &'static str)>,
    pub comments_nest: bool,
    /// Longer quotes before those they begin with.
    pub quotes: &'static [Quote],
    /// Words, with blanks between them.
    pub keywords: &'static str,
    pub types: &'static str,
    pub constants: &'static str,
    pub capitals_are_types: bool,
    pub ignores_case: bool,
    /// What belongs to words beside letters, digits and `_`.
    pub letters: &'static str,
    /// What begins the name of a variable.
    pub variable: Option<char>,
    /// What stands behind a key.
    pub key_ends_with: Option<char>,
}

/// How a string is written.
#[derive(Debug, PartialEq, Eq)]
pub struct Quote {
    pub open: &'static str,
    pub close: &'static str,
    /// A backslash takes the next character its meaning.
    pub escapes: bool,
    /// It may go over lines.
    pub goes_on: bool,
    /// It is one character, or no string at all.
    pub is_short: bool,
}

const fn quote(open: &'static str, close: &'static str) -> Quote {
    Quote { open, close, escapes: true, goes_on: false, is_short: false }
}

const fn over_lines(open: &'static str, close: &'static str) -> Quote {
    Quote { goes_on: true, ..quote(open, close) }
}

const fn raw(open: &'static str, close: &'static str) -> Quote {
    Quote { escapes: false, goes_on: true, ..quote(open, close) }
}

const DOUBLE: Quote = quote("\"", "\"");
const SINGLE: Quote = quote("'", "'");
const BACKTICKS: Quote = over_lines("`", "`");
const CHARACTER: Quote = Quote { is_short: true, ..quote("'", "'") };
const SLASHES: Option<(&str, &str)> = Some(("/*", "*/"));

/// A language with nothing in it.
const NONE: Language = Language {
    names: &[],
    line_comments: &[],
    block: None,
    comments_nest: false,
    quotes: &[DOUBLE, SINGLE],
    keywords: "",
    types: "",
    constants: "",
    capitals_are_types: false,
    ignores_case: false,
    letters: "",
    variable: None,
    key_ends_with: None,
};

/// A language with the comments of C and names of types in capitals.
const LIKE_C: Language =
    Language { line_comments: &["//"], block: SLASHES, capitals_are_types: true, ..NONE };

/// The language of a name.
pub fn of_name(name: &str) -> Option<Kind> {
    match name {
        "html" | "htm" | "xml" | "svg" | "xhtml" | "vue" | "svelte" | "plist" => Some(Kind::Markup),
        "diff" | "patch" => Some(Kind::Diff),
        "markdown" | "md" => Some(Kind::Markdown),
        name => LANGUAGES.iter().find(|language| language.names.contains(&name)).map(Kind::Code),
    }
}

static LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        comments_nest: true,
        quotes: &[
            raw("r##\"", "\"##"),
            raw("r#\"", "\"#"),
            raw("r\"", "\""),
            over_lines("\"", "\""),
            CHARACTER,
        ],
        keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop \
            macro_rules match mod move mut pub ref return self static struct super trait type union \
            unsafe use where while",
        types: "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize",
        constants: "true false",
        ..LIKE_C
    },
    Language {
        names: &["python", "py", "python3", "pyi"],
        line_comments: &["#"],
        quotes: &[over_lines("\"\"\"", "\"\"\""), over_lines("'''", "'''"), DOUBLE, SINGLE],
        keywords: "and as assert async await break case class continue def del elif else except finally for \
            from global if import in is lambda match nonlocal not or pass raise return try while with \
            yield",
        types: "bool bytes dict float int list object set str tuple",
        constants: "True False None self cls",
        capitals_are_types: true,
        ..NONE
    },
    Language {
        names: &["javascript", "js", "jsx", "mjs", "cjs", "typescript", "ts", "tsx", "mts", "node"],
        quotes: &[DOUBLE, SINGLE, BACKTICKS],
        keywords: "abstract as async await break case catch class const continue debugger declare default \
            delete do else enum export extends finally for from function get if implements import in \
            instanceof interface keyof let namespace new of private protected public readonly return \
            satisfies set static super switch this throw try type typeof var void while with yield",
        types: "any bigint boolean never number object string symbol unknown",
        constants: "true false null undefined NaN Infinity",
        letters: "$",
        ..LIKE_C
    },
    Language {
        names: &["go", "golang"],
        quotes: &[DOUBLE, raw("`", "`"), SINGLE],
        keywords: "break case chan const continue default defer else fallthrough for func go goto if import \
            interface map package range return select struct switch type var",
        types: "any bool byte complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune \
            string uint uint8 uint16 uint32 uint64 uintptr",
        constants: "true false nil iota",
        ..LIKE_C
    },
    Language {
        names: &[
            "c",
            "h",
            "cpp",
            "c++",
            "cc",
            "cxx",
            "hpp",
            "hh",
            "objc",
            "objective-c",
            "m",
            "cuda",
            "glsl",
            "arduino",
        ],
        quotes: &[raw("R\"(", ")\""), DOUBLE, SINGLE],
        keywords: "alignas asm auto break case catch class concept const consteval constexpr continue decltype \
            default delete do else enum explicit extern final for friend goto if inline mutable \
            namespace new noexcept operator override private protected public register requires restrict \
            return sizeof static static_assert struct switch template this throw try typedef typename \
            union using virtual volatile while",
        types: "bool char double float int int8_t int16_t int32_t int64_t long short signed size_t ssize_t \
            uint8_t uint16_t uint32_t uint64_t unsigned void wchar_t",
        constants: "true false NULL nullptr",
        capitals_are_types: false,
        ..LIKE_C
    },
    Language {
        names: &["java", "kotlin", "kt", "kts", "scala", "groovy", "gradle"],
        quotes: &[over_lines("\"\"\"", "\"\"\""), DOUBLE, CHARACTER],
        keywords: "abstract as assert break by case catch class companion const continue data def default do \
            else enum extends final finally for fun given if implements import in init instanceof \
            interface internal is lateinit lazy match native new object open override package private \
            protected public record return sealed static super suspend switch synchronized this throw \
            throws trait transient try val var volatile when while with yield",
        types: "boolean byte char double float int long short void",
        constants: "true false null",
        ..LIKE_C
    },
    Language {
        names: &["csharp", "cs", "c#"],
        quotes: &[raw("@\"", "\""), DOUBLE, CHARACTER],
        keywords: "abstract as async await base break case catch checked class const continue default delegate \
            do else enum event explicit extern finally fixed for foreach get goto if implicit in init \
            interface internal is lock namespace new operator out override params partial private \
            protected public readonly record ref return sealed set sizeof static struct switch this \
            throw try typeof unsafe using var virtual when where while with yield",
        types: "bool byte char decimal double dynamic float int long object sbyte short string uint ulong \
            ushort void",
        constants: "true false null",
        ..LIKE_C
    },
    Language {
        names: &["swift"],
        comments_nest: true,
        quotes: &[over_lines("\"\"\"", "\"\"\""), DOUBLE],
        keywords: "actor as associatedtype async await break case catch class continue default defer deinit do \
            else enum extension fallthrough fileprivate for func guard if import in init inout internal \
            is lazy let mutating open operator override private protocol public repeat return self some \
            static struct subscript super switch throw throws try typealias var weak where while",
        constants: "true false nil",
        ..LIKE_C
    },
    Language {
        names: &["zig"],
        line_comments: &["//"],
        quotes: &[DOUBLE, CHARACTER],
        keywords: "and break catch comptime const continue defer else enum errdefer error export extern fn for \
            if inline or orelse packed pub return struct switch test try union unreachable \
            usingnamespace var while",
        types: "anyerror bool f32 f64 i32 i64 isize type u8 u16 u32 u64 usize void",
        constants: "true false null undefined",
        letters: "@",
        capitals_are_types: true,
        ..NONE
    },
    Language {
        names: &["php"],
        line_comments: &["//", "#"],
        keywords: "abstract and as break case catch class clone const continue declare default do echo else \
            elseif enum extends final finally fn for foreach function global if implements include \
            instanceof interface match namespace new or private protected public readonly require \
            require_once return static switch throw trait try use var while yield",
        types: "array bool float int mixed object string void",
        constants: "true false null",
        variable: Some('$'),
        ..LIKE_C
    },
    Language {
        names: &["ruby", "rb", "crystal"],
        line_comments: &["#"],
        block: Some(("=begin", "=end")),
        keywords: "alias and begin break case class def defined do else elsif end ensure extend for if in \
            include loop module next not or private protected public raise redo require require_relative \
            rescue retry return self super then unless until when while yield",
        types: "attr_accessor attr_reader attr_writer",
        constants: "true false nil",
        letters: "?!@",
        capitals_are_types: true,
        ..NONE
    },
    Language {
        names: &["lua", "luau"],
        line_comments: &["--"],
        quotes: &[raw("[[", "]]"), DOUBLE, SINGLE],
        keywords: "and break do else elseif end for function goto if in local not or repeat return then until \
            while",
        constants: "true false nil self",
        ..NONE
    },
    Language {
        names: &["perl", "pl", "pm"],
        line_comments: &["#"],
        keywords: "and die do else elsif eq for foreach if last local my ne next not or our package print \
            return sub unless until use while",
        variable: Some('$'),
        ..NONE
    },
    Language {
        names: &["haskell", "hs", "elm", "purescript"],
        line_comments: &["--"],
        block: Some(("{-", "-}")),
        comments_nest: true,
        quotes: &[DOUBLE, CHARACTER],
        keywords: "case class data deriving do else exposing forall if import in infix infixl infixr instance \
            let module newtype of qualified then type where",
        letters: "'",
        capitals_are_types: true,
        ..NONE
    },
    Language {
        names: &["elixir", "ex", "exs"],
        line_comments: &["#"],
        quotes: &[over_lines("\"\"\"", "\"\"\""), DOUBLE, SINGLE],
        keywords: "after alias and case catch cond def defmacro defmodule defp defstruct do else end fn for if \
            import in not or quote raise receive require rescue try unless unquote use when with",
        constants: "true false nil",
        letters: "?!@",
        capitals_are_types: true,
        ..NONE
    },
    Language {
        names: &["sh", "bash", "zsh", "shell", "console", "shellsession", "fish", "ksh", "env"],
        line_comments: &["#"],
        quotes: &[over_lines("\"", "\""), raw("'", "'")],
        keywords: "alias break case continue do done elif else end esac eval exec exit export fi for function \
            if in local readonly return select set shift source then trap unset until while",
        constants: "true false",
        letters: "-",
        variable: Some('$'),
        ..NONE
    },
    Language {
        names: &["powershell", "ps1", "pwsh"],
        line_comments: &["#"],
        block: Some(("<#", "#>")),
        keywords: "begin break catch class continue do else elseif end exit filter finally for foreach function \
            if in param process return switch throw try until using while",
        ignores_case: true,
        letters: "-",
        variable: Some('$'),
        ..NONE
    },
    Language {
        names: &["sql", "postgres", "postgresql", "mysql", "sqlite", "plpgsql"],
        line_comments: &["--"],
        block: SLASHES,
        keywords: "add all alter and as asc begin between by cascade case check column commit constraint create \
            cross database default delete desc distinct drop else end exists explain foreign from full \
            function grant group having if in index inner insert into is join key left like limit not \
            offset on or order outer over partition primary references returning returns right rollback \
            select set table then transaction trigger union unique update using values view when where \
            with",
        types: "bigint blob boolean char date decimal float int integer interval json jsonb numeric real \
            serial smallint text timestamp timestamptz uuid varchar",
        constants: "true false null",
        ignores_case: true,
        ..NONE
    },
    Language {
        names: &["json", "jsonc", "json5", "jsonl", "ndjson"],
        line_comments: &["//"],
        block: SLASHES,
        constants: "true false null",
        key_ends_with: Some(':'),
        ..NONE
    },
    Language {
        names: &["yaml", "yml"],
        line_comments: &["#"],
        constants: "true false null yes no on off",
        letters: "-./",
        key_ends_with: Some(':'),
        ..NONE
    },
    Language {
        names: &["toml", "ini", "cfg", "conf", "properties", "lock"],
        line_comments: &["#", ";"],
        quotes: &[over_lines("\"\"\"", "\"\"\""), raw("'''", "'''"), DOUBLE, SINGLE],
        constants: "true false",
        letters: "-.",
        key_ends_with: Some('='),
        ..NONE
    },
    Language {
        names: &["css", "scss", "sass", "less"],
        line_comments: &["//"],
        block: SLASHES,
        keywords: "@media @import @keyframes @font-face @supports @use @include @mixin @layer",
        constants: "none auto inherit initial unset important",
        letters: "-@#",
        variable: Some('$'),
        key_ends_with: Some(':'),
        ..NONE
    },
    Language {
        names: &["dockerfile", "docker", "containerfile"],
        line_comments: &["#"],
        keywords: "ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL STOPSIGNAL USER \
            VOLUME WORKDIR",
        letters: "-",
        variable: Some('$'),
        ..NONE
    },
    Language {
        names: &["make", "makefile", "mk", "cmake", "just", "justfile"],
        line_comments: &["#"],
        keywords: "define else endef endif export if ifdef ifeq ifndef ifneq include override",
        letters: "-.",
        variable: Some('$'),
        ..NONE
    },
    Language {
        names: &["hcl", "terraform", "tf", "nix", "graphql", "proto", "protobuf"],
        line_comments: &["#", "//"],
        keywords: "data else enum extend for if import in inherit input interface let locals message module \
            mutation output package provider query rec repeated resource returns rpc service \
            subscription syntax terraform then type union variable with",
        constants: "true false null",
        letters: "-",
        ..LIKE_C
    },
];
