"""Logs, and questions about what happened: the answer is the line that tells it."""

from generator import names as n
from generator.lookups import Asked
from generator.notes import slots
from generator.noted import filled
from generator.values import clock

TEXT = """
INFO listening on port {port} ~ on which port did it listen / when did it start to listen / which port does the log name
INFO {word} started, version {ver} ~ when was {word} started / which version of {word} was started
ERROR cannot reach {host}: connection refused ~ which host could not be reached / when was the connection refused / what could not be reached
WARN disk {path} is {i80-99}% full ~ which disk is nearly full / how full is the disk / when did the disk get full
INFO user {login} logged in from {ip} ~ who logged in / from which address did {login} log in / when did {login} log in
INFO backup finished in {i3-900} seconds ~ how long did the backup take / when was the backup done / when did the backup finish
ERROR job {word} failed after {i2-90} seconds ~ which job failed / when did the {word} job fail / after how many seconds did the job fail
INFO {i2-9000} rows imported from {word}.csv ~ how many rows were imported / what was imported / when was {word}.csv imported
WARN certificate of {host} expires on {date} ~ when does the certificate expire / whose certificate expires
INFO payment {serial} accepted, total {money} ~ how much was the payment {serial} / which payment was accepted
ERROR payment {serial} declined ~ which payment was declined / when was a payment declined
INFO door {i1-9} opened by {person} ~ who opened the door / which door was opened / when was door opened by {person}
INFO door {i10-19} locked ~ which door was locked / when was the door locked
WARN temperature of {place} is {i30-90} ~ how warm was the {place} / when did the {place} get warm
INFO shutting down, uptime {i1-900} hours ~ how long did it run / when did it shut down
INFO config reloaded by {login} ~ who reloaded the config / when was the config reloaded
ERROR out of memory in {code} ~ what ran out of memory / when did the memory run out
INFO mail to {email} sent ~ to whom was a mail sent / when was the mail sent
INFO sync with {host} took {i1-90} s ~ how long did the sync take / with which host did it sync
"""
EVENTS = [(line, asked.split(" / ")) for line, asked in (x.split(" ~ ") for x in TEXT.strip().split("\n"))]


class Logged(Asked):
    """Events between lines that tell little."""

    def __init__(self, w):
        r = w.r
        some = r.sample(EVENTS, r.randint(2, 7))
        self.lacking = [asked for line, asked in EVENTS if (line, asked) not in some]
        stamp = r.choice(["2026-03-0{d} {t} ", "[{t}] ", "{t} ", "2025-1{d}-11T{t} "]).replace("{d}", str(r.randint(1, 2)))
        texts, self.lines = [], []
        for template, asked in some:
            known = {}
            texts += [(f"{r.choice(['INFO', 'DEBUG'])} {n.phrase(r)} {r.randint(1, 99)}", None, None)] * r.choice([0, 1, 1])
            texts.append((filled(r, template, known), asked, known))
        times = sorted(f"{clock(r)}:{r.randint(0, 59):02}" for _ in texts)
        for (text, asked, known), time in zip(texts, times):
            line = stamp.replace("{t}", time) + text
            if asked:
                self.lines.append((line, asked, known))
        lines = [stamp.replace("{t}", time) + text for (text, _, _), time in zip(texts, times)]
        super().__init__(w, n.file(r, "log"), "\n".join(lines))

    def ask(self):
        r = self.w.r
        if r.random() < 0.14:
            fit = [q for asked in self.lacking for q in asked if not slots(q)]
            return self.w.pick.of(fit), f"{self.f} does not say that.", None
        line, asked, known = r.choice(self.lines)
        return filled(r, self.w.pick.of(asked), known), line, line

    def also(self, before):
        line, asked, known = self.w.r.choice(self.lines)
        if line == before:
            return None
        return f"and {filled(self.w.r, self.w.pick.of(asked), known)}?", line, line
