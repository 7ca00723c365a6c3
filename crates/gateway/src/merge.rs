//! Putting the answers of several regions together. Pure functions.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

/// The answer to a heartbeat that went to several regions. A job is lost if all of them say so and all were asked.
pub(crate) fn heartbeats<'a>(answers: impl Iterator<Item = &'a Value>, all_asked: bool) -> Value {
    const STATES: [&str; 3] = ["running", "quiet", "terminate"];
    let ids = |answer: &Value, member: &str| -> BTreeSet<String> {
        let listed = answer.get(member).and_then(Value::as_array);
        let ids = listed.into_iter().flatten().filter_map(Value::as_str);
        ids.map(str::to_owned).collect()
    };
    let mut merged = Map::new();
    let (mut extended, mut cancelled) = (BTreeSet::new(), BTreeSet::new());
    let mut lost: Option<BTreeSet<String>> = None;
    let mut state = 0;
    for answer in answers {
        let named = answer.get("state").and_then(Value::as_str);
        let at = STATES.iter().position(|known| Some(*known) == named).unwrap_or(0);
        state = state.max(at);
        extended.extend(ids(answer, "jobs_extended"));
        cancelled.extend(ids(answer, "jobs_cancelled"));
        let here = ids(answer, "jobs_lost");
        lost = Some(match lost {
            Some(lost) => lost.intersection(&here).cloned().collect(),
            None => here,
        });
        if let Some(members) = answer.as_object() {
            for (name, value) in members {
                merged.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }
    let lost = lost.filter(|_| all_asked).unwrap_or_default();
    merged.insert("state".to_owned(), STATES[state].into());
    merged.insert("jobs_extended".to_owned(), json!(extended));
    merged.insert("jobs_cancelled".to_owned(), json!(cancelled));
    merged.insert("jobs_lost".to_owned(), json!(lost));
    Value::Object(merged)
}

/// Where each region's list goes on.
pub(crate) struct Cursors;

impl Cursors {
    /// The cursor of the merged list; `None` if no region's list goes on.
    pub fn next(by_region: &BTreeMap<String, String>) -> Option<String> {
        let json = serde_json::to_vec(by_region).expect("strings are JSON");
        (!by_region.is_empty()).then(|| URL_SAFE_NO_PAD.encode(json))
    }

    fn parse(text: &str) -> Option<BTreeMap<String, String>> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
    }
}

/// The query of a list.
pub(crate) struct PageQuery {
    others: Vec<String>,
    cursors: Option<BTreeMap<String, String>>,
}

impl PageQuery {
    pub fn parse(query: &str) -> Result<Self, String> {
        let (mut others, mut cursors) = (Vec::new(), None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("cursor", text)) => {
                    let parsed = Cursors::parse(text);
                    cursors =
                        Some(parsed.ok_or("'cursor' is not one that a gateway has given out.")?);
                }
                Some(("page", "1") | ("offset", "0")) => {}
                Some((name @ ("page" | "offset"), _)) => {
                    return Err(format!("'{name}' does not work across regions."));
                }
                _ => others.push(pair.to_owned()),
            }
        }
        Ok(Self { others, cursors })
    }

    /// The regions that the page is made of, with their cursors.
    pub fn regions(&self, all: &[String]) -> Vec<(String, Option<String>)> {
        match &self.cursors {
            None => all.iter().map(|region| (region.clone(), None)).collect(),
            Some(cursors) => {
                let here = all.iter().filter_map(|region| cursors.get_key_value(region));
                here.map(|(region, cursor)| (region.clone(), Some(cursor.clone()))).collect()
            }
        }
    }

    pub fn path(&self, path: &str, cursor: Option<&str>) -> String {
        let mut pairs = self.others.clone();
        pairs.extend(cursor.map(|cursor| format!("cursor={cursor}")));
        match pairs.is_empty() {
            true => path.to_owned(),
            false => format!("{path}?{}", pairs.join("&")),
        }
    }
}

/// Lists of several regions as one. Every item gets its region. `total` is there if every region knows its own.
pub(crate) fn lists(
    by_region: BTreeMap<String, Value>,
    unknown: &[String],
    next: impl Fn(&BTreeMap<String, String>) -> Option<String>,
) -> Value {
    let mut merged: Map<String, Value> = Map::new();
    let mut cursors = BTreeMap::new();
    let mut total = Some(0);
    for (region, list) in by_region {
        let Value::Object(members) = list else { continue };
        let pagination = members.get("pagination").cloned().unwrap_or_default();
        let of_page = |name: &str| pagination.get(name).or_else(|| members.get(name)).cloned();
        if let Some(Value::String(cursor)) = of_page("next_cursor") {
            cursors.insert(region.clone(), cursor);
        }
        total = total.zip(of_page("total").and_then(|total| total.as_u64())).map(|(a, b)| a + b);
        for (name, value) in members {
            let Value::Array(items) = value else { continue };
            let named = items.into_iter().map(|mut item| {
                if let Some(item) = item.as_object_mut() {
                    item.insert("region".to_owned(), region.clone().into());
                }
                item
            });
            let list = merged.entry(name).or_insert_with(|| json!([]));
            if let Value::Array(list) = list {
                list.extend(named);
            }
        }
    }
    let next = next(&cursors);
    let total = total.filter(|_| unknown.is_empty());
    merged.insert(
        "pagination".to_owned(),
        json!({
            "has_more": next.is_some(), "next_cursor": next,
            "total": total, "total_known": total.is_some(),
        }),
    );
    merged.insert("regions_unknown".to_owned(), json!(unknown));
    Value::Object(merged)
}

