//! The day-of-month and day-of-week fields.

use jiff::civil::{Date, date};

use super::*;

/// Every date from 2001 to 2028, which are all kinds of year, on which the two day fields fire.
fn matching_dates(of_month: &str, of_week: &str) -> Vec<Date> {
    let schedule = schedule(&format!("0 0 {of_month} * {of_week}"), "UTC");
    let occurrence = |after| Some(schedule.next_after(after, Millis::ZERO)?.at);
    std::iter::successors(occurrence(at("2000-12-31T00:00:00Z")), |&last| occurrence(last))
        .take_while(|&at_| at_ < at("2029-01-01T00:00:00Z"))
        .map(|time| time.to_string()[..10].parse().unwrap())
        .collect()
}

fn dates_where(matches: impl Fn(Date) -> bool) -> Vec<Date> {
    let end = date(2029, 1, 1);
    date(2001, 1, 1)
        .series(jiff::Span::new().days(1))
        .take_while(|d| *d < end)
        .filter(|d| matches(*d))
        .collect()
}

fn weekday(date: Date) -> i8 {
    date.weekday().to_sunday_zero_offset()
}

fn is_working_day(date: Date) -> bool {
    (1..=5).contains(&weekday(date))
}

/// The working day of the month at the smallest distance from `wanted`.
fn nearest_working_day(month: Date, wanted: i8) -> Option<Date> {
    let exists = wanted <= month.days_in_month();
    let days = (1..=month.days_in_month()).map(|day| date(month.year(), month.month(), day));
    days.filter(|day| exists && is_working_day(*day)).min_by_key(|day| (day.day() - wanted).abs())
}

#[test]
fn last_day_of_the_month() {
    assert_eq!(matching_dates("L", "*"), dates_where(|d| d == d.last_of_month()));
}

#[test]
fn last_working_day_of_the_month() {
    let expected = dates_where(|d| Some(d) == nearest_working_day(d, d.days_in_month()));
    assert_eq!(matching_dates("LW", "*"), expected);
}

#[test]
fn nearest_working_day_stays_in_the_month() {
    let months = dates_where(|d| d.day() == 1);
    for wanted in 1..=31 {
        let expected: Vec<Date> =
            months.iter().filter_map(|month| nearest_working_day(*month, wanted)).collect();
        assert_eq!(matching_dates(&format!("{wanted}W"), "*"), expected, "{wanted}W");
    }
}

#[test]
fn nth_and_last_weekday_of_the_month() {
    for day in 0..=7 {
        for nth in 1..=5 {
            let expected = dates_where(|d| weekday(d) == day % 7 && (d.day() - 1) / 7 + 1 == nth);
            assert_eq!(matching_dates("*", &format!("{day}#{nth}")), expected, "{day}#{nth}");
        }
        let expected = dates_where(|d| {
            weekday(d) == day % 7
                && d.saturating_add(jiff::Span::new().days(7)).month() != d.month()
        });
        assert_eq!(matching_dates("*", &format!("{day}L")), expected, "{day}L");
    }
}

#[test]
fn special_days_combine_in_lists() {
    let expected = dates_where(|d| {
        d.day() == 1 || d == d.last_of_month() || Some(d) == nearest_working_day(d, 15)
    });
    assert_eq!(matching_dates("1,15W,L", "*"), expected);
    let expected = dates_where(|d| {
        weekday(d) == 3
            || (weekday(d) == 1 && d.day() <= 7)
            || (weekday(d) == 5 && d.day() + 7 > d.days_in_month())
    });
    assert_eq!(matching_dates("*", "WED,MON#1,FRIL"), expected);
}

#[test]
fn either_day_field_may_match_when_both_are_restricted() {
    assert_eq!(matching_dates("13", "FRI"), dates_where(|d| d.day() == 13 || weekday(d) == 5));
    assert_eq!(matching_dates("1-7", "1"), dates_where(|d| d.day() <= 7 || weekday(d) == 1));
    assert_eq!(
        matching_dates("L", "0L"),
        dates_where(|d| {
            d == d.last_of_month() || (weekday(d) == 0 && d.day() + 7 > d.days_in_month())
        })
    );
}

#[test]
fn a_day_field_that_starts_with_a_star_narrows_the_other() {
    assert_eq!(matching_dates("*/2", "MON"), dates_where(|d| d.day() % 2 == 1 && weekday(d) == 1));
    assert_eq!(matching_dates("1-7", "*/2"), dates_where(|d| d.day() <= 7 && weekday(d) % 2 == 0));
    assert_eq!(matching_dates("*", "*"), dates_where(|_| true));
}
