"""Names of all sorts: words, identifiers, files, folders, values."""

WORDS = """apple arrow atlas autumn badge bakery banner barrel basket beacon bird blanket board boat bottle branch bread
bridge brush bucket button cabin cable cactus camera candle canvas carbon castle cedar chair chalk cherry circle city clay
cliff clock cloud clover coast cobalt coffee comet copper coral corner cotton cradle crane crystal dancer desert diamond
dolphin dragon drum eagle earth echo ember engine falcon feather fern field finch flame flower forest fossil fox frost
galaxy garden garlic ginger glacier glass globe grain granite grape guitar hammer harbor harvest hawk hazel heron honey
horizon island ivory jacket jasmine jungle kernel kettle kitchen ladder lake lantern leaf lemon lily lion lobster locket
magnet mango maple marble market meadow melon mirror mist monkey moon mosaic moss mountain museum needle nest night nickel
oak oasis ocean olive onion orbit orchid otter owl paddle palace panda paper parrot pebble pepper piano pigeon pilot pine
planet plum pocket pond poppy potato prairie pumpkin puzzle quartz rabbit radar raven reef ribbon river robin rocket rose
ruby saddle saffron salmon satin scarf seed shadow shell shore silver sketch sky smoke snow socket sparrow spider spring
spruce star stone storm stream summit sun swan table temple thunder tiger timber tower trail train tulip tunnel turtle
valley velvet violet violin walnut water wave whale wheat willow window winter wolf yarn zebra zinc
abbey acorn almanac amber anchor anthem antler apron arcade archery asteroid asylum aurora avalanche balcony ballet bamboo banquet
barley baroque bassoon bayonet beetle bellows bicycle biscuit blizzard boulder bouquet brewery brigade bronze buoy cabaret cadence
camel canyon caravan carousel cartoon cathedral cavern cello census ceramic chapel charcoal chestnut chimney chronicle cinema citadel
clarinet cobbler cocoa compass concert corridor cottage courier cricket crocus crusade cyclone dagger dairy dawn decade delta dialect
domino donkey drought dune dynamo easel eclipse elbow embassy emblem emerald epoch equinox ermine estuary fable fairground ferry fiddle
fjord flannel flute folklore fortress fountain fresco furnace gable gallery gander gazette geyser goblet gondola gorge gospel grotto
gully hamlet harness hatchet hedge helium heritage hermit hinge hostel hurdle husky igloo incense inkwell insect iris javelin jigsaw
jubilee juniper kayak kiln lagoon larder lattice laurel legend lichen lighthouse limerick linen lodge loom lullaby lyric magpie mammoth
manor marathon marsh matinee mermaid meteor midwife mill minaret minnow mitten monsoon monument mortar mulberry nebula nectar nomad
novella nutmeg oboe opera oracle orchard organ osprey outpost oyster pageant pantry parade parish pasture pavilion peacock pelican
pendulum pilgrim plaza plough polar porcelain prism pulley pylon quarry quilt radish raft railway rampart rapids raspberry relic
rhubarb rowing rustic sapphire satchel sauna scarecrow schooner scroll seaweed sequoia shanty shepherd shutter siren sledge solstice
sonnet spade sphinx spindle squirrel stable steeple sundial swallow tapestry tavern teapot telegram thicket thimble thistle tide topaz
torch trellis trophy trumpet turnip tweed twilight urchin vault vestibule viaduct vineyard volcano voyage waltz warbler waterfall
weasel whistle windmill wharf wreath xylophone yacht yodel zenith zephyr""".split()

CODE = """account action address agent alert api app archive args array asset async audio auth avatar backup base batch billing
body bounds buffer build bundle cache cart catalog channel chart chat check chunk class cleanup client clock cluster code
column command common compiler component compress config connection console consumer content context control cookie core
counter crawler cron currency cursor daemon dashboard data date db debug decoder default delta deploy device diff dispatch
display document domain download draft driver edge editor email encoder endpoint engine entity entry env error event export
factory feature feed fetch field file filter fixture flag folder font form format frame gateway graph grid group guard
handler hash header health helper history hook host http icon image import index info init input invoice item job journal
json key label layer layout ledger lexer limit line link list loader local lock log login logout loop main manager map mapper
matrix member memory menu merge message metric migration mock model module monitor mount network node notify number object
option order output owner page panel parser patch path payload payment peer pipeline pixel plugin point policy pool port
prefix price printer process product profile project proxy query queue range rate reader record redirect registry release
render report request reset resource response result retry role root route router rule runner sample scanner schedule schema
scope script search secret section sender sensor series server service session setting setup shape shard shop signal site
size socket sort source spec stack stage state static stats status step storage store strategy stream string style sync
system tab table tag target task template tenant test text theme thread ticket time timer title token tool topic total trace
tracker train transfer tree trigger type unit update upload url user util validate value vector vendor version video view
watcher webhook widget window worker wrapper writer zone""".split()

