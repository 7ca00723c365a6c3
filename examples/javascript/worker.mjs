// Runs the jobs of the queue "email", one after the other.

import { setTimeout as sleep } from "node:timers/promises";

const rota = process.env.ROTA_URL ?? "http://127.0.0.1:8080";
const worker = `node-${process.pid}`;
let stopping = false;

/** A failure that another attempt would not mend. */
class Permanent extends Error {}

async function sendEmail(address) {
  if (!address.includes("@")) throw new Permanent(`no address: ${address}`);
  console.log(`sending an email to ${address}`);
  return { sent: address };
}

async function run(job) {
  // With the worker and the attempt, a report that comes too late is refused.
  const report = { job_id: job.id, worker_id: worker, attempt: job.attempt };
  let result;
  try {
    result = await sendEmail(...job.args);
  } catch (error) {
    const retryable = !(error instanceof Permanent);
    const failure = { type: error.constructor.name, message: error.message, retryable };
    await post("/workers/nack", { ...report, error: failure });
    return;
  }
  await post("/workers/ack", { ...report, result });
}

async function post(path, body) {
  const response = await fetch(`${rota}/ojs/v1${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}

for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => (stopping = true));
}

while (!stopping) {
  try {
    // Waits for a job, so that there is no need to poll.
    const ask = { queues: ["email"], worker_id: worker, wait_ms: 2000 };
    const { jobs } = await post("/workers/fetch", ask);
    for (const job of jobs) await run(job);
  } catch (error) {
    console.error(`${rota}: ${error.message}`);
    await sleep(1000);
  }
}
