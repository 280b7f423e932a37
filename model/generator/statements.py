"""Sentences that stand somewhere in a file, with questions that each answers. The answer is the sentence itself."""

from generator import names as n

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
PLACES = (
    """workshop library cellar office garage bakery museum station kitchen studio warehouse canteen school chapel theatre gym
greenhouse laboratory reading room parking lot swimming pool""".replace(
        "reading room", "reading_room"
    )
    .replace("parking lot", "parking_lot")
    .replace("swimming pool", "swimming_pool")
    .split()
)

# Slots: {who} {other} a person, {x} {y} things, {place}, {city}, {date}, {day}, {time}, {n} {m} numbers, {v} a value, {c} a word of code.
STATEMENTS = [
    (
        "Repairs of the {x} are done by {who} {last} in {city}.",
        [
            "who repairs the {x}",
            "who fixes the {x}",
            "where is the {x} repaired",
            "where do we bring the {x} for repair",
        ],
    ),
    (
        "Teacher of the {c} class is {who}.",
        ["who teaches the {c} class", "who gives the {c} class", "whose is the {c} class"],
    ),
    (
        "For the {x} we need {n} more chairs.",
        [
            "how many chairs do we need for the {x}",
            "what do we need for the {x}",
            "how many more chairs are needed for the {x}",
        ],
    ),
    (
        "Because of the {x}, the {place} stays shut on {day}.",
        ["why is the {place} shut", "when is the {place} shut", "on which day is the {place} closed"],
    ),
    ("It was {who} who broke the {x}.", ["who broke the {x}", "what did {who} break"]),
    (
        "Lessons for {c} were moved from {day} to {time}.",
        ["when are the lessons for {c}", "to when were the {c} lessons moved", "what was moved to {time}"],
    ),
    (
        "Payment for the {x} is due {n} days after delivery.",
        [
            "when do we have to pay for the {x}",
            "how many days do we have to pay the {x}",
            "when is the payment for the {x} due",
        ],
    ),
    ("Nobody but {who} may open the {x}.", ["who may open the {x}", "who is allowed to open the {x}"]),
    (
        "There are {n} {x}s in the {place}.",
        ["how many {x}s are in the {place}", "what is in the {place}", "how many {x}s do we have"],
    ),
    (
        "Until {date} the {c} team sits in {city}.",
        ["where is the {c} team", "where does the {c} team sit", "until when is the {c} team in {city}"],
    ),
    (
        "The old {x} was replaced by a {y} in {year}.",
        ["when was the {x} replaced", "what replaced the {x}", "what was put in place of the {x}"],
    ),
    (
        "{who} {last}, who came in {year}, leads the {c} group.",
        ["who leads the {c} group", "who is the head of the {c} group", "since when is {who} {last} here"],
    ),
    (
        "Spare parts for the {x} come from {city}.",
        ["where do the spare parts for the {x} come from", "from where do we get parts for the {x}"],
    ),
    (
        "Ask {who} if the {c} fails.",
        ["whom do I ask if the {c} fails", "who helps when the {c} fails", "what do I do if the {c} fails"],
    ),
    (
        "The {c} was tested on {n} machines without errors.",
        ["on how many machines was the {c} tested", "how was the {c} tested", "did the {c} tests pass"],
    ),
    (
        "Set {C} to at least {n} characters.",
        ["how long must {C} be", "how many characters does {C} need", "what about {C}"],
    ),
    (
        "By default the {c} keeps {n} backups.",
        ["how many backups does the {c} keep", "how many backups are kept by the {c}"],
    ),
    (
        "From {time} on, the {place} serves {x} soup.",
        ["when does the {place} serve soup", "what does the {place} serve", "from when on is there {x} soup"],
    ),
    (
        "{who}'s {x} won the second prize.",
        ["whose {x} won a prize", "what prize did the {x} win", "which prize did {who} win"],
    ),
    (
        "The height of the {x} is {n} metres.",
        ["how high is the {x}", "how tall is the {x}", "what is the height of the {x}"],
    ),
    (
        "We lost {n} euros with the {x} sale.",
        [
            "how much did we lose with the {x} sale",
            "how did the {x} sale go",
            "what did the {x} sale cost us",
        ],
    ),
    (
        "Tickets for the {x} show are sold by {who}.",
        ["who sells tickets for the {x} show", "where do I get tickets for the {x} show"],
    ),
    (
        "{n} people came to the {x} party.",
        ["how many people came to the {x} party", "how many guests had the {x} party"],
    ),
    (
        "The {c} was disabled on {date} after a crash.",
        ["why was the {c} disabled", "when was the {c} disabled", "what happened to the {c}"],
    ),
    (
        "In case of fire, meet at the {place}.",
        ["where do we meet in case of fire", "what do we do in case of fire"],
    ),
    (
        "The {x} stock will last until {date}.",
        ["until when will the {x} stock last", "how long does the {x} stock last"],
    ),
    (
        "The {x} meeting starts on {date} at {time}.",
        [
            "when does the {x} meeting [start|begin]",
            "on [which|what] day is the {x} meeting",
            "what time is the {x} meeting",
        ],
    ),
    ("{who} brings the {x}.", ["who brings the {x}", "what does {who} bring", "who will bring the {x}"]),
    (
        "The {place} is closed until {date}.",
        ["until when is the {place} closed", "when does the {place} open again", "is the {place} open"],
    ),
    (
        "The {place} is open from {n} to {m} o'clock.",
        [
            "when is the {place} open",
            "what are the opening hours of the {place}",
            "from when on is the {place} open",
        ],
    ),
    (
        "{who} {last} lives in {city}.",
        ["where does {who} live", "who lives in {city}", "in which city does {who} {last} live"],
    ),
    (
        "The {x} costs {n} euros.",
        ["how much does the {x} cost", "what is the price of the {x}", "what do we pay for the {x}"],
    ),
    (
        "{who} paid {n} euros for the {x}.",
        ["how much did {who} pay for the {x}", "who paid for the {x}", "what did the {x} cost"],
    ),
    ("{who} {last} was born in {year} in {city}.", ["when was {who} {last} born", "where was {who} born"]),
    (
        "The {x} was bought in {year}.",
        ["when was the {x} bought", "from which year is the {x}", "how old is the {x}"],
    ),
    (
        "Send the {x} report to {c}@example.org.",
        [
            "where do I send the {x} report",
            "to which address does the {x} report go",
            "who gets the {x} report",
        ],
    ),
    (
        "{c} files are kept for {n} days.",
        [
            "how long are {c} files kept",
            "for how many days do we keep {c} files",
            "when are {c} files deleted",
        ],
    ),
    (
        "The {c} files lie in {path}.",
        ["where are the {c} files", "in which folder are the {c} files", "where do the {c} files lie"],
    ),
    (
        "{who} is responsible for the {c}.",
        [
            "who is responsible for the {c}",
            "whom do I ask about the {c}",
            "who takes care of the {c}",
            "what is {who} responsible for",
        ],
    ),
    ("The {x} needs {n} litres of {y}.", ["how much {y} does the {x} need", "what does the {x} need"]),
    (
        "We decided to use {c} instead of {b}.",
        ["what do we use instead of {b}", "what did we decide about {b}", "what replaces {b}"],
    ),
    (
        "The limit for the {c} is {n} per minute.",
        [
            "what is the limit for the {c}",
            "how many {c}s per minute are allowed",
            "how many {c} calls are possible in a minute",
        ],
    ),
    (
        "The {c} takes about {n} minutes.",
        ["how long does the {c} take", "how many minutes does the {c} need", "how fast is the {c}"],
    ),
    (
        "Run `{command}` to start the {c}.",
        ["how do I start the {c}", "which command starts the {c}", "what do I run for the {c}"],
    ),
    (
        "The {c} module was written by {who} {last}.",
        ["who wrote the {c} module", "what did {who} write", "who is the author of the {c} module"],
    ),
    (
        "The {x} is on floor {n}.",
        ["on which floor is the {x}", "where is the {x}", "where do I find the {x}"],
    ),
    (
        "{who} works on the {c} until {day}.",
        ["what does {who} work on", "who works on the {c}", "until when does {who} work on the {c}"],
    ),
    (
        "The train to {city} leaves at {time}.",
        [
            "when does the train to {city} leave",
            "at what time does the train to {city} go",
            "which train leaves at {time}",
        ],
    ),
    (
        "The deadline for the {c} is {date}.",
        ["what is the deadline for the {c}", "when is the {c} due", "until when must the {c} be ready"],
    ),
    (
        "The book about {x}s has {n} pages.",
        ["how many pages has the book about {x}s", "how long is the book about {x}s"],
    ),
    (
        "Table {n} is reserved for {who}.",
        ["which table is reserved for {who}", "where does {who} sit", "for whom is table {n}"],
    ),
    (
        "{who} is on holiday until {date}.",
        ["until when is {who} on holiday", "when is {who} back", "who is on holiday"],
    ),
    (
        "The phone number of {who} is {phone}.",
        ["what is the phone number of {who}", "how can I call {who}", "what's {who}'s number"],
    ),
    ("The {c} supports {b} and {v}.", ["what does the {c} support", "which formats does the {c} support"]),
    (
        "The default {c} is {v}.",
        ["what is the default {c}", "which {c} is the default", "what {c} is used by default"],
    ),
    (
        "The {c} reads its settings from {path}.",
        ["where does the {c} read its settings from", "from which file does the {c} get its settings"],
    ),
    (
        "The {c} service listens on port {n}.",
        [
            "on which port does the {c} service listen",
            "what port has the {c} service",
            "what is the port of the {c} service",
        ],
    ),
    (
        "{who} promised to repair the {x}.",
        ["who repairs the {x}", "what did {who} promise", "who promised to repair the {x}"],
    ),
    (
        "The {x} was found by {who} near {city}.",
        ["who found the {x}", "where was the {x} found", "what did {who} find"],
    ),
    (
        "{who} sold the {x} for {n} dollars.",
        ["for how much was the {x} sold", "who sold the {x}", "how much did {who} get for the {x}"],
    ),
    (
        "Problems with the {c} go to {who} {last}.",
        [
            "where do I report problems with the {c}",
            "who handles problems with the {c}",
            "to whom do problems with the {c} go",
        ],
    ),
    (
        "Version {version} dropped the {c}.",
        ["which version dropped the {c}", "what happened in version {version}", "when was the {c} dropped"],
    ),
    (
        "The {x} must stand in the oven for {n} minutes.",
        ["how long must the {x} stand in the oven", "how many minutes does the {x} need in the oven"],
    ),
    (
        "A {c} may have at most {n} characters.",
        ["how many characters may a {c} have", "how long may a {c} be", "what is the longest {c}"],
    ),
    (
        "The {c} requires version {version} or newer.",
        [
            "which version does the {c} require",
            "what does the {c} need",
            "what is the oldest version for the {c}",
        ],
    ),
    (
        "Every {day} {who} waters the {x}.",
        ["who waters the {x}", "when is the {x} watered", "on which day is the {x} watered"],
    ),
    (
        "The {place} belongs to {who} {last}.",
        ["who owns the {place}", "to whom does the {place} belong", "whose is the {place}"],
    ),
    (
        "{who} has lent the {x} to {other}.",
        ["who has the {x}", "to whom did {who} lend the {x}", "whom did {who} lend the {x} to"],
    ),
    (
        "The dinner is in {city} at {time} on {day}.",
        ["where is the dinner", "when is the dinner", "at what time is the dinner"],
    ),
    (
        "The {x} weighs {n} kilograms.",
        ["how heavy is the {x}", "what does the {x} weigh", "what is the weight of the {x}"],
    ),
]
FRAMES = [
    "{q}? {f}",
    "{q} ({f})?",
    "{q} - {f}",
    "{f} - {q}?",
    "tell me {q}, it's in {f}",
    "{q}? Have a look at {f}",
    "{q}? I think {f} has it",
    "can you look in {f} {q}?",
    "find out from {f} {q}",
    "{q}? {f} knows",
    "{q}? See {f}",
    "according to {f}, {q}?",
    "{q} according to {f}?",
    "look [in|into] {f}: {q}?",
    "{q}? Check {f}",
    "{f}: {q}?",
    "{q}? It is in {f}",
    "see {f}: {q}?",
    "{q}? {f} should [say|tell|know]",
    "{q}, see {f}",
    "read {f}, {q}?",
    "in {f}, {q}?",
    "{q}? The answer is in {f}",
    "check {f}: {q}?",
    "{f} says {q}, [doesn't it|or]?",
    "{q}, going by {f}?",
    "I wonder {q}. It must be in {f}",
    "use {f} to answer: {q}?",
    "from {f}: {q}?",
]


