"""Makes a wheel with one file in it: VERSION MODULE FILE."""

import sys
import zipfile

version, module, file = sys.argv[1:]
about = f"charla-{version}.dist-info"
with zipfile.ZipFile(file, "w") as wheel:
    wheel.writestr("charla/__init__.py", module)
    wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: charla\nVersion: {version}\n")
    wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{about}/RECORD", "")
