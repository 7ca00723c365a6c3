#!/usr/bin/env bash
# Runs one job: rota work --queue email -- examples/shell/send-email.sh
set -euo pipefail

address=$(jq -r '.args[0]')                             # the job is on standard input
if [[ $address != *@* ]]; then
  echo "no address: $address" >&2
  exit 100                                              # do not retry
fi
echo "sending an email to $address" >&2                 # any other failure is retried
jq -n --arg sent "$address" '{$sent}'                   # the result is on standard output
