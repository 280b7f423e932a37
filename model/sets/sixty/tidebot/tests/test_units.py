from tidebot.units import feet_to_metres, knots_to_kmh


def test_knots():
    assert knots_to_kmh(34) == 63


def test_feet():
    assert abs(feet_to_metres(10) - 3.048) < 1e-9
