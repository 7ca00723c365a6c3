"""Enqueues a job for each address: producer.py you@example.com ..."""

import json
import os
import sys
import urllib.error
import urllib.request

ROTA = os.environ.get("ROTA_URL", "http://127.0.0.1:8080")


def enqueue(address):
    body = {"type": "email.send", "queue": "email", "args": [address]}
    request = urllib.request.Request(
        ROTA + "/ojs/v1/jobs",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)["job"]


for address in sys.argv[1:]:
    try:
        print(enqueue(address)["id"])
    except urllib.error.HTTPError as refused:
        # Every refusal says what is wrong and what to do.
        error = json.load(refused)["error"]
        sys.exit(f"{error['message']} {error['hint']}")
