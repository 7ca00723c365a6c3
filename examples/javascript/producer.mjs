// Enqueues a job for each address: node producer.mjs you@example.com ...

const rota = process.env.ROTA_URL ?? "http://127.0.0.1:8080";

for (const address of process.argv.slice(2)) {
  const response = await fetch(`${rota}/ojs/v1/jobs`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ type: "email.send", queue: "email", args: [address] }),
  });
  const answer = await response.json();
  if (!response.ok) {
    // Every refusal says what is wrong and what to do.
    console.error(answer.error.message, answer.error.hint);
    process.exit(1);
  }
  console.log(answer.job.id);
}