def slots(r):
    number = str(r.choice([r.randint(1, 24), r.randint(1, 400)]))
    return {
        "who": r.choice(n.PEOPLE),
        "other": r.choice(n.PEOPLE),
        "last": r.choice(n.LAST),
        "x": r.choice(n.WORDS),
        "y": r.choice(n.WORDS),
        "place": r.choice(PLACES).replace("_", " "),
        "city": r.choice(n.CITIES),
        "date": f"{r.randint(1, 30)} {r.choice(MONTHS)}",
        "day": r.choice(DAYS),
        "time": f"{r.randint(6, 22)}:{r.choice(['00', '15', '30', '45'])}",
        "n": number,
        "m": str(int(number) + r.randint(1, 9)),
        "v": n.word(r),
        "c": r.choice(n.CODE),
        "b": r.choice(n.CODE),
        "year": str(r.randint(1950, 2026)),
        "phone": f"555-{r.randint(1000, 9999)}",
        "path": f"/{r.choice(['var', 'srv', 'opt'])}/{n.word(r)}/{n.word(r)}",
        "command": r.choice(
            [
                "make start",
                f"./{n.word(r)}.sh",
                f"npm run {n.word(r)}",
                f"python {n.word(r)}.py",
                f"{n.word(r)} --{n.word(r)}",
            ]
        ),
        "version": f"{r.randint(0, 9)}.{r.randint(0, 20)}",
        "C": f"{n.word(r)}_{n.word(r)}".upper(),
    }


def filled(template, values):
    for key, value in values.items():
        template = template.replace("{" + key + "}", value)
    return template[:1].upper() + template[1:]