/// Figures of several regions as one: whole numbers are added up, and what differs otherwise is left out. Each region's
/// own figures are in `regions`; a region that could not be asked is `null` there.
pub(crate) fn figures(by_region: BTreeMap<String, Value>, unknown: &[String]) -> Value {
    let mut sum: Option<Value> = None;
    for figures in by_region.values() {
        sum = Some(match sum {
            Some(sum) => added(sum, figures),
            None => figures.clone(),
        });
    }
    let mut merged = match sum {
        Some(Value::Object(merged)) => merged,
        _ => Map::new(),
    };
    let mut regions: Map<String, Value> = by_region.into_iter().collect();
    regions.extend(unknown.iter().map(|region| (region.clone(), Value::Null)));
    merged.insert("regions".to_owned(), Value::Object(regions));
    merged.insert("regions_unknown".to_owned(), json!(unknown));
    Value::Object(merged)
}

fn added(one: Value, other: &Value) -> Value {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut sum = Map::new();
            for (name, value) in one {
                match other.get(&name) {
                    Some(also) => drop(sum.insert(name, added(value, also))),
                    None => drop(sum.insert(name, value)),
                }
            }
            for (name, value) in other {
                sum.entry(name.clone()).or_insert_with(|| value.clone());
            }
            Value::Object(sum)
        }
        (Value::Number(one), Value::Number(other)) => match (one.as_u64(), other.as_u64()) {
            (Some(one), Some(other)) => json!(one.saturating_add(other)),
            _ => Value::Null,
        },
        (one, other) if one == *other => one,
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_region<const N: usize>(answers: [(&str, Value); N]) -> BTreeMap<String, Value> {
        answers.into_iter().map(|(region, answer)| (region.to_owned(), answer)).collect()
    }

    #[test]
    fn a_job_is_lost_only_if_nobody_knows_it() {
        let eu = json!({"state": "running", "jobs_extended": ["a"], "jobs_lost": ["b", "c"]});
        let us = json!({"state": "quiet", "jobs_extended": ["b"], "jobs_lost": ["a", "c"],
            "jobs_cancelled": ["d"]});
        let merged = heartbeats([&eu, &us].into_iter(), true);
        assert_eq!(merged["state"], "quiet");
        assert_eq!(merged["jobs_extended"], json!(["a", "b"]));
        assert_eq!(merged["jobs_lost"], json!(["c"]));
        assert_eq!(merged["jobs_cancelled"], json!(["d"]));
        assert_eq!(heartbeats([&eu].into_iter(), false)["jobs_lost"], json!([]));
    }

    #[test]
    fn lists_name_their_regions_and_go_on_in_each() {
        let page = |name: &str, cursor: Option<&str>| json!({"queues": [{"name": name}], "pagination": {"next_cursor": cursor, "total": 2}});
        let lists = lists(
            by_region([("eu", page("a", Some("x"))), ("us", page("b", None))]),
            &[],
            Cursors::next,
        );
        assert_eq!(lists["queues"][1], json!({"name": "b", "region": "us"}));
        assert_eq!(lists["pagination"]["total"], 4);
        let cursor = lists["pagination"]["next_cursor"].as_str().unwrap();
        let query = PageQuery::parse(&format!("limit=1&cursor={cursor}")).unwrap();
        let all = ["eu".to_owned(), "us".to_owned()];
        assert_eq!(query.regions(&all), [("eu".to_owned(), Some("x".to_owned()))]);
        assert_eq!(query.path("/q", Some("x")), "/q?limit=1&cursor=x");
    }

    #[test]
    fn a_region_that_was_not_asked_is_unknown_and_not_empty() {
        let one = json!({"queues": [], "pagination": {"total": 0}});
        let merged = lists(by_region([("eu", one)]), &["us".to_owned()], Cursors::next);
        assert_eq!(merged["regions_unknown"], json!(["us"]));
        assert_eq!(merged["pagination"]["total"], Value::Null);
        let merged = figures(by_region([("eu", json!({"jobs": 1}))]), &["us".to_owned()]);
        assert_eq!(merged["regions"], json!({"eu": {"jobs": 1}, "us": null}));
    }

    #[test]
    fn counts_are_added_and_averages_are_not() {
        let eu = json!({"jobs": {"active": 1}, "avg_ms": 1.5, "name": "q", "since": "a"});
        let us =
            json!({"jobs": {"active": 2, "dead": 3}, "avg_ms": 2.5, "name": "q", "since": "b"});
        let merged = figures(by_region([("eu", eu), ("us", us)]), &[]);
        assert_eq!(merged["jobs"], json!({"active": 3, "dead": 3}));
        assert_eq!(
            (&merged["avg_ms"], &merged["name"], &merged["since"]),
            (&Value::Null, &json!("q"), &Value::Null)
        );
    }

    #[test]
    fn pages_by_number_are_refused() {
        assert!(PageQuery::parse("page=2").is_err());
        assert!(PageQuery::parse("page=1&limit=5").is_ok());
        assert!(PageQuery::parse("cursor=abc").is_err());
    }
}
