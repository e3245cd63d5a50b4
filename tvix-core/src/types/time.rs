//! Moments, days, ranges of both, and the clock.

use std::{fmt, str::FromStr};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

const DATE_HINT: &str = "send an ISO 8601 date such as 2026-11-30 or 2026-11-30T18:00:00Z";

/// A moment, in milliseconds since 1970-01-01T00:00:00Z. Printed as `2026-11-30T18:00:00.000Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `millis` after 1970-01-01T00:00:00Z, drawn to the ends of the calendar
    /// (years -9999 to 9999) when it lies outside.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(
            jiff::Timestamp::MIN.as_second() * 1000,
            jiff::Timestamp::MAX.as_second() * 1000,
        ))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// This moment as the date library sees it.
    pub fn to_jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }
}

impl From<jiff::Timestamp> for Timestamp {
    /// Parts of a millisecond are cut towards the past.
    fn from(moment: jiff::Timestamp) -> Self {
        Self(moment.as_nanosecond().div_euclid(1_000_000) as i64)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.to_jiff())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        jiff::Timestamp::deserialize(deserializer).map(Self::from)
    }
}

/// An IANA time zone, known by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeZone(jiff::tz::TimeZone);

impl TimeZone {
    /// UTC.
    pub const UTC: Self = Self(jiff::tz::TimeZone::UTC);

    /// The zone called `name`, such as `Europe/Paris`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `timezone` when there is none of that name.
    pub fn named(name: &str) -> Result<Self> {
        if name.eq_ignore_ascii_case("utc") || name == "Z" {
            return Ok(Self::UTC);
        }
        jiff::tz::TimeZone::get(name.trim()).map(Self).map_err(|_| {
            let shown: String = name.chars().take(60).collect();
            let reason = "send the IANA name of a time zone such as America/Los_Angeles";
            Error::invalid("timezone", format_args!("got {shown:?}, {reason}"))
        })
    }

    /// The zone's name.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Local date (`2025-01-15`) and time (`11:30:00`) at `moment`.
    pub fn local(&self, moment: Timestamp) -> (String, String) {
        let local = moment.to_jiff().to_zoned_datetime(self.0.clone());
        (local.date().to_string(), local.strftime("%H:%M:%S").to_string())
    }

    fn date(&self, moment: Timestamp) -> Date {
        moment.to_jiff().to_zoned_datetime(self.0.clone()).date()
    }

    /// First and last millisecond of `date`; days of 23 and 25 hours are right.
    fn day(&self, date: Date) -> (Timestamp, Timestamp) {
        let start = |date: Date| {
            date.to_zoned_datetime(self.0.clone())
                .map_or_else(|_| start_in_utc(date), |z| z.timestamp().into())
        };
        let next = date.tomorrow().map_or(Timestamp::from_millis(i64::MAX), start);
        (start(date), Timestamp::from_millis(next.as_millis().saturating_sub(1)))
    }
}

fn start_in_utc(date: Date) -> Timestamp {
    match date.to_zoned_datetime(jiff::tz::TimeZone::UTC) {
        Ok(zoned) => zoned.timestamp().into(),
        // The first and the last day of the calendar reach beyond the range of moments.
        Err(_) if date.year() < 0 => Timestamp::from_millis(i64::MIN),
        Err(_) => Timestamp::from_millis(i64::MAX),
    }
}

/// When something happened: at a moment, or on a day that stays a bare date and means its whole day
/// in the time zone of whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventTime {
    /// At this moment.
    At(Timestamp),
    /// Somewhere on this day.
    On(Date),
}

impl EventTime {
    /// Reads the argument `field`: a date, or a date and time; one without offset is in `zone`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `field` when `text` is neither, or no such day exists.
    pub fn parse(field: &str, text: &str, zone: &TimeZone) -> Result<Self> {
        parse(text.trim(), zone).ok_or_else(|| {
            let shown: String = text.chars().take(60).collect();
            Error::invalid(field, format_args!("got {shown:?}, {DATE_HINT}"))
        })
    }

    /// Where this stands in a list by time; a day counts from its first moment in UTC.
    pub fn order(self) -> Timestamp {
        match self {
            Self::At(moment) => moment,
            Self::On(date) => start_in_utc(date),
        }
    }

    /// Its day as people write it, in UTC for a moment, so that a search for "May 2023" finds it.
    pub fn words(self) -> String {
        let date = match self {
            Self::At(moment) => TimeZone::UTC.date(moment),
            Self::On(date) => date,
        };
        date.strftime("%Y-%m-%d %A %-d %B %Y").to_string()
    }
}

