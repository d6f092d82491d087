#!/usr/bin/env python3
"""Verifies the log of a run without ramet: Python's standard library only.

usage: verify.py events.ndjson...

For each file it prints "ok LINES ROOT", where ROOT is the base64 of the Merkle tree
head (RFC 6962) over the lines, or "broken LINE REASON"; then the exit code is 1.
"""
import base64
import hashlib
import json
import sys

KEYS = {"event_hash", "event_id", "parent_span_id", "payload", "prev_hash", "run_id", "span_id", "trace_id", "ts", "type"}


def pairs(members):
    keys = [key for key, _ in members]
    # RFC 8785 sorts by UTF-16 code units; so does the big-endian encoding.
    if keys != sorted(set(keys), key=lambda key: key.encode("utf-16-be")):
        raise ValueError("keys out of order or twice")
    return dict(members)


def canonical(value):
    # Enough of RFC 8785 for payloads without fractions.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def tree(leaves):
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + tree(leaves[:k]) + tree(leaves[k:])).digest()


def verify(path):
    with open(path, "rb") as file:
        text = file.read()
    lines = text.split(b"\n")
    if lines.pop() != b"":
        return "broken %d the last line has no end" % (len(lines) + 1)
    prev, run, seen = "", None, set()
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line.decode(), object_pairs_hook=pairs)
            if canonical(event).encode() != line:
                raise ValueError("not in canonical form")
            if not KEYS - {"parent_span_id"} <= event.keys() <= KEYS:
                raise ValueError("members are missing or too many")
            hashed = event["event_id"] + event["ts"] + event["type"] + canonical(event["payload"]) + event["prev_hash"]
            if hashlib.sha256(hashed.encode()).hexdigest() != event["event_hash"]:
                raise ValueError("event_hash does not fit")
            if event["prev_hash"] != prev:
                raise ValueError("prev_hash does not fit")
            if event["run_id"] != (run or event["run_id"]):
                raise ValueError("another run")
            if event["event_id"] in seen:
                raise ValueError("event_id twice")
        except (ValueError, TypeError, AttributeError) as error:
            return "broken %d %s" % (number, error)
        prev, run = event["event_hash"], event["run_id"]
        seen.add(event["event_id"])
    return "ok %d %s" % (len(lines), base64.b64encode(tree(lines)).decode())


if __name__ == "__main__":
    verdicts = [verify(path) for path in sys.argv[1:]]
    print("\n".join(verdicts))
    sys.exit(any(verdict.startswith("broken") for verdict in verdicts))
