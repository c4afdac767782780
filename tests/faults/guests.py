#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Guests of a rendezvous who are no ranks, a new one every twentieth of a second: guests.py PORT COUNT. Of four two say nothing, one babbles, one leaves at once."""
import os
import socket
import sys
import time

port, count = int(sys.argv[1]), int(sys.argv[2])
there = []
begin = time.monotonic()
while time.monotonic() - begin < 20:
    try:
        guest = socket.create_connection(("127.0.0.1", port), timeout=1)
        if len(there) % 4 == 2:
            guest.sendall(os.urandom(200))
        if len(there) % 4 == 3:
            guest.close()
        there.append(guest)
    except OSError:
        pass
    # The first ones come together.
    if len(there) > count // 2:
        time.sleep(0.05)
    if len(there) >= 4 * count:
        break
time.sleep(20)
