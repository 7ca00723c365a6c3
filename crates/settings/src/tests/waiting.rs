use super::Sources;

fn totals(flags: &[(&str, &str)]) -> Result<[usize; 3], String> {
    let settings = Sources { flags, ..Sources::default() }.resolve().map_err(|e| e.to_string())?;
    let caps = settings.waiting();
    Ok([caps.fetches, caps.enqueues, caps.streams].map(|cap| cap.total))
}

#[test]
fn by_default_requests_that_wait_leave_a_tenth_of_the_connections() {
    assert_eq!(totals(&[]), Ok([7_000, 1_000, 1_000]));
    assert_eq!(totals(&[("http.max_connections", "50")]), Ok([35, 5, 5]));
    let settings = Sources::default().resolve().unwrap();
    assert_eq!(settings.waiting().fetches.per_tenant, 700);
}

#[test]
fn more_waiting_requests_than_connections_are_refused() {
    let asked = [("limits.waiting_fetches", "8000")];
    let error = totals(&asked).unwrap_err();
    let named =
        ["limits.waiting_fetches = \"8000\"", "http.max_connections = \"10000\"", "nine tenths"];
    assert!(named.iter().all(|part| error.contains(part)), "{error}");
    let enough = [asked[0], ("http.max_connections", "20000")];
    assert_eq!(totals(&enough), Ok([8_000, 2_000, 2_000]));
    let shared = [asked[0], ("limits.waiting_enqueues", "500"), ("limits.event_streams", "500")];
    assert_eq!(totals(&shared), Ok([8_000, 500, 500]));
}