EXT = """py rs js ts tsx jsx go c h cpp hpp java kt rb php sh bash lua pl swift scala md txt rst json yaml yml toml ini cfg conf
env csv tsv xml html css scss sql log lock proto graphql vue svelte tex bib ipynb r jl hs ex erl clj dart zig nim f90 m asm
diff patch bak tmp dat bin png svg pdf dockerfile mk gradle tf""".split()
TEXT_EXT = "py rs js ts go c h cpp java rb sh md txt rst json yaml yml toml ini cfg csv xml html css sql log tex lua kt".split()

WHOLE = """README.md README README.rst readme.txt LICENSE LICENSE.md COPYING Makefile Dockerfile Cargo.toml Cargo.lock
package.json package-lock.json tsconfig.json pyproject.toml setup.py requirements.txt go.mod go.sum CHANGELOG.md NOTES.md
TODO.md CONTRIBUTING.md .gitignore .env .editorconfig docker-compose.yml main.py app.py index.html style.css main.rs lib.rs
index.js server.js main.go Gemfile build.gradle pom.xml CMakeLists.txt config.yaml config.json settings.json Procfile
.gitlab-ci.yml .eslintrc.json tox.ini Justfile""".split()

DIRS = """src docs tests test lib bin scripts config data assets images public static templates examples tools include vendor
build dist target app api server client backend frontend web core utils common components pages styles models views
controllers services middleware migrations fixtures notebooks reports logs tmp backup archive resources locales i18n cmd
internal pkg crates packages plugins modules themes hooks infra deploy k8s charts ansible terraform bench proto schemas
media fonts icons photos music downloads notes drafts papers slides""".split()

ENDINGS = "s er ers ist ing ed y less ful ish man house land".split()
SYLLABLES = "ba be bi bo bu ka ke ki ko ku da de di do du fa fe fi fo ga ge gi go la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo za zo xe qua tre sta gri plo bran tor mel vin dar sul".split()
PEOPLE = """Anna Ben Carla David Elena Felix Greta Hugo Ines Jakob Klara Liam Mona Nils Olga Paul Rosa Sven Tara Uwe Vera
Walter Yara Zoe Ahmed Bianca Chen Diego Emma Farid Gina Hana Igor Julia Kofi Lena Mateo Nadia Oscar Priya Quinn Ravi Sofia
Tomas Ursula Victor Wanda Amir Noor Leila Marek""".split()
LAST = """Berg Costa Dahl Eder Fuchs Garcia Hansen Ito Jansen Kim Lopez Meyer Novak Olsen Petrov Rossi Santos Tanaka Unger
Vogel Weber Young Zhang Moreau Silva Keller Brandt Lindgren Okafor Haddad""".split()
CITIES = """Lisbon Hamburg Lyon Turin Oslo Kyoto Lima Dublin Graz Krakow Seville Utrecht Bergen Basel Ghent Porto Malaga Leeds
Austin Denver Quito Perth Nairobi Hanoi Tampere Aarhus Split Cork Bari Nantes""".split()


def word(r):
    x = r.random()
    if x < 0.46:
        return r.choice(CODE)
    if x < 0.84:
        return r.choice(WORDS) + (r.choice(ENDINGS) if r.random() < 0.12 else "")
    return "".join(r.choice(SYLLABLES) for _ in range(r.randint(2, 4)))


def joined(r, most=3):
    parts = [word(r) for _ in range(r.choice([1, 1, 2, 2, 2, 3][: most + 3]))]
    how = r.random()
    if how < 0.5:
        return "_".join(parts)
    if how < 0.75:
        return "-".join(parts)
    if how < 0.9:
        return parts[0] + "".join(p.capitalize() for p in parts[1:])
    return "".join(p.capitalize() for p in parts)


