"""Runs the jobs of the queue "email", one after the other."""

import json
import os
import signal
import time
import urllib.request

ROTA = os.environ.get("ROTA_URL", "http://127.0.0.1:8080")
WORKER = f"python-{os.getpid()}"
stopping = False


def send_email(address):
    if "@" not in address:
        raise ValueError(f"no address: {address}")
    print(f"sending an email to {address}", flush=True)
    return {"sent": address}


def run(job):
    # With the worker and the attempt, a report that comes too late is refused.
    report = {"job_id": job["id"], "worker_id": WORKER, "attempt": job["attempt"]}
    try:
        path, report["result"] = "/workers/ack", send_email(*job["args"])
    except Exception as error:
        retryable = not isinstance(error, ValueError)  # another attempt would not help
        failure = {"type": type(error).__name__, "message": str(error), "retryable": retryable}
        path, report["error"] = "/workers/nack", failure
    post(path, report)


def post(path, body):
    request = urllib.request.Request(
        ROTA + "/ojs/v1" + path,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def stop(_signal, _frame):
    global stopping
    stopping = True


signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)
while not stopping:
    try:
        # Waits for a job, so that there is no need to poll.
        fetched = post("/workers/fetch", {"queues": ["email"], "worker_id": WORKER, "wait_ms": 2000})
        for job in fetched["jobs"]:
            run(job)
    except OSError as error:  # refused, or there is no answer
        print(f"{ROTA}: {error}", flush=True)
        time.sleep(1)
