//! The client can read every answer that the OpenAPI document describes: the shortest, with nothing but the
//! required members, and the longest, with all that are described.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

use rota_client::{
    Ack, AuditFilter, Beat, Client, DeadLetterFilter, EventFilter, Fetch, JobFilter, Limited, Nack,
    NewJob, NewKey, NewPool, NewRateLimit, QueueConfig, Registration, Rotation, TenantConfig,
    TenantOrder, UsageQuery, WorkerChange,
};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Required members only, and null wherever it is allowed.
    Shortest,
    /// All members, and one entry in each list.
    Longest,
}

/// How the server answers: by the first of several shapes, or by another.
#[derive(Debug, Clone, Copy)]
struct Answering {
    shape: Shape,
    alternative: usize,
}

macro_rules! reads {
    ($wrong:ident: $($call:expr),* $(,)?) => {
        $(if let Err(error) = $call.await {
            $wrong.push(format!("{}: {error}", stringify!($call)));
        })*
    };
}

#[tokio::test]
async fn the_client_reads_what_the_document_describes() {
    for shape in [Shape::Shortest, Shape::Longest] {
        let client = documented(Answering { shape, alternative: 0 }).await;
        let others = documented(Answering { shape, alternative: 1 }).await;
        let mut wrong = Vec::new();
        jobs(&client, shape, &mut wrong).await;
        workers(&client, &others, &mut wrong).await;
        queues(&client, &mut wrong).await;
        tenants(&client, &mut wrong).await;
        system(&client, &mut wrong).await;
        assert!(wrong.is_empty(), "{shape:?}:\n{}", wrong.join("\n"));
    }
}

async fn jobs(client: &Client, shape: Shape, wrong: &mut Vec<String>) {
    let (job, filter) = (NewJob::new("a"), JobFilter::default());
    reads!(wrong:
        client.enqueue(&job),
        client.enqueue_batch(&[&job]),
        client.job(ID),
        client.jobs(&filter, 1, None),
        client.retry_all(&filter),
        client.cancel_all(&filter),
        client.delete_all(&filter),
        client.explain(ID),
        client.dead_letters(&filter, None, 1, None),
        client.dead_letter(ID),
        client.all_dead_letters(),
        client.dead_letter_stats(),
        client.retry_dead_letters(&DeadLetterFilter::default()),
        client.delete_dead_letter(ID),
        client.purge_dead_letters(None, None),
        client.events(&EventFilter::default(), None, 1),
        client.crons(1, None),
        client.cron("a"),
        client.enable_cron("a", true),
        client.trigger_cron("a"),
        client.cron_history("a", 1, None),
        client.delete_cron("a"),
    );
    // Of a job that is deleted while it is changed, nothing but the id is left.
    if shape == Shape::Longest {
        reads!(wrong:
            client.cancel(ID),
            client.set_priority(ID, 1),
            client.activate(ID),
            client.retry(ID),
            client.retry_dead_letter(ID),
        );
    }
}

async fn workers(client: &Client, others: &Client, wrong: &mut Vec<String>) {
    let ack = Ack { job_id: ID.to_owned(), worker_id: None, attempt: None, result: None };
    let error = json!({"message": "m"});
    let nack =
        Nack { job_id: ID.to_owned(), worker_id: None, attempt: None, error, requeue: false };
    reads!(wrong:
        client.fetch(&Fetch::from(["a"])),
        client.ack(&ack),
        client.nack(&nack),
        others.ack_many(std::slice::from_ref(&ack)),
        others.nack_many(std::slice::from_ref(&nack)),
        client.heartbeat(&Beat::default()),
        client.register(&Registration::default()),
        client.deregister("w"),
        client.workers(1, None),
        client.worker("w"),
        client.change_worker("w", WorkerChange::Quiet),
        client.remove_worker("w"),
    );
}

async fn queues(client: &Client, wrong: &mut Vec<String>) {
    let (config, limit) = (QueueConfig::default(), NewRateLimit::default());
    reads!(wrong:
        client.queues(1, None),
        client.all_queues(1, None),
        client.queue_stats("a"),
        client.register_cron(&json!({})),
        client.queue_config("a"),
        client.configure_queue("a", &config),
        client.create_queue("a"),
        client.delete_queue("a", false),
        client.purge_queue("a", &[], None),
        client.pause("a"),
        client.resume("a"),
        client.rate_limits(None, 1, None),
        client.rate_limit(Limited::Key("a", None)),
        client.set_rate_limit(Limited::Queue("a"), &limit),
        client.clear_rate_limit(Limited::Type("a")),
        client.pools(1, None),
        client.pool("a"),
        client.set_pool("a", &NewPool::default()),
        client.delete_pool("a"),
    );
}

async fn tenants(client: &Client, wrong: &mut Vec<String>) {
    let config = TenantConfig::default();
    reads!(wrong:
        client.tenants(TenantOrder::Id, 1, None),
        client.tenant("a"),
        client.set_tenant("a", &config),
        client.change_tenant("a", &config),
        client.tenant_limits("a"),
        client.tenant_stats("a"),
        client.tenant_usage("a", &UsageQuery::default()),
        client.tenant_jobs("a", &JobFilter::default(), 1, None),
        client.tenant_changes("a", 1, None),
        client.release_tenant("a"),
        client.delete_tenant("a", false),
        client.fairness(None),
        client.scheduling_stats(),
    );
}