fn parse(text: &str, zone: &TimeZone) -> Option<EventTime> {
    // A date alone is at most `-009999-12-31`; the date library would read a day out of more.
    if text.len() <= 13 && !text.contains(['T', 't', ' ']) {
        return text.parse().ok().map(EventTime::On);
    }
    let moment = if text.contains('[') {
        text.parse::<jiff::ZonedDateTime>().ok().map(|zoned| zoned.timestamp().into())
    } else {
        text.parse::<jiff::Timestamp>().ok().map(Timestamp::from).or_else(|| local(text, zone))
    };
    moment.map(EventTime::At)
}

/// The moment of a date and time in `zone`. The last hours of the calendar lie beyond the range of
/// moments and are its end, since people write them for "for ever".
fn local(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let local: jiff::civil::DateTime = text.trim_end_matches(['Z', 'z']).parse().ok()?;
    match local.to_zoned_datetime(zone.0.clone()) {
        Ok(zoned) if text.ends_with(|c: char| c.is_ascii_digit()) => Some(zoned.timestamp().into()),
        _ if local.date() >= Date::constant(9999, 12, 30) => Some(Timestamp::from_millis(i64::MAX)),
        _ => None,
    }
}

impl fmt::Display for EventTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(moment) => moment.fmt(f),
            Self::On(date) => date.fmt(f),
        }
    }
}

impl FromStr for EventTime {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse("event_time", text, &TimeZone::UTC)
    }
}

impl Serialize for EventTime {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EventTime {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A range of time, both ends inclusive, for moments and for bare days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRange {
    /// The first moment inside.
    pub from: Timestamp,
    /// The last moment inside.
    pub to: Timestamp,
    /// The first day that has a moment inside, in the zone of the query.
    pub first_day: Date,
    /// The last such day.
    pub last_day: Date,
}

impl TimeRange {
    /// The range from `date_from` to `date_to`, each a date or a date and time as text; a bare date
    /// covers its whole day in `zone`. `None` when both are absent.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `date_from` or `date_to` when one cannot be read, or
    /// `date_from` when it lies after `date_to`.
    pub fn parse(
        date_from: Option<&str>,
        date_to: Option<&str>,
        zone: &TimeZone,
    ) -> Result<Option<Self>> {
        let bound = |field, text: Option<&str>| {
            text.map(|text| EventTime::parse(field, text, zone)).transpose()
        };
        let (from, to) = (bound("date_from", date_from)?, bound("date_to", date_to)?);
        if from.is_none() && to.is_none() {
            return Ok(None);
        }
        let range = Self::new(from, to, zone);
        let swapped = match (from, to) {
            (Some(EventTime::On(first)), Some(EventTime::On(last))) => first > last,
            _ => range.from > range.to,
        };
        if swapped {
            let shown = (date_from.unwrap_or_default(), date_to.unwrap_or_default());
            let reason = format!("got {}, which is after date_to {}; swap them", shown.0, shown.1);
            return Err(Error::invalid("date_from", reason));
        }
        Ok(Some(range))
    }

    /// The range between two bounds, either of which may be open.
    pub fn new(from: Option<EventTime>, to: Option<EventTime>, zone: &TimeZone) -> Self {
        let (from, first_day) = match from {
            None => (Timestamp::from_millis(i64::MIN), Date::MIN),
            Some(EventTime::At(moment)) => (moment, zone.date(moment)),
            Some(EventTime::On(date)) => (zone.day(date).0, date),
        };
        let (to, last_day) = match to {
            None => (Timestamp::from_millis(i64::MAX), Date::MAX),
            Some(EventTime::At(moment)) => (moment, zone.date(moment)),
            Some(EventTime::On(date)) => (zone.day(date).1, date),
        };
        Self { from, to, first_day, last_day }
    }

    /// Whether `time` lies inside; a bare day does when any moment of it does.
    pub fn contains(&self, time: EventTime) -> bool {
        match time {
            EventTime::At(moment) => (self.from..=self.to).contains(&moment),
            EventTime::On(date) => (self.first_day..=self.last_day).contains(&date),
        }
    }
}

/// Tells the time. Replaced in tests.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The current moment.
    fn now(&self) -> Timestamp;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[cfg(feature = "seeded")]
        if let Some(moment) = super::seeded::now() {
            return moment;
        }
        jiff::Timestamp::now().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: &str, to: &str, zone: &str) -> TimeRange {
        let zone = TimeZone::named(zone).expect("zone");
        TimeRange::parse(Some(from), Some(to), &zone).expect("dates").expect("a range")
    }

    fn inside(range: &TimeRange, times: &[(&str, bool)]) {
        for (time, expected) in times {
            assert_eq!(range.contains(time.parse().expect(time)), *expected, "{time} in {range:?}");
        }
    }

    #[test]
    fn both_ends_of_a_day_are_inside() {
        inside(
            &range("2031-03-10", "2031-03-10", "UTC"),
            &[
                ("2031-03-09T23:59:59.999Z", false),
                ("2031-03-10T00:00:00.000Z", true),
                ("2031-03-10T23:59:59.999Z", true),
                ("2031-03-11T00:00:00Z", false),
                ("2031-03-10", true),
                ("2031-03-11", false),
            ],
        );
    }

