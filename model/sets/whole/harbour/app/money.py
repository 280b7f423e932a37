"""Fees and how they are rounded."""

NIGHT_FEE_PER_METRE = 2.35
TOURIST_TAX = 1.60


def total(nights, metres):
    return rounded(nights * (metres * NIGHT_FEE_PER_METRE + TOURIST_TAX))


def refund(paid, nights_unused, nights_booked):
    share = nights_unused / nights_booked
    return rounded(paid * share)


def rounded(amount):
    """To five cents, as the office does it."""
    return round(amount * 20) / 20
