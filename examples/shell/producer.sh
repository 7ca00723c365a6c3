#!/usr/bin/env bash
# Enqueues a job for each address: producer.sh you@example.com ...
set -euo pipefail

rota=${ROTA_URL:-http://127.0.0.1:8080}
for address in "$@"; do
  job=$(jq -n --arg to "$address" '{type: "email.send", queue: "email", args: [$to]}')
  answer=$(curl -sS "$rota/ojs/v1/jobs" -H 'Content-Type: application/json' -d "$job")
  # Every refusal says what is wrong and what to do.
  jq -er '.job.id // (.error | "\(.message) \(.hint)\n" | halt_error(1))' <<<"$answer"
done
