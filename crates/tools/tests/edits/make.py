#!/usr/bin/env python3
"""Writes the cases of `replace` (cases.jsonl) from samples and the ways models and files differ.

What is expected is put together from the samples' parts, never computed by matching, so that the cases say
what must happen and not what happens. Run it in this folder after changing it.
"""

import json

CASES = []


def case(name, file, old, new, expect=None, error=None, all=False, changed=None, how=None):
    def content(value):
        return {"hex": value.hex()} if isinstance(value, bytes) else value

    entry = {"name": name, "file": content(file), "old": old, "new": new}
    if all:
        entry["all"] = True
    if changed is not None:
        entry["changed"] = content(changed)
    if how:
        entry["how"] = how
    if error:
        entry["error"] = error
    else:
        entry["expect"] = content(expect)
    CASES.append(entry)


# name, before, old block, new block, after. Blocks are whole lines.
SAMPLES = [
    ("rust", "use std::fs;\n\nfn main() {\n", "    let text = fs::read(\"a\");\n    if text.is_ok() {\n        run(text);\n    }\n",
     "    let text = fs::read(\"b\");\n    if text.is_ok() {\n        check(text);\n        run(text);\n    }\n", "}\n"),
    ("python", "import os\n\nclass Tool:\n", "    def name(self):\n        if self.old:\n            return 'old'\n        return 'new'\n",
     "    def name(self):\n        if self.old:\n            log('old')\n            return 'older'\n        return 'new'\n", "\n    def other(self):\n        pass\n"),
    ("go", "package main\n\nfunc main() {\n", "\tfor i := 0; i < 3; i++ {\n\t\tfmt.Println(i)\n\t}\n",
     "\tfor i := 0; i < 5; i++ {\n\t\tif i > 1 {\n\t\t\tfmt.Println(i)\n\t\t}\n\t}\n", "\treturn\n}\n"),
    ("javascript", "export class View {\n", "  render() {\n    return this.items.map((item) => {\n      return item.name;\n    });\n  }\n",
     "  render() {\n    return this.items.map((item) => {\n      const name = item.name;\n      return name;\n    });\n  }\n", "}\n"),
    ("yaml", "services:\n", "  web:\n    image: nginx\n    ports:\n      - \"80:80\"\n",
     "  web:\n    image: nginx:alpine\n    ports:\n      - \"80:80\"\n      - \"443:443\"\n", "  db:\n    image: postgres\n"),
    ("makefile", "all: test\n\n", "test:\n\tcargo test\n\tcargo clippy\n", "test:\n\tcargo test --all\n\tcargo clippy\n", "\nclean:\n\trm -rf target\n"),
    ("html", "<html>\n<body>\n", "  <ul>\n    <li>one</li>\n    <li>two</li>\n  </ul>\n",
     "  <ul>\n    <li>one</li>\n    <li>three</li>\n  </ul>\n", "</body>\n</html>\n"),
    ("sql", "BEGIN;\n", "SELECT id, name\n  FROM users\n WHERE id = 7;\n", "SELECT id, name, mail\n  FROM users\n WHERE id = 7;\n", "COMMIT;\n"),
    ("markdown", "# Title\n\n", "Some words here,\nand some more.\n", "Other words here,\nand some more.\n", "\n- a list\n- goes on\n"),
    ("chinese", "第一行\n", "    打开文件（路径）；\n    读取内容。\n", "    打开文件（新路径）；\n    读取全部内容。\n", "最后一行\n"),
    ("emoji", "start 🚀\n", "  ship 🦀 fast\n  👩‍👩‍👧 family\n", "  ship 🦀🦀 faster\n  👩‍👩‍👧 family\n", "end 🏁\n"),
    ("json", "{\n", "  \"name\": \"charla\",\n  \"private\": true,\n", "  \"name\": \"charla\",\n  \"version\": \"1.0\",\n  \"private\": true,\n", "  \"license\": \"MIT\"\n}\n"),
]

crlf = lambda text: text.replace("\n", "\r\n")
chop = lambda text: text[:-1]


