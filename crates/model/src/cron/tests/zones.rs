//! Valid and invalid time zones.

use super::*;

#[test]
fn accepts_iana_names() {
    for name in [
        "UTC",
        "America/New_York",
        "America/Los_Angeles",
        "Europe/London",
        "Europe/Berlin",
        "Asia/Tokyo",
        "Asia/Kolkata",
        "Australia/Sydney",
        "Pacific/Auckland",
        "America/Argentina/Buenos_Aires",
        "America/Port-au-Prince",
        "US/Eastern",
        "Etc/UTC",
        "Etc/GMT",
        "Etc/Zulu",
    ] {
        assert_eq!(Zone::parse(name).unwrap().name(), name);
    }
    assert_eq!(Zone::default().to_string(), "UTC");
}

#[test]
fn rejects_offsets() {
    for name in [
        "+05:00",
        "-08:00",
        "\u{2212}08:00",
        "UTC+5",
        "UTC-5",
        "GMT+1",
        "GMT0",
        "0",
        "05:30",
        "Etc/GMT+5",
        "Etc/GMT-14",
        "Etc/GMT0",
    ] {
        assert_eq!(Zone::parse(name), Err(CronError::ZoneIsOffset(name.to_owned())));
    }
}

#[test]
fn rejects_abbreviations_and_legacy_names() {
    for name in
        ["EST", "PST", "CST", "CET", "GMT", "Z", "utc", "EST5EDT", "Japan", "Local", "Factory"]
    {
        assert_eq!(Zone::parse(name), Err(CronError::ZoneIsAbbreviation(name.to_owned())));
    }
}

#[test]
fn rejects_what_the_database_does_not_have() {
    for name in [
        "Mars/Olympus_Mons",
        "America/Atlantis",
        "America/",
        "/",
        "Etc/Unknown",
        "right/America/New_York",
        "posix/America/New_York",
        "../../etc/localtime",
        "America/New_York ",
        "America/New\0York",
    ] {
        assert_eq!(Zone::parse(name), Err(CronError::ZoneUnknown(name.to_owned())));
    }
    assert_eq!(Zone::parse(""), Err(CronError::ZoneEmpty));
    let endless = "Area/".repeat(1_000);
    assert_eq!(Zone::parse(&endless), Err(CronError::ZoneUnknown(endless[..64].to_owned())));
}

#[test]
fn rejects_other_spellings_and_says_the_right_one() {
    let error = Zone::parse("america/new_york").unwrap_err().to_string();
    assert!(error.contains("\"America/New_York\""), "{error}");
}