async fn system(client: &Client, wrong: &mut Vec<String>) {
    reads!(wrong:
        client.health(),
        client.manifest(),
        client.readiness(),
        client.totals(),
        client.maintenance(),
        client.set_maintenance(true, None, None),
        client.server_settings(),
        client.keys(1, None),
        client.key("a"),
        client.create_key(&NewKey::default()),
        client.rotate_key("a", &Rotation::default()),
        client.revoke_key("a"),
        client.delete_key("a"),
        client.audit_log(&AuditFilter::default(), 1, None),
    );
}

const ID: &str = "0199a0cc-0e75-7a48-a360-dfaf4b3b6b6c";

/// A client of a server that answers with examples made from the document.
async fn documented(answering: Answering) -> Client {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            answer(stream, &document, answering).await;
        }
    });
    Client::new(&url).unwrap()
}

async fn answer(mut stream: TcpStream, document: &Value, answering: Answering) {
    let mut request = vec![0; 65_536];
    let length = stream.read(&mut request).await.unwrap();
    let head = String::from_utf8_lossy(&request[..length]).into_owned();
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap().to_lowercase(), words.next().unwrap());
    let path = target.split('?').next().unwrap();
    let operation = &find(document, path)[method];
    let described = operation["responses"].as_object().unwrap_or_else(|| panic!("{head}"));
    let (status, response) = described.iter().find(|(status, _)| status.starts_with('2')).unwrap();
    let schema = &response["content"]["application/openjobspec+json"]["schema"];
    let body = Examples { document, answering }.top(schema).to_string();
    let bytes = format!(
        "HTTP/1.1 {status} OK\r\nContent-Type: application/openjobspec+json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(bytes.as_bytes()).await.unwrap();
}

/// The path of the document that a request goes to; of several, the one with the fewest parameters.
fn find<'d>(document: &'d Value, path: &str) -> &'d Value {
    let fits = |template: &str| {
        template.split('/').count() == path.split('/').count()
            && template
                .split('/')
                .zip(path.split('/'))
                .all(|(part, given)| part == given || part.starts_with('{'))
    };
    let paths = document["paths"].as_object().unwrap().iter();
    let fitting = paths.filter(|(template, _)| fits(template));
    let best = fitting.min_by_key(|(template, _)| template.matches('{').count());
    best.unwrap_or_else(|| panic!("the document does not have {path}")).1
}

/// Makes values that fit schemas.
struct Examples<'a> {
    document: &'a Value,
    answering: Answering,
}

impl Examples<'_> {
    /// An example of a whole answer, of whose alternatives one is chosen.
    fn top(&self, schema: &Value) -> Value {
        let schema = self.resolved(schema);
        match schema["anyOf"].get(self.answering.alternative) {
            Some(alternative) => self.of(alternative),
            None => self.of(schema),
        }
    }

    fn resolved<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let pointer = schema["$ref"].as_str().map(|text| text.trim_start_matches('#'));
        pointer.map_or(schema, |pointer| self.document.pointer(pointer).unwrap())
    }

    fn of(&self, schema: &Value) -> Value {
        let schema = self.resolved(schema);
        let shortest = self.answering.shape == Shape::Shortest;
        if let Some(all) = schema["anyOf"].as_array() {
            let null = all.iter().find(|one| one["type"] == "null").filter(|_| shortest);
            return self.of(null.unwrap_or(&all[0]));
        }
        if let Some(words) = schema["enum"].as_array() {
            return words[0].clone();
        }
        let kind = match &schema["type"] {
            Value::Array(types) if shortest && types.contains(&json!("null")) => "null",
            Value::Array(types) => types[0].as_str().unwrap(),
            one => one.as_str().unwrap_or("null"),
        };
        match kind {
            "null" => Value::Null,
            "boolean" => json!(!shortest),
            "integer" => schema.get("minimum").cloned().unwrap_or(json!(1)),
            "number" if shortest => json!(1),
            "number" => json!(0.5),
            "string" => match schema["format"].as_str() {
                Some("date-time") => json!("2026-11-15T20:00:31.386Z"),
                Some("uuid") => json!(ID),
                _ => json!("a"),
            },
            "array" if shortest => json!([]),
            "array" => json!([self.of(&schema["items"])]),
            "object" => self.object(schema),
            other => panic!("an unknown type: {other}"),
        }
    }

    fn object(&self, schema: &Value) -> Value {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut members = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if self.answering.shape == Shape::Longest || required.contains(&json!(name)) {
                members.insert(name.clone(), self.of(member));
            }
        }
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        if let Some(others) = others.filter(|_| self.answering.shape == Shape::Longest) {
            members.insert("a".to_owned(), self.of(others));
        }
        members.into()
    }
}