def exact():
    for name, before, old, new, after in SAMPLES:
        whole, done = before + old + after, before + new + after
        case(f"exact {name}", whole, old, new, done, how="exact")
        case(f"exact {name} without its last newline", whole, chop(old), chop(new), done, how="exact")
        case(f"exact {name} in a CRLF file", crlf(whole), old, new, crlf(done), how="exact")
        case(f"exact {name} in a CRLF file with CRLF given", crlf(whole), crlf(old), crlf(new), crlf(done), how="exact")
        case(f"exact {name} in an LF file with CRLF given", whole, crlf(old), crlf(new), done, how="exact")
        case(f"exact {name} after a byte order mark", "\ufeff" + whole, old, new, "\ufeff" + done, how="exact")
        case(f"exact {name} at the end without a final newline", before + chop(old), chop(old), chop(new), before + chop(new), how="exact")
        case(f"exact {name} is deleted", whole, old, "", before + after, how="exact")
    for name, before, old, new, after in SAMPLES[:4]:
        first = old.split("\n")[0]
        case(f"exact {name}, the first line from its middle", before + old + after, first.strip(), "MIDDLE",
             before + old.replace(first.strip(), "MIDDLE", 1) + after, how="exact")


def dedent(text):
    lines = text.split("\n")
    width = min(len(l) - len(l.lstrip(" \t")) for l in lines if l.strip())
    return "\n".join(l[width:] if l.strip() else l for l in lines)


def indent(text, by):
    return "\n".join(by + l if l.strip() else l for l in text.split("\n"))


