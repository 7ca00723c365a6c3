//! Parses the error that a worker reports with a nack.

use rota_engine::{Failure, HandlerCode};
use rota_model::{Millis, Rejection, json};
use serde_json::value::RawValue;

use super::body::member;

/// The most frames of a backtrace that are stored.
const MAX_FRAMES: usize = 50;
/// The most bytes of a backtrace that are stored.
const MAX_BACKTRACE_BYTES: usize = 10_000;

/// Normalizes an error for storage: `type`, `code`, `message` and `retryable` are always present,
/// whichever of them the worker sent.
pub(super) fn parse(raw: &RawValue, max_bytes: usize) -> Result<Failure, Rejection> {
    if !raw.get().starts_with('{') {
        return Err(Rejection::field(
            "error",
            "must be an object with 'message' and 'code' or 'type'",
        ));
    }
    if raw.get().len() > max_bytes {
        let text = format!("has {} bytes; at most {max_bytes} are kept", raw.get().len());
        return Err(Rejection::too_large(format!("'error' {text}"))
            .hint("Shorten the message, the details or the backtrace."));
    }
    let members = json::members(raw.get(), "'error'")?;
    let code = text(&members, "code")?;
    let class = member(&members, "details").and_then(error_class);
    let kind = text(&members, "type")?.or(class).or_else(|| code.clone());
    let kind = kind.unwrap_or_else(|| "handler_error".to_owned());
    let retryable = match member(&members, "retryable") {
        Some(raw) => serde_json::from_str(raw.get())
            .map_err(|_| Rejection::field("error.retryable", "must be true or false"))?,
        None => true,
    };
    let message = text(&members, "message")?.unwrap_or_default();
    let limited_until = limited_until(&members)?;
    let mut out = Vec::with_capacity(raw.get().len() + 64);
    write(&mut out, "type", |out| json::write_str(out, &kind));
    write(&mut out, "code", |out| json::write_str(out, code.as_deref().unwrap_or("handler_error")));
    write(&mut out, "message", |out| json::write_str(out, &message));
    write(&mut out, "retryable", |out| out.extend_from_slice(retryable.to_string().as_bytes()));
    for (key, value) in &members {
        match &**key {
            "type" | "code" | "message" | "retryable" => {}
            // Only the server sets these.
            "attempt" | "timestamp" | "occurred_at" | "retry_delay_ms" => {}
            "rate_limit_until" if limited_until.is_some() => {
                let time = limited_until.unwrap_or_default().to_string();
                write(&mut out, key, |out| json::write_str(out, &time));
            }
            "backtrace" => write(&mut out, key, |out| out.extend_from_slice(&backtrace(value))),
            _ => write(&mut out, key, |out| out.extend_from_slice(value.get().as_bytes())),
        }
    }
    let handler_code = match code.as_deref() {
        Some("RETRY") => Some(HandlerCode::Retry),
        Some("DISCARD" | "FAIL") => Some(HandlerCode::Discard),
        Some("DEAD_LETTER") => Some(HandlerCode::DeadLetter),
        _ => None,
    };
    Ok(Failure {
        kind: kind.into(),
        code: handler_code,
        retryable,
        limited_until,
        json: out.into(),
    })
}

/// `rate_limit_until`: when the rate limit of another service, which the handler has hit, ends.
fn limited_until(members: &json::Members<'_>) -> Result<Option<Millis>, Rejection> {
    let field = "error.rate_limit_until";
    let Some(raw) = member(members, "rate_limit_until").filter(|raw| raw.get() != "null") else {
        return Ok(None);
    };
    let expected = || Rejection::field(field, "must be a time such as 2026-02-13T12:05:00Z");
    let text: String = serde_json::from_str(raw.get()).map_err(|_| expected())?;
    Ok(Some(Millis::parse_rfc3339(&text).map_err(|_| expected())?))
}

