//! Time zones of the IANA database.

use std::fmt;

use jiff::tz::TimeZone;

use super::error::CronError;

/// Longer than any name in the IANA database, but short enough for an error message.
const MAX_LENGTH: usize = 64;

/// A time zone with the rules that the IANA database had when it was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    name: Box<str>,
    pub(super) rules: TimeZone,
}

impl Zone {
    /// The zone of schedules that name none.
    pub fn utc() -> Zone {
        Zone { name: "UTC".into(), rules: TimeZone::UTC }
    }

    /// Accepts `UTC`, `Area/City` names and the aliases of UTC under `Etc/`. Names without a slash
    /// (`EST`, `GMT`, `Japan`) are rejected because many of them are abbreviations. `Etc/GMT+5` is
    /// rejected because it is a fixed offset with the opposite sign.
    pub fn parse(name: &str) -> Result<Zone, CronError> {
        if name == "UTC" {
            return Ok(Zone::utc());
        }
        check_form(name)?;
        let unknown = || CronError::ZoneUnknown(excerpt(name));
        let rules = TimeZone::get(name).map_err(|_| unknown())?;
        match rules.iana_name() {
            Some(_) if rules.is_unknown() => Err(unknown()),
            Some(known) if known == name => Ok(Zone { name: name.into(), rules }),
            Some(known) => {
                Err(CronError::ZoneMisspelled { given: excerpt(name), known: known.to_owned() })
            }
            None => Err(unknown()),
        }
    }

    /// The name as the IANA database spells it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Default for Zone {
    fn default() -> Zone {
        Zone::utc()
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// Rejects offsets, abbreviations and other names that the time zone database may contain.
fn check_form(name: &str) -> Result<(), CronError> {
    if name.is_empty() {
        return Err(CronError::ZoneEmpty);
    }
    if looks_like_offset(name) {
        return Err(CronError::ZoneIsOffset(excerpt(name)));
    }
    if !name.contains('/') {
        return Err(CronError::ZoneIsAbbreviation(excerpt(name)));
    }
    // `right/` counts leap seconds and `posix/` repeats the other names; neither is an IANA name.
    if name.len() > MAX_LENGTH || name.starts_with("right/") || name.starts_with("posix/") {
        return Err(CronError::ZoneUnknown(excerpt(name)));
    }
    Ok(())
}

fn looks_like_offset(name: &str) -> bool {
    let bare = name.strip_prefix("Etc/").unwrap_or(name);
    let signed = ["UTC", "GMT", "UT", ""]
        .iter()
        .filter_map(|prefix| bare.strip_prefix(prefix))
        .any(|rest| rest.starts_with(|c: char| matches!(c, '+' | '-' | '0'..='9')));
    signed || bare.starts_with('\u{2212}')
}

fn excerpt(name: &str) -> String {
    name.chars().take(MAX_LENGTH).collect()
}
