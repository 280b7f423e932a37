"""Runs checks by name; the caller reads one line for each."""

import sys
import traceback

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
ANSWER = "Hello, wörld! 你好 🙂"
THOUGHT = "They greet me."


def run(checks):
    """Calls every check; exits with 1 when one failed."""
    failed = False
    for check in checks:
        try:
            check()
            print("ok", check.__name__)
        except Exception:
            failed = True
            print("FAILED", check.__name__)
            traceback.print_exc()
    sys.exit(1 if failed else 0)


def expect(found, wanted):
    """Asserts equality and shows both sides."""
    assert found == wanted, f"found {found!r}, wanted {wanted!r}"


def raises(kind, function, **fields):
    """Asserts that the SDK turns the answer into this exception."""
    try:
        function()
    except kind as error:
        for name, value in fields.items():
            expect(getattr(error, name), value)
        return error
    raise AssertionError(f"no {kind.__name__}")
