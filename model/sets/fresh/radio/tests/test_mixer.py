from nightwave.mixer import Mixer


def test_duck_never_goes_below_zero():
    mixer = Mixer({}, 12)
    mixer.duck(5)
    assert mixer.gain == 0.0
