"""Conversions."""

KMH_PER_KNOT = 1.852


def knots_to_kmh(knots):
    return round(knots * KMH_PER_KNOT)


def feet_to_metres(feet):
    return feet * 0.3048
