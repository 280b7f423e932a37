"""Values by kind, as the lists of facts, tables and notes name them."""

from generator import names as n
from generator.facts import PLACES
from generator.statements import DAYS, MONTHS
from generator.tables import NAMED

FIRST = """Agnes Bruno Celia Dario Edith Fabian Gwen Hector Ivana Joost Kamila Lorenz Maren Niko Odile Piotr Rahel Stellan Thea Ugo
Vilma Wim Xenia Yannick Zuzana Aino Boris Chiara Dov Esra Finn Gitte Haruto Imke Jiri Katya Lior Magda Nour Orla Pelle Rune Signe
Tibor Ulla Vito Willa Youssef Birgit Callum Dunja""".split()
FAMILY = """Abel Bianchi Corbett Demir Eklund Farkas Grieg Horvat Ilves Jokinen Kovacs Laurent Marsh Nakamura Oduya Pereira Quist
Radic Sorensen Thorne Urban Varga Winter Yilmaz Zeller Ashby Brandao Castellan Doyle Engstrom Falk Gallo Hartley""".split()
COUNTRIES = "Spain Norway Peru Japan Kenya Chile France Estonia Ghana Nepal Croatia Ireland".split()


ARTICLES = """chain lamp cable pump saddle drill hinge screw bolt valve filter brush switch pipe socket battery bracket hose belt
bearing nozzle gasket clamp handle sensor charger adapter tray spring wheel tyre tube bell lock helmet tent rope paddle lens tripod""".split()


def person(r):
    return r.choice(FIRST if r.random() < 0.5 else n.PEOPLE)


def last(r):
    return r.choice(FAMILY if r.random() < 0.5 else n.LAST)


def date(r):
    year, month, day = r.randint(2019, 2027), r.randint(1, 12), r.randint(1, 28)
    return r.choice(
        [f"{year}-{month:02}-{day:02}", f"{day} {MONTHS[month - 1]} {year}", f"{day:02}.{month:02}.{year}"]
    )


def code(r):
    return r.choice(
        [
            f"{r.choice('ABCDEFGH')}{r.randint(1, 60)}",
            f"{r.randint(1, 9)}.{r.randint(1, 40):02}",
            f"{r.choice('KLMNPR')}-{r.randint(1, 99)}",
        ]
    )


def serial(r):
    letters = "".join(r.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(r.randint(2, 4)))
    return r.choice(
        [
            f"{letters}-{r.randint(100, 99999)}",
            f"{letters}{r.randint(10, 999)}",
            f"{r.randint(10, 99)}{letters}{r.randint(1, 9)}",
        ]
    )


def phone(r):
    return r.choice(
        [
            f"555-{r.randint(1000, 9999)}",
            f"+{r.randint(30, 48)} 555 {r.randint(100, 999)} {r.randint(100, 999)}",
            f"0555 {r.randint(10000, 99999)}",
        ]
    )


def host(r):
    return r.choice(
        [
            f"{n.word(r)}.{r.choice(['example.com', 'internal', 'local', 'example.org'])}",
            f"{r.choice(['web', 'db', 'app', 'node', 'cache', 'mail', 'build', 'edge'])}{r.choice(['', '-'])}{r.choice(['01', '02', '3', '7', 'a', 'b', 'main', 'old', 'spare'])}",
            f"{r.choice(n.CODE)}-{r.randint(1, 20)}",
        ]
    )


def email(r):
    who = r.choice([person(r).lower(), f"{person(r).lower()}.{last(r).lower()}", n.word(r)])
    return f"{who}@{r.choice(['example.org', 'example.com', n.word(r) + '.example', 'mail.example'])}"


def product(r):
    """An article as shops list them, often with a maker and a number."""
    maker = r.choice([n.word(r).capitalize(), last(r), "".join(r.choice("ABCDEFGHKLMNPRSTVX") for _ in range(3))])
    kind = r.choice(ARTICLES)
    return r.choice(
        [
            f"{maker} {r.choice('ABDGKMRSTXZ')}{r.randint(1, 99)} {kind}",
            f"{maker} {kind}",
            f"{kind.capitalize()} {r.randint(2, 900)} {r.choice(['mm', 'cm', 'ml', 'W', 'kg'])}",
            f"{n.word(r).capitalize()} {kind}",
            f"{kind} {r.choice('ABCDEF')}{r.randint(1, 40)}",
        ]
    )


def cron(r):
    return r.choice(
        [
            f"{r.randint(0, 59)} {r.randint(0, 23)} * * *",
            f"{r.randint(0, 23):02}:{r.choice(['00', '15', '30', '45'])}",
            f"{r.choice(DAYS).lower()} {r.randint(0, 23):02}:{r.choice(['00', '20', '40'])}",
            f"every {r.randint(2, 45)} minutes",
        ]
    )


def clock(r):
    return f"{r.randint(0, 23):02}:{r.randint(0, 59):02}"


