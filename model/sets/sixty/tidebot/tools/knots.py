"""python3 tools/knots.py KNOTS: the same in km/h."""

import sys

knots = int(sys.argv[1])
print(f"{knots} kn = {knots * 1.852:.1f} km/h")