def identifier(r):
    """A name in code."""
    parts = [word(r) for _ in range(r.choice([1, 2, 2, 2, 3]))]
    how = r.random()
    if how < 0.5:
        return "_".join(parts)
    if how < 0.7:
        return parts[0] + "".join(p.capitalize() for p in parts[1:])
    if how < 0.88:
        return "".join(p.capitalize() for p in parts)
    return "_".join(parts).upper()


def base(r, ext=None):
    """A file's name without folders."""
    if ext is None and r.random() < 0.22:
        return r.choice(WHOLE)
    stem = joined(r)
    x = r.random()
    if x < 0.06:
        stem = f"{stem}{r.randint(1, 99)}"
    elif x < 0.10:
        stem = f"{r.randint(2019, 2026)}-{r.randint(1, 12):02}-{stem}"
    elif x < 0.13:
        stem = stem.upper()
    if ext is None:
        ext = r.choice(TEXT_EXT if r.random() < 0.75 else EXT) if r.random() < 0.95 else word(r)[:4]
    if r.random() < 0.02:
        return stem
    return f"{stem}.{ext}"


def folder(r):
    x = r.random()
    first = r.choice(DIRS) if r.random() < 0.7 else joined(r, 2)
    if x < 0.62:
        return first
    if x < 0.9:
        return f"{first}/{r.choice(DIRS) if r.random() < 0.4 else joined(r, 2)}"
    return f"{first}/{word(r)}/{joined(r, 2)}"


def file(r, ext=None):
    x = r.random()
    name = base(r, ext)
    if x < 0.6:
        return name
    if x < 0.96:
        return f"{folder(r)}/{name}"
    if x < 0.98:
        return f"../{name}"
    return (
        f"/{r.choice(['etc', 'tmp', 'var/log', 'home/' + r.choice(PEOPLE).lower(), 'opt/' + word(r)])}/{name}"
    )


def blank_file(r):
    """A name with blanks in it."""
    parts = [word(r) for _ in range(r.randint(2, 3))]
    if r.random() < 0.5:
        parts[0] = parts[0].capitalize()
    return " ".join(parts) + "." + r.choice(TEXT_EXT + ["pdf", "docx"])


def value(r):
    x = r.random()
    if x < 0.25:
        return str(r.randint(1, 9999))
    if x < 0.4:
        return f"{r.randint(0, 12)}.{r.randint(0, 30)}.{r.randint(0, 20)}"
    if x < 0.5:
        return r.choice(
            ["true", "false", "info", "debug", "none", "auto", "strict", "en", "de", "utf-8", "main", "json"]
        )
    if x < 0.6:
        return f"{r.uniform(0, 10):.{r.randint(1, 3)}f}"
    if x < 0.7:
        return f"{word(r)}.{r.choice(['example.com', 'local', 'org', 'net', 'internal'])}"
    if x < 0.8:
        return f"/{r.choice(['var', 'srv', 'opt', 'data'])}/{word(r)}"
    if x < 0.9:
        return joined(r, 2)
    return f"{r.choice(PEOPLE)} {r.choice(LAST)}"


def sentence(r):
    """Words of prose, for contents."""
    who = r.choice(PEOPLE)
    return r.choice(
        [
            f"The {word(r)} is kept next to the {r.choice(WORDS)}.",
            f"{who} will bring the {r.choice(WORDS)} on {r.choice(['Monday', 'Tuesday', 'Friday', 'Sunday'])}.",
            f"Remember to water the {r.choice(WORDS)}.",
            f"This tool reads a {r.choice(CODE)} and writes a {r.choice(CODE)}.",
            f"Buy {r.choice(WORDS)} and {r.choice(WORDS)}.",
            f"All {r.choice(CODE)}s must be checked before the {r.choice(CODE)} is sent.",
            f"A small {r.choice(CODE)} for every {r.choice(CODE)}.",
            f"We met {who} in {r.choice(CITIES)} and talked about the {r.choice(WORDS)}.",
            f"The {r.choice(CODE)} {r.choice(CODE)} is slow when the {r.choice(CODE)} is large.",
            f"Call {who} before {r.randint(1, 12)} o'clock.",
        ]
    )


def phrase(r):
    """A few words to search for or to write."""
    n = r.randint(2, 4)
    return " ".join(r.choice(WORDS) if r.random() < 0.6 else r.choice(CODE) for _ in range(n))