fn text(members: &json::Members<'_>, name: &'static str) -> Result<Option<String>, Rejection> {
    let Some(raw) = member(members, name) else { return Ok(None) };
    serde_json::from_str(raw.get())
        .map(Some)
        .map_err(|_| Rejection::field(format!("error.{name}"), "must be a string"))
}

fn error_class(details: &RawValue) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Details {
        error_class: Option<String>,
    }
    serde_json::from_str::<Details>(details.get()).ok()?.error_class
}

fn backtrace(raw: &RawValue) -> Vec<u8> {
    let Ok(frames) = serde_json::from_str::<Vec<String>>(raw.get()) else {
        return raw.get().as_bytes().to_vec();
    };
    let mut bytes_left = MAX_BACKTRACE_BYTES;
    let fits = |frame: &String| {
        let fits = frame.len() <= bytes_left;
        bytes_left = bytes_left.saturating_sub(frame.len());
        fits
    };
    let kept: Vec<String> = frames.into_iter().take(MAX_FRAMES).take_while(fits).collect();
    serde_json::to_vec(&kept).expect("strings are plain data")
}

fn write(out: &mut Vec<u8>, key: &str, value: impl FnOnce(&mut Vec<u8>)) {
    if !out.is_empty() {
        out.push(b',');
    }
    json::write_str(out, key);
    out.push(b':');
    value(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(error: &Value) -> Result<(Failure, Value), Rejection> {
        let raw = RawValue::from_string(error.to_string()).unwrap();
        let failure = parse(&raw, 65_536)?;
        let text = format!("{{{}}}", std::str::from_utf8(&failure.json).unwrap());
        let shown = serde_json::from_str(&text).unwrap();
        Ok((failure, shown))
    }

    #[test]
    fn the_type_is_found_wherever_it_is() {
        let kind = |error: Value| read(&error).unwrap().0.kind.to_string();
        assert_eq!(kind(json!({"type": "A", "code": "b", "message": "m"})), "A");
        assert_eq!(kind(json!({"code": "b", "details": {"error_class": "C"}})), "C");
        assert_eq!(kind(json!({"code": "b", "message": "m"})), "b");
        assert_eq!(kind(json!({"message": "m"})), "handler_error");
    }

    #[test]
    fn server_members_cannot_be_forged_and_others_are_kept() {
        let error = json!({"message": "m", "attempt": 9, "occurred_at": "x", "extra": [1]});
        let (_, shown) = read(&error).unwrap();
        assert_eq!(
            shown,
            json!({"type": "handler_error", "code": "handler_error", "message": "m",
            "retryable": true, "extra": [1]})
        );
    }

    #[test]
    fn handler_codes_are_understood() {
        for (word, code) in [
            ("RETRY", Some(HandlerCode::Retry)),
            ("DISCARD", Some(HandlerCode::Discard)),
            ("FAIL", Some(HandlerCode::Discard)),
            ("DEAD_LETTER", Some(HandlerCode::DeadLetter)),
            ("handler_error", None),
        ] {
            assert_eq!(read(&json!({"code": word})).unwrap().0.code, code, "{word}");
        }
    }

    #[test]
    fn long_backtraces_are_cut() {
        let frames: Vec<String> = (0..80).map(|n| format!("frame {n}")).collect();
        let (_, shown) = read(&json!({"message": "m", "backtrace": frames})).unwrap();
        assert_eq!(shown["backtrace"].as_array().unwrap().len(), MAX_FRAMES);
        let (_, shown) =
            read(&json!({"backtrace": ["x".repeat(9_000), "y".repeat(2_000)]})).unwrap();
        assert_eq!(shown["backtrace"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn wrong_shapes_are_refused() {
        for bad in [json!("boom"), json!({"message": 5}), json!({"retryable": "no"}), json!(null)] {
            assert!(read(&bad).is_err(), "{bad}");
        }
        assert!(read(&json!({"message": "x".repeat(70_000)})).is_err());
    }
}
