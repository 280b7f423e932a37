#!/usr/bin/env python3
"""Reads what strace wrote and tells where programs tried to go: scripts/connections.py FILE

Exit status 1, and each such line, where an address is not this machine's, or a name server was asked.
"""

import ipaddress
import re
import sys

INET = re.compile(r'sin_port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)')
INET6 = re.compile(r'sin6_port=htons\((\d+)\).*?inet_pton\(AF_INET6, "([^"]+)"')
DOMAIN = 53


def tried(line):
    """The port and the address that a call names, if it names any."""
    found = INET.search(line) or INET6.search(line)
    return (int(found.group(1)), ipaddress.ip_address(found.group(2))) if found else None


def main(path):
    here, beyond = 0, []
    with open(path, errors="replace") as lines:
        for line in lines:
            target = tried(line)
            if target is None:
                continue
            port, address = target
            mapped = getattr(address, "ipv4_mapped", None)
            if (mapped or address).is_loopback and port != DOMAIN:
                here += 1
            else:
                beyond.append(line.strip())
    print(f"{here} connections to this machine, {len(beyond)} elsewhere")
    for line in beyond[:50]:
        print(line)
    return 1 if beyond or not here else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