KINDS = {
    "port": lambda r: str(r.choice([r.randint(80, 9999), r.randint(1024, 65000)])),
    "ip": lambda r: (
        r.choice(["0.0.0.0", "127.0.0.1"])
        if r.random() < 0.15
        else ".".join(str(r.randint(1, 254)) for _ in range(4))
    ),
    "dur": lambda r: r.choice(
        [
            f"{r.randint(1, 90)}s",
            f"{r.randint(50, 9000)}ms",
            f"{r.randint(1, 60)}m",
            f"{r.randint(1, 72)}h",
            str(r.randint(1, 900)),
        ]
    ),
    "mem": lambda r: f"{r.choice([r.randint(1, 64), 128, 192, 256, 384, 512, 768, 1024])}{r.choice(['M', 'G', 'MB', 'GB', 'Mi', 'm'])}",
    "cron": cron,
    "bool": lambda r: r.choice(["true", "false"]),
    "yesno": lambda r: r.choice(["yes", "no"]),
    "level": lambda r: r.choice(["info", "debug", "warn", "error", "trace", "WARNING", "INFO"]),
    "time": clock,
    "late": clock,
    "span": lambda r: f"{r.randint(6, 11):02}:{r.choice(['00', '15', '30', '45'])}-{r.randint(12, 22)}:{r.choice(['00', '15', '30', '45'])}",
    "clock": lambda r: f"{r.randint(0, 3)}:{r.randint(10, 59)}:{r.randint(10, 59)}",
    "date": date,
    "daymonth": lambda r: f"{r.randint(1, 30)} {r.choice(MONTHS)}",
    "day": lambda r: r.choice(DAYS),
    "year": lambda r: str(r.randint(1930, 2026)),
    "month": lambda r: r.choice(MONTHS),
    "week": lambda r: str(r.randint(1, 52)),
    "person": person,
    "last": last,
    "fullname": lambda r: f"{person(r)} {last(r)}",
    "login": lambda r: r.choice(
        [person(r).lower(), f"{n.word(r)}_{r.choice(['ro', 'rw', 'app', 'svc'])}", n.word(r)]
    ),
    "email": email,
    "host": host,
    "url": lambda r: f"https://{n.word(r)}.{r.choice(['example.com', 'example.org', 'internal'])}{r.choice(['', '/' + n.word(r), f':{r.randint(80, 9999)}'])}",
    "path": lambda r: r.choice(
        [
            f"/{r.choice(['var', 'srv', 'opt', 'data', 'mnt'])}/{n.word(r)}/{n.word(r)}",
            f"{n.word(r)}/{n.word(r)}",
            f"./{n.word(r)}",
        ]
    ),
    "logpath": lambda r: f"/var/log/{n.word(r)}/{n.word(r)}.log",
    "ver": lambda r: r.choice(
        [
            f"{r.randint(0, 20)}.{r.randint(0, 40)}.{r.randint(0, 20)}",
            f"{r.randint(0, 20)}.{r.randint(0, 99)}",
        ]
    ),
    "name": lambda r: n.joined(r, 2),
    "word": n.word,
    "phrase": n.phrase,
    "money": lambda r: f"{r.uniform(0.5, 300):.2f}",
    "pct": lambda r: f"{r.randint(1, 99)}{r.choice(['%', '', '%'])}",
    "f": lambda r: f"{r.uniform(0, r.choice([1, 10, 60])):.{r.randint(1, 3)}f}",
    "tz": lambda r: f"{r.choice(['Europe', 'Asia', 'America'])}/{r.choice(n.CITIES)}",
    "image": lambda r: f"{n.word(r)}:{r.choice(['latest', f'{r.randint(1, 30)}.{r.randint(0, 20)}', f'{r.randint(3, 22)}-slim', 'alpine'])}",
    "command": lambda r: r.choice(
        [
            "make start",
            f"./{n.word(r)}.sh",
            f"npm run {n.word(r)}",
            f"python -m {n.word(r)}",
            f"{n.word(r)} --{n.word(r)}",
        ]
    ),
    "place": lambda r: r.choice(PLACES),
    "serial": serial,
    "phone": phone,
    "country": lambda r: r.choice(COUNTRIES),
    "city": lambda r: r.choice(n.CITIES),
    "street": lambda r: f"{r.choice(n.WORDS).capitalize()} {r.choice(['Street', 'Lane', 'Road', 'Square'])} {r.randint(1, 150)}",
    "header": lambda r: f"X-{n.word(r).capitalize()}-{r.choice(['Key', 'Token', 'Id'])}",
    "code": code,
    "product": product,
    "mg": lambda r: f"{r.choice([5, 10, 20, 50, 100, 200, 400, 500])} mg",
    "thing": lambda r: r.choice(n.WORDS),
    "flight": lambda r: f"{r.choice('ABDEFKLSTU')}{r.choice('ABFKLPRXZ')} {r.randint(100, 9999)}",
    "order": lambda r: r.choice([str(r.randint(1000, 99999)), f"#{r.randint(100, 9999)}", serial(r)]),
    "ticket": lambda r: f"{r.choice(['WEB', 'OPS', 'APP', 'BUG', 'CORE'])}-{r.randint(1, 900)}",
    "sample": lambda r: f"{r.choice(['S', 'P', 'lake', 'core', 'probe'])}{r.choice(['-', ''])}{r.randint(1, 99)}",
}


def value(r, kind):
    if kind in KINDS:
        return KINDS[kind](r)
    if kind in NAMED:
        return r.choice(NAMED[kind].split(","))
    if kind.startswith("choice:"):
        return r.choice(kind.removeprefix("choice:").split(","))
    low, _, high = kind[1:].rpartition("-")
    return str(r.randint(int(low), int(high)))


def another(r, kind, old):
    """A value of the same kind that is not the old one."""
    return next((v for v in (value(r, kind) for _ in range(20)) if v != old), old + "2")