def reindent(text, one, other):
    """The same text with `other` for each step of `one`."""
    out = []
    for line in text.split("\n"):
        body = line.lstrip(" \t")
        width = len(line) - len(body)
        out.append(other * (width // len(one)) + " " * (width % len(one) if one != "\t" else 0) + body)
    return "\n".join(out)


def blanks():
    steps = {"rust": "    ", "python": "    ", "go": "\t", "javascript": "  ", "yaml": "  ", "html": "  ", "chinese": "    "}
    for name, before, old, new, after in SAMPLES:
        whole, done = before + old + after, before + new + after
        if name in steps:
            step = steps[name]
            case(f"blanks {name} given without indentation", whole, dedent(old), dedent(new), done, how="lines")
            case(f"blanks {name} given without indentation, CRLF file", crlf(whole), dedent(old), dedent(new), crlf(done), how="lines")
            case(f"blanks {name} given one step deeper", whole, indent(old, step), indent(new, step), done, how="lines")
            other = "    " if step == "\t" else "\t"
            case(f"blanks {name} given with other indentation", whole, reindent(old, step, other), reindent(new, step, other), done, how="lines")
        spoiled = old.replace("\n", "  \n", 1)
        case(f"blanks {name} given with trailing blanks", whole, spoiled, spoiled.replace(old.replace("\n", "  \n", 1), new), done, how="lines")
        first, rest = old.split("\n", 1)
        trailing = first + " \t\n" + rest
        same_first = new.split("\n", 1)[0] == first
        kept = (first + " \t\n" + new.split("\n", 1)[1]) if same_first else new
        case(f"blanks {name} with trailing blanks in the file", before + trailing + after, old, new, before + kept + after, how="lines")
    case("blanks between words", "x  =  1;\ny = 2;\n", "x = 1;", "x = 3;", "x = 3;\ny = 2;\n", how="lines")
    case("blanks between signs", "if(a==b){\n  go();\n}\n", "if (a == b) {\n  go();\n}", "if (a == c) {\n  go();\n}", "if (a == c) {\n  go();\n}\n", how="lines")
    case("blanks around a call", "foo( a, b );\n", "foo(a,b);", "foo(c);", "foo(c);\n", how="lines")
    case("blanks inside a word matter", "foobar baz\n", "foo bar baz", "x", error="no_match")
    case("joined words matter", "foo bar\n", "foobar", "x", error="no_match")
    case("a blank line that is missing matters", "a1\nb1\n", "a1\n\nb1", "x", error="no_match")
    case("a blank line that is extra matters", "alpha\n\nbeta\n", "alpha\nbeta", "x", error="no_match")
    case("blank lines alone match nothing inexactly", "a\n \nb\n", "\t\n", "x", error="no_match")
    case("a hard blank is a blank", "let\u00a0a = 1;\n", "let a = 1;", "let a = 2;", "let a = 2;\n", how="lines")
    case("an ideographic blank is a blank", "名\u3000字\n", "名 字", "姓 名", "姓 名\n", how="lines")
    case("a whitespace-only line equals an empty one", "f() {\n    \n  a();\n}\n", "f() {\n\n  a();\n}", "f() {\n\n  b();\n}", "f() {\n    \n  b();\n}\n", how="lines")
    case("the first line lost its indentation and another differs", "    if a {\n        b();\n        c(  );\n    }\n",
         "if a {\n        b();\n        c();\n    }", "if a {\n        b();\n        d();\n    }", "    if a {\n        b();\n        d();\n    }\n", how="lines")
    case("extra blank lines at the end are kept apart", "x  y\n\nz\n", "x y\n\n", "w\n\n", "w\n\nz\n", how="lines")
    case("one line in a deeper one stays a plain substitution", "        deep();\n", "    deep();", "    low();", "        low();\n", how="exact")
    case("a line that is meant less deep, twice", "        deep();\n  deep();\n", "    deep();", "    if a:\n        deep();", "        if a:\n        deep();\n  deep();\n", how="exact")
    case("a new line outside all old ones is put further out", "        deep();\n", "    deep();", "if a:\n    deep();", "    if a:\n        deep();\n", how="lines")


def line_ends():
    case("mixed ends, a line of LF changes", "a\r\nb\nc\r\nd\r\n", "b", "x\ny", "a\r\nx\ny\nc\r\nd\r\n")
    case("mixed ends, a line of CRLF changes", "a\nb\r\nc\nd\n", "b", "x\ny", "a\nx\r\ny\r\nc\nd\n")
    case("mixed ends across the range, most CRLF", "a\r\nb\r\nc\nd\n", "a\nb\nc\n", "x\ny\n", "x\r\ny\r\nd\n")
    case("mixed ends across the range, most LF", "a\nb\r\nc\nd\r\n", "a\nb\nc\n", "x\ny\n", "x\ny\nd\r\n")
    case("mixed ends, deletion touches nothing else", "a\r\nb\nc\r\n", "b\n", "", "a\r\nc\r\n")
    case("mixed ends, last line without end", "a\r\nb", "b", "x\ny", "a\r\nx\r\ny")
    case("one line without any end", "abc", "b", "1\n2", "a1\n2c")
    case("CRLF, new text with lone CR stays", "a\r\nb\r\n", "b", "x\ry", "a\r\nx\ry\r\n")
    case("LF, old text with CRLF and file with LF", "a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n")
    case("CRLF, from the middle of one line to the middle of the next", "abc\r\ndef\r\n", "c\nd", "-", "ab-ef\r\n")
    case("CRLF, joining lines", "a\r\nb\r\n", "a\n", "a", "ab\r\n")
    case("CRLF, splitting a line", "ab\r\n", "ab", "a\nb", "a\r\nb\r\n")
    case("CRLF, only the newline is looked for", "a\r\nb", "\n", "; ", "a; b")
    case("LF to CRLF is no change", "a\nb\n", "a\nb\n", "a\r\nb\r\n", error="invalid_args")
    case("a lone CR in the file is text", "a\rb\nc\n", "c", "d", "a\rb\nd\n")
    case("CRLF with trailing blanks", "a \r\nb\r\nc\r\n", "a\nb", "a\nx", "a \r\nx\r\nc\r\n", how="lines")
    case("CRLF, everything is replaced", "a\r\nb\r\n", "a\nb\n", "c\n", "c\r\n")
    case("no final newline, old given with one", "a\nlast", "last\n", "end\n", "a\nend", how="lines")
    case("no final newline, CRLF, old given with one", "a\r\nlast", "last\n", "end\nmore\n", "a\r\nend\r\nmore", how="lines")
    case("no final newline, old given without", "a\nlast", "last", "end", "a\nend")
    case("no final newline, one is added on purpose", "a\nlast", "last", "end\n", "a\nend\n")
    case("a final newline is removed on purpose", "a\nlast\n", "last\n", "end", "a\nend")
    case("several final newlines stay", "a\nb\n\n\n", "b", "c", "a\nc\n\n\n")
    case("a file of newlines", "\n\n\n", "\n\n\n", "\n", "\n")
    case("form feed and vertical tab stay", "a\f\nb\v\nc\n", "b\v\n", "d\v\n", "a\f\nd\v\nc\n")


TWINS = [
    ("left single quote", "\u2018", "'"), ("right single quote", "\u2019", "'"), ("reversed quote", "\u201b", "'"), ("prime", "\u2032", "'"),
    ("left double quote", "\u201c", '"'), ("right double quote", "\u201d", '"'), ("double prime", "\u2033", '"'),
    ("hyphen", "\u2010", "-"), ("non-breaking hyphen", "\u2011", "-"), ("figure dash", "\u2012", "-"), ("en dash", "\u2013", "-"),
    ("em dash", "\u2014", "-"), ("bar", "\u2015", "-"), ("minus", "\u2212", "-"), ("narrow blank", "\u202f", " "), ("thin blank", "\u2009", " "),
]


def unicode():
    for name, twin, plain in TWINS:
        line = f"words{twin}more words"
        given = line.replace(twin, plain)
        case(f"twin: {name} in the file", f"a\n{line}\nb\n", given + "\nb", "changed\nb", "a\nchanged\nb\n", how="lines")
        case(f"twin: {name} in a line that stays", f"a\n{line}\nb\n", given + "\nb", given + "\nc", f"a\n{line}\nc\n", how="lines")
        case(f"twin: {name} given by the model", f"a\n{given}\nb\n", line, "changed", "a\nchanged\nb\n", how="lines")
    case("composed and decomposed letters differ", "caf\u00e9 au lait\n", "cafe\u0301 au lait", "tea", error="no_match")
    case("full width and half width differ", "ＡＢＣ\n", "ABC", "x", error="no_match")
    case("Latin and Cyrillic look-alikes differ", "p\u0430ssword\n", "password", "x", error="no_match")
    case("Greek question mark is no semicolon", "f()\u037e\n", "f();", "x", error="no_match")
    case("a zero-width blank in the file is passed over", "ab\u200bc def\n", "abc def", "x", "x\n", how="lines")
    case("right-to-left text", "שלום עולם\nסוף\n", "עולם", "חבר", "שלום חבר\nסוף\n")
    case("a part of an emoji sequence is text", "👩‍👧\n", "‍👧", "", "👩\n")
    case("skin tones stay", "👍🏽 ok\n", "ok", "fine", "👍🏽 fine\n")
    case("characters beyond the basic plane", "𝒳 = 𝒴\n", "𝒴", "𝒵", "𝒳 = 𝒵\n")
    case("line separators are no line ends", "a\u2028b\nc\n", "c", "d", "a\u2028b\nd\n")
    case("Japanese", "関数は値を返す。\n終わり\n", "値を返す", "何も返さない", "関数は何も返さない。\n終わり\n")
    case("Korean", "안녕 세상\n", "세상", "친구", "안녕 친구\n")
    case("Arabic with marks", "مَرْحَبًا بالعالم\n", "بالعالم", "بك", "مَرْحَبًا بك\n")
    case("a combining mark is not split off unasked", "e\u0301e\n", "e\u0301", "x", "xe\n")


def ambiguous():
    for name, before, old, new, after in SAMPLES:
        middle = "--- between ---\n"
        twice = before + old + middle + old + after
        case(f"ambiguous {name}", twice, old, new, error="ambiguous_match")
        case(f"ambiguous {name}, all are meant", twice, old, new, before + new + middle + new + after, all=True)
        case(f"ambiguous {name}, told apart by the line before", twice, middle + old, middle + new, before + old + middle + new + after)
    case("ambiguous within a line", "a a\n", "a", "b", error="ambiguous_match")
    case("all within a line", "a a\n", "a", "b", "b b\n", all=True)
    case("overlapping places are ambiguous", "x\nx\nx\n", "x\nx\n", "y\n", error="ambiguous_match")
    case("overlapping letters are ambiguous", "aaa\n", "aa", "b", error="ambiguous_match")
    case("overlapping places, all from the left", "aaaa\n", "aa", "b", "bb\n", all=True)
    case("all in a CRLF file", "a\r\nb\r\na\r\n", "a\n", "c\nd\n", "c\r\nd\r\nb\r\nc\r\nd\r\n", all=True)
    case("all with one place", "a b\n", "a", "c", "c b\n", all=True)
    case("all with no place", "a b\n", "zzz", "c", error="no_match", all=True)
    case("all grows no further", "a\n", "a", "aa", "aa\n", all=True)
    case("two places with other blanks", "  go(a,  b);\n\tgo(a, b );\n", "go( a, b);", "x", error="ambiguous_match")
    case("all places with other blanks, each with its indentation", "  go(a,  b);\n\tgo(a,\tb);\n", "go(a,   b);", "stop();", "  stop();\n\tstop();\n", all=True, how="lines")
    case("one exact place beats an inexact one", "x  = 1\nx = 1\n", "x = 1", "y", "x  = 1\ny\n", how="exact")
    case("overlapping runs of lines with other blanks", " a\n a\n a\n", "a \na ", "b", error="ambiguous_match")
    case("a short text in a long word", "cat concat\n", "cat", "dog", error="ambiguous_match")
    case("same block at two depths", "if a:\n    x()\n    y()\nelse:\n        x()\n        y()\n", "x()\ny()", "z()", error="ambiguous_match")


def stale():
    for name, before, old, new, after in SAMPLES[:8]:
        whole = before + old + after
        case(f"stale {name}: something else changed", whole, old, new, "added above\n" + before + new + after + "added below\n",
             changed="added above\n" + before + old + after + "added below\n")
        lines = old.split("\n")
        case(f"stale {name}: the block itself changed", whole, old, new, error="conflict", changed=before + old.replace(lines[0], "other") + after)
        case(f"stale {name}: the block is there twice now", whole, old, new, error="conflict", changed=before + old + old + after)
        case(f"stale {name}: the file became CRLF", whole, old, new, crlf(before + new + after), changed=crlf(whole))
    case("stale: an inexact match in another text is not taken", "a\n  go( );\n", "go();", "x", error="conflict", changed="b\n  go( );\n")
    case("stale: the file is empty now", "a b c\n", "b", "x", error="conflict", changed="")
    case("stale: the file became binary", "a b c\n", "b", "x", error="binary_file", changed=b"a b\0")
    case("stale: the change was made already", "a b c\n", "b", "x", error="conflict", changed="a x c\n")
    case("stale: a mark was added", "a b c\n", "b", "x", "\ufeffa x c\n", changed="\ufeffa b c\n")


def indent_of(line):
    return line[:len(line) - len(line.lstrip())]


def near():
    taken = [
        ("a letter left out", "let config = load_configuration(path)?;", "let config = load_configuraton(path)?;"),
        ("a letter doubled", "// the necessary steps follow", "// the neccessary steps follow"),
        ("two letters swapped", "fn receive(message: Message) {", "fn recieve(message: Message) {"),
        ("another letter inside", "raise NotImplementedError('separate')", "raise NotImplementedError('seperate')"),
        ("a slip in a string", "print('An error occurred here')", "print('An error ocurred here')"),
        ("two slips in one line", "the environment of a governance tool", "the enviroment of a governence tool"),
        ("a slip beside other blanks", "call( maintenance , 1 )", "call(maintenence, 1)"),
        ("a slip in markup", "<section class=\"container\">", "<section class=\"contaner\">"),
        ("a slip in a key", "  acknowledgement: true", "  acknowlegement: true"),
        ("a slip in prose", "The quick brown fox was definitely here.", "The quick brown fox was definately here."),
    ]
    for name, there, given in taken:
        case(f"near: {name}", f"first\n{there}\nlast\n", given, indent_of(given) + "CHANGED", f"first\n{indent_of(there)}CHANGED\nlast\n", how="near")
    case("near: the misspelt line stays as it was in the file", "load_configuration(a)\nrun(b)\n", "load_configuraton(a)\nrun(b)", "load_configuraton(a)\nrun(c)",
         "load_configuration(a)\nrun(c)\n", how="near")
    case("near: CRLF stays", "load_configuration(a)\r\nrun(b)\r\n", "load_configuraton(a)\nrun(b)", "load_configuraton(a)\nrun(c)",
         "load_configuration(a)\r\nrun(c)\r\n", how="near")
    refused = [
        ("another number", "let timeout = 60_000_000;", "let timeout = 30_000_000;"),
        ("another digit in a name", "process_version1(argument)", "process_version2(argument)"),
        ("another operator", "if length == maximum {", "if length != maximum {"),
        ("another comparison", "while index < maximum_length {", "while index > maximum_length {"),
        ("another sign", "total = balance + interest_rate", "total = balance - interest_rate"),
        ("minimum for maximum", "let bound = compute_minimum(values);", "let bound = compute_maximum(values);"),
        ("false for true", "settings.enabled_by_default = false;", "settings.enabled_by_default = true;"),
        ("left for right", "align_everything_to_the_left();", "align_everything_to_the_right();"),
        ("a plural", "for visitor in all_visitors(database) {", "for visitor in all_visitor(database) {"),
        ("a prefix", "make_asynchronous(connection)", "make_synchronous(connection)"),
        ("another case", "let value = Configuration::new();", "let value = configuration::new();"),
        ("a semicolon more in the file", "launch_missiles_now(target);", "launch_missiles_now( target )"),
        ("a comment more in the file", "launch_now(target); // never", "launch_now(target);  // "),
        ("a bracket more", "outer(inner(value_of_it))", "outer(inner( value_of_it )"),
        ("a word more", "// load the configuration file", "// load configuration file"),
        ("a word less", "// load configuration file", "// load the configuration file"),
        ("a negation", "if not is_allowed_to_enter(person):", "if is_allowed_to_enter(person):"),
        ("another name", "connect_to_server(primary_address)", "connect_to_server(replica_address)"),
        ("a short word", "let total = sum(a, b, c, d, e);", "let total = sun(a, b, c, d, e);"),
        ("another index letter", "matrix[row][i] = compute(row, i);", "matrix[row][j] = compute(row, j);"),
        ("another quote kind around a word", "name = 'configuration'", "name = `configuration`"),
        ("another Chinese word", "加载配置文件失败", "保存配置文件失败"),
        ("an escaped quote", "print(\"hello world\")", "print(\\\"hello world\\\")"),
        ("another unit", "sleep(Duration::from_secs(5))", "sleep(Duration::from_millis(5))"),
        ("another path", "open('/etc/application/main.conf')", "open('/etc/application/test.conf')"),
        ("two swaps in one word", "initialize_everything()", "intiailze_everything()"),
        ("nothing alike", "completely different content", "what the model imagined"),
    ]
    for name, there, given in refused:
        case(f"not near: {name}", f"first\n{there}\nlast\n", given, "CHANGED", error="no_match")
    case("not near: two places with the same slip", "load_configuration(a)\nx\nload_configuration(a)\n", "load_configuraton(a)", "CHANGED", error="no_match")
    case("not near: all does not make a slip right", "load_configuration(a)\nx\nload_configuration(a)\n", "load_configuraton(a)", "CHANGED", error="no_match", all=True)


def literal():
    for name, old, new in [
        ("dollar groups", "price", "$1 $& $` $' $$ ${x}"), ("backslashes", "C:\\dir", "D:\\new\\n\\t"), ("a regular expression", "^a.*b[0-9]+$", "(x|y)?"),
        ("format signs", "%s %d", "{} {0} %%"), ("a template", "{{ name }}", "{% if a %}"), ("a shell line", "echo \"$HOME\" `id`", "echo '$(id)'"),
        ("quotes", "say \"a\" and 'b'", "say 'a' and \"b\""), ("entities", "&lt;b&gt;", "<b>&amp;"), ("an escaped newline", "a\\nb", "a\\n\\nc"),
        ("a glob", "src/**/*.rs", "src/{a,b}/?.rs"), ("a percent path", "%20%2F", "%C3%A9"), ("a diff", "-old\n+new", "@@ -1 +1 @@"),
    ]:
        case(f"literal: {name}", f"before {old} after\n", old, new, f"before {new} after\n", how="exact")


def encodings():
    marks = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-32-le": b"\xff\xfe\0\0", "utf-32-be": b"\0\0\xfe\xff"}
    for name, mark in marks.items():
        def encode(text):
            return mark + text.encode(name)
        case(f"{name}: plain", encode("one\ntwo\n"), "two", "2", encode("one\n2\n"))
        case(f"{name}: beyond ASCII", encode("one\r\n二 🦀\r\n"), "二", "两个\n三", encode("one\r\n两个\r\n三 🦀\r\n"))
        case(f"{name}: not found", encode("one\n"), "zwei", "2", error="no_match")
    case("latin-1: what is not touched stays byte for byte", b"caf\xe9\r\ntwo \xa4\r\n", "two", "2", b"caf\xe9\r\n2 \xa4\r\n")
    case("latin-1: letters it has", b"caf\xe9 one\n", "one", "\u00fc", b"caf\xe9 \xfc\n")
    case("latin-1: letters it lacks", b"caf\xe9 one\n", "one", "\u4e8c", error="encoding")
    case("GBK bytes stay", "中文 one\n".encode("gbk"), "one", "two", "中文 two\n".encode("gbk"))
    case("Shift-JIS bytes stay", "日本 one\r\n".encode("shift-jis"), "one", "two\nthree", "日本 two\r\nthree\r\n".encode("shift-jis"))
    case("a mark in the middle is text", "a\ufeffb c\n", "c", "d", "a\ufeffb d\n")
    case("a mark given by the model is passed over", "\ufefffirst line\nsecond\n", "\ufefffirst line", "1st line", "\ufeff1st line\nsecond\n", how="lines")
    case("binary", b"\x7fELF\0\0\x01 text", "text", "x", error="binary_file")
    case("odd UTF-16", b"\xff\xfea\0b", "a", "x", error="binary_file")


def refusals():
    case("empty old in a file that holds something", "a\n", "", "b", error="invalid_args")
    case("empty old in an empty file", "", "", "b\n", "b\n")
    case("nothing changes", "a\n", "a", "a", error="invalid_args")
    case("nothing changes but line ends", "a\r\nb\r\n", "a\nb", "a\r\nb", error="invalid_args")
    case("old longer than the file", "a\n", "a\n" * 50, "x", error="no_match")
    case("an empty file has nothing", "", "a", "b", error="no_match")
    case("only blanks are looked for and there", "a  b\n", "  ", " ", "a b\n")
    case("the whole file", "a\nb\n", "a\nb\n", "", "")
    case("other line counts", "a\nb\nc\n", "a\nc", "x", error="no_match")
    case("lines in another order", "alpha one\nbeta two\n", "beta two\nalpha one", "x", error="no_match")
    case("an ellipsis in old", "fn a() {\n  one();\n  two();\n}\n", "fn a() {\n  ...\n}", "x", error="no_match")
    case("line numbers in old", "one\ntwo\n", "1: one\n2: two", "x", error="no_match")
    case("a placeholder in new", "a\nb\n", "b", "// ... existing code ...", error="omission")
    case("a placeholder that was there", "a\n// ... existing code ...\nb\n", "// ... existing code ...\nb", "// ... existing code ...\nc", "a\n// ... existing code ...\nc\n")


for group in (exact, blanks, line_ends, unicode, ambiguous, stale, near, literal, encodings, refusals):
    group()
names = [entry["name"] for entry in CASES]
assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
with open("cases.jsonl", "w") as out:
    for entry in CASES:
        out.write(json.dumps(entry, ensure_ascii=True) + "\n")
print(len(CASES))
