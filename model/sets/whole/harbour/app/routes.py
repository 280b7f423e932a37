"""The pages of the harbour office."""

import datetime
import logging

from app import models, money

log = logging.getLogger(__name__)

PAGE_SIZE = 40
GRACE_DAYS = 3


def berth_list(request):
    """All berths of one pier."""
    pier = request.args.get("pier", "A")
    return models.berths_of(pier)[:PAGE_SIZE]


def berth_detail(request, number):
    berth = models.berth(number)
    if berth is None:
        log.warning("no such berth: %s", number)
        return None
    return berth


def reserve(request, number):
    """Puts a boat on a berth until a day."""
    berth = models.berth(number)
    boat = models.boat(request.form["boat"])
    until = datetime.date.fromisoformat(request.form["until"])
    # TODO: refuse boats that are longer than the berth
    berth.take(boat, until)
    return berth


def release(request, number):
    berth = models.berth(number)
    berth.leave()
    log.info("berth %s is free", number)
    return berth


def invoice_for(request, boat_id):
    """What a boat owes today."""
    boat = models.boat(boat_id)
    nights = models.nights_since_last_invoice(boat)
    return money.total(nights, boat.length)


def send_reminders(request):
    today = datetime.date.today()
    late = [i for i in models.open_invoices() if (today - i.due).days > GRACE_DAYS]
    for invoice in late:
        # FIXME: the mail server refuses more than fifty a minute
        invoice.remind()
    return len(late)


def waiting_list(request):
    return models.waiting()


def search_boats(request):
    """Boats by a part of their name."""
    wanted = request.args["q"].lower()
    return [boat for boat in models.boats() if wanted in boat.name.lower()]


def health(request):
    return {"ok": True}
