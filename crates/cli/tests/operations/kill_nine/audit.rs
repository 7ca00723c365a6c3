//! Accounting for every job.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ledger::{Books, Fate};
use super::load::Worker;
use super::{QUEUES, World};
use crate::seeded_random::Dice;
use crate::support::Server;

const STATES: [&str; 8] = [
    "available",
    "scheduled",
    "pending",
    "active",
    "retryable",
    "completed",
    "cancelled",
    "discarded",
];

/// A few of the jobs that must be there, right after a restart.
pub fn glance(server: &Server, world: &World, dice: &mut Dice) {
    let (completed, accepted): (Vec<String>, Vec<String>) = {
        let books = world.ledger.books();
        let accepted = books.parcels.values().filter_map(|parcel| match &parcel.fate {
            Fate::Accepted(ids) => ids.first().cloned(),
            _ => None,
        });
        (books.completed.keys().cloned().collect(), accepted.collect())
    };
    for (ids, state) in [(completed, Some("completed")), (accepted, None)] {
        for _ in 0..ids.len().min(5) {
            let id = &ids[dice.below(ids.len())];
            let found = server.get(&format!("/ojs/v1/jobs/{id}"));
            if found.status != 200 || state.is_some_and(|s| found.body["job"]["state"] != s) {
                let text = format!("{id} should be there ({state:?}): {}", found.text);
                world.ledger.complain(text);
            }
        }
    }
}

/// Everybody has stopped: runs what is left. Jobs that were claimed for an answer which a kill cut
/// off are with nobody, and only they may still be active.
pub fn drain(world: &World, mut worker: Worker<'_>) {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        while worker.fetch(0) > 0 {
            worker.settle_down_to(0);
        }
        // A connection that was kept so long might be closed by now.
        let mut wire = world.connect();
        for job in list(&mut |path| wire.get(path).expect("the server runs").json(), "active") {
            let id = job["id"].as_str().unwrap_or_default().to_owned();
            let attempt = job["attempt"].as_u64().unwrap_or_default();
            if world.ledger.books().given.contains_key(&(id.clone(), attempt)) {
                world.ledger.complain(format!("still active, though it was settled: {job}"));
            }
            world.ledger.books().acks.insert((id.clone(), attempt));
            let acked = wire.post("/ojs/v1/workers/ack", &json!({"job_id": id}));
            let acked = acked.expect("the server runs");
            assert_eq!(acked.status, 200, "{}", acked.text());
            world.ledger.completed(&id, attempt);
        }
        let totals = wire.get("/ojs/v1/admin/stats").expect("the server runs").json();
        let left = |state: &str| totals["jobs"][state].as_u64().unwrap_or(1);
        if ["available", "active", "retryable", "scheduled"].into_iter().all(|s| left(s) == 0) {
            return;
        }
        assert!(Instant::now() < until, "it does not come to an end: {totals}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Compares all that the server has with all that the clients know, and sums it up.
pub fn account(server: &Server, world: &World) -> String {
    let listed = list(&mut |path| server.get(path).expect(200), "");
    let mut books = world.ledger.books();
    let mut found = Vec::new();
    check_jobs(&listed, &books, &mut found);
    check_parcels(&listed, &books, &mut found);
    check_counts(server, &listed, &mut found);
    books.complaints.append(&mut found);
    let completed: Vec<_> = books.completed.keys().take(200).cloned().collect();
    let unknown = books.parcels.values().filter(|parcel| parcel.fate == Fate::Unknown).count();
    let story = format!(
        "{} requests ({unknown} without an answer), {} jobs, {} deliveries, {} completed",
        books.parcels.len(),
        listed.len(),
        books.given.len(),
        books.completed.len()
    );
    drop(books);
    for id in completed {
        let again = server.post("/ojs/v1/workers/ack", json!({"job_id": id}));
        if again.status != 409 {
            world.ledger.complain(format!("a second ack of {id}: {}", again.text));
        }
    }
    story
}

fn check_jobs(listed: &[Value], books: &Books, found: &mut Vec<String>) {
    for job in listed {
        let id = job["id"].as_str().unwrap_or_default().to_owned();
        let attempt = job["attempt"].as_u64().unwrap_or_default();
        let parcel = job["args"][0].as_u64().and_then(|number| books.parcels.get(&number));
        if parcel.is_none_or(|parcel| job["queue"] != parcel.queue) {
            found.push(format!("nobody sent this: {job}"));
        }
        let execution = (id.clone(), attempt);
        let fits = match job["state"].as_str() {
            Some("completed") => books.acks.contains(&execution),
            Some("discarded") => books.nacks.contains(&execution),
            _ => false,
        };
        if !fits {
            found.push(format!("nobody brought it to this end: {job}"));
        }
        if books.completed.contains_key(&id) && job["state"] != "completed" {
            found.push(format!("its ack was answered: {job}"));
        }
    }
}

/// Each request is there as a whole or not at all, and certainly if it was answered.
fn check_parcels(listed: &[Value], books: &Books, found: &mut Vec<String>) {
    let mut there: HashMap<u64, BTreeMap<u64, &str>> = HashMap::new();
    for job in listed {
        let (number, index) = (job["args"][0].as_u64(), job["args"][1].as_u64());
        let (Some(number), Some(index), Some(id)) = (number, index, job["id"].as_str()) else {
            found.push(format!("not as it was sent: {job}"));
            continue;
        };
        if there.entry(number).or_default().insert(index, id).is_some() {
            found.push(format!("there twice: {job}"));
        }
    }
    for (number, parcel) in &books.parcels {
        let ids: Vec<&str> =
            there.get(number).map(|jobs| jobs.values().copied().collect()).unwrap_or_default();
        let whole = ids.len() == parcel.chosen.len();
        let fits = match &parcel.fate {
            Fate::Unknown => ids.is_empty() || whole,
            Fate::Accepted(told) => whole && ids.iter().eq(told),
            Fate::Refused => ids.is_empty(),
        };
        let own = |(chosen, id): (&Option<String>, &&str)| chosen.as_ref().is_none_or(|c| c == id);
        if !fits || !parcel.chosen.iter().zip(&ids).all(own) {
            found.push(format!(
                "request {number}: {} of {} jobs are there, and it was {:?}",
                ids.len(),
                parcel.chosen.len(),
                parcel.fate
            ));
        }
    }
}

fn check_counts(server: &Server, listed: &[Value], found: &mut Vec<String>) {
    for queue in QUEUES {
        let stats = server.get(&format!("/ojs/v1/queues/{queue}/stats")).expect(200);
        for state in STATES {
            let listed = listed.iter().filter(|j| j["queue"] == queue && j["state"] == state);
            let (listed, counted) = (listed.count() as u64, &stats["stats"][state]);
            if *counted != listed {
                found.push(format!("{queue}: {listed} are {state}, and {counted} were counted"));
            }
        }
    }
}

/// All jobs in a state, or simply all.
fn list(get: &mut dyn FnMut(&str) -> Value, state: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/ojs/v1/admin/jobs?per_page=100&state={state}&cursor={cursor}");
        let page = get(&path);
        all.extend(page["items"].as_array().expect("a page has items").iter().cloned());
        match page["pagination"]["next_cursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => return all,
        }
    }
}