    #[test]
    fn days_of_23_and_25_hours_are_whole() {
        inside(
            &range("2026-03-08", "2026-03-08", "America/New_York"),
            &[
                ("2026-03-08T04:59:59Z", false),
                ("2026-03-08T05:00:00Z", true),
                ("2026-03-09T03:59:59Z", true),
                ("2026-03-09T04:00:00Z", false),
            ],
        );
        inside(
            &range("2026-11-01", "2026-11-01", "America/New_York"),
            &[
                ("2026-11-01T04:00:00Z", true),
                ("2026-11-02T04:59:59Z", true),
                ("2026-11-02T05:00:00Z", false),
            ],
        );
    }

    #[test]
    fn a_bare_day_means_its_whole_day_in_the_zone_of_the_query() {
        for zone in ["Asia/Kolkata", "America/Los_Angeles", "UTC"] {
            inside(
                &range("2031-04-15", "2031-04-15", zone),
                &[("2031-04-14", false), ("2031-04-15", true), ("2031-04-16", false)],
            );
        }
        inside(
            &range("2031-04-15T23:30:00Z", "2031-04-15T23:40:00Z", "Asia/Kolkata"),
            &[("2031-04-15", false), ("2031-04-16", true)],
        );
    }

    #[test]
    fn days_at_the_ends_of_the_calendar_keep_their_order() {
        let days = ["-9999-01-01", "0001-01-01", "1970-01-01", "9999-12-30", "9999-12-31"];
        let order: Vec<Timestamp> = days
            .iter()
            .map(|day| day.replace("-9999", "-009999").parse::<EventTime>().expect(day).order())
            .collect();
        assert!(order.is_sorted() && order[0] < order[1] && order[2] < order[4], "{order:?}");
    }

    #[test]
    fn the_ends_of_the_calendar_are_no_trap() {
        inside(
            &range("9999-12-31", "9999-12-31", "UTC"),
            &[("9999-12-31", true), ("2026-11-30", false)],
        );
        inside(&range("2026-01-01", "9999-12-31T23:59:59Z", "UTC"), &[("2026-11-30", true)]);
        for zone in ["UTC", "Pacific/Auckland", "America/Los_Angeles"] {
            let now = [("2026-11-30T12:00:00Z", true), ("2026-11-30", true)];
            inside(&range("0001-01-01", "9999-12-30", zone), &now);
        }
    }

    #[test]
    fn a_day_that_a_zone_left_out_is_empty() {
        let skipped = range("2011-12-30", "2011-12-30", "Pacific/Apia");
        inside(&skipped, &[("2011-12-30T09:59:59Z", false), ("2011-12-30T10:00:00Z", false)]);
    }

    #[test]
    fn a_zone_in_brackets_counts() {
        let time =
            |text: &str| EventTime::parse("date_to", text, &TimeZone::UTC).map(|t| t.to_string());
        assert_eq!(
            time("2026-03-09T10:00:00[America/New_York]").ok().as_deref(),
            Some("2026-03-09T14:00:00.000Z")
        );
        assert!(time("2026-03-09T10:00[Nowhere/X]").is_err());
    }

    #[test]
    fn what_is_no_date_is_refused_by_name() {
        let wrong = ["yesterday", "2031-02-30", "", "2031", "12/31/2031", "2031-13-01T00:00:00Z"];
        for text in wrong {
            let error = EventTime::parse("date_to", text, &TimeZone::UTC).expect_err(text);
            assert!(error.to_string().starts_with("date_to: got "), "{error}");
        }
        let swapped = TimeRange::parse(Some("2031-05-02"), Some("2031-05-01"), &TimeZone::UTC);
        assert!(swapped.is_err_and(|error| error.to_string().starts_with("date_from: ")));
        assert!(TimeZone::named("Mars/Olympus").is_err());
    }

    #[test]
    fn local_times_are_in_the_zone_given() {
        let zone = TimeZone::named("Asia/Tokyo").expect("zone");
        let time = EventTime::parse("date_from", "2025-01-15T11:30:00", &zone).expect("time");
        assert_eq!(time.to_string(), "2025-01-15T02:30:00.000Z");
        let moment = time.order();
        assert_eq!(zone.local(moment), ("2025-01-15".to_owned(), "11:30:00".to_owned()));
    }

    #[test]
    fn any_number_of_milliseconds_is_a_moment() {
        for millis in [i64::MIN, -1, 0, 1, i64::MAX] {
            let moment = Timestamp::from_millis(millis);
            let json = serde_json::to_string(&moment).expect("json");
            assert_eq!(serde_json::from_str::<Timestamp>(&json).expect(&json), moment);
        }
    }
}
