//! A filter as callers write it: names and dates as text.

use crate::{
    Result,
    storage::{Filter, Kind, ScopeFilter},
    types::{ProjectName, ProjectSlug, SourceKey, TimeRange, TimeZone},
};

/// What a [`Filter`] is made from: names and dates as a person or program writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Criteria {
    /// Only this project: any spelling of a slug for memories, a name for the wiki, where
    /// [`BASIC`](crate::types::BASIC) asks for documents without a Project.
    pub project: Option<String>,
    /// Only what comes from one of these; empty: from anywhere.
    pub sources: Vec<String>,
    /// Not before this date, or date and time.
    pub date_from: Option<String>,
    /// Not after it.
    pub date_to: Option<String>,
    /// The IANA time zone of dates without one.
    pub timezone: Option<String>,
}

impl Criteria {
    /// The filter for records of `kind`. `zone` is asked for the time zone of dates without one when
    /// the criteria name none.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) naming the field at fault; what `zone` reports.
    pub fn filter(&self, kind: Kind, zone: impl FnOnce() -> Result<TimeZone>) -> Result<Filter> {
        let scope = self.project.as_deref().map(|name| scope(kind, name)).transpose()?;
        Ok(Filter {
            scope: scope.unwrap_or_default(),
            sources: self.sources.iter().map(|name| SourceKey::of(name)).collect(),
            time: self.time(zone)?,
        })
    }

    fn time(&self, zone: impl FnOnce() -> Result<TimeZone>) -> Result<Option<TimeRange>> {
        let named = self.timezone.as_deref().map(TimeZone::named).transpose()?;
        let (from, to) = (self.date_from.as_deref(), self.date_to.as_deref());
        if from.or(to).is_none() {
            return Ok(None);
        }
        TimeRange::parse(from, to, &named.map_or_else(zone, Ok)?)
    }
}

fn scope(kind: Kind, name: &str) -> Result<ScopeFilter> {
    Ok(match kind {
        Kind::Memory => ScopeFilter::Only(ProjectSlug::new(name)?.into()),
        Kind::Wiki => ProjectName::new(name)?
            .scope()
            .map_or(ScopeFilter::Unscoped, |scope| ScopeFilter::Only(scope.key)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_project(name: &str, kind: Kind) -> Option<ScopeFilter> {
        let criteria = Criteria { project: Some(name.into()), ..Criteria::default() };
        criteria.filter(kind, || Ok(TimeZone::UTC)).ok().map(|filter| filter.scope)
    }

    #[test]
    fn a_project_is_a_slug_of_memories_and_a_name_in_the_wiki() {
        let only = |key: &str| Some(ScopeFilter::Only(key.to_owned()));
        assert_eq!(in_project("Acme Rewrite", Kind::Memory), only("acme-rewrite"));
        assert_eq!(in_project("Acme Rewrite", Kind::Wiki), only("acme rewrite"));
        assert_eq!(in_project("basic", Kind::Wiki), Some(ScopeFilter::Unscoped));
        assert_eq!(in_project(" ", Kind::Memory), None);
    }

    #[test]
    fn the_zone_is_asked_for_only_when_a_date_needs_it() {
        let unknown = || TimeZone::named("Mars/Olympus");
        let dated = Criteria { date_from: Some("2031-04-15".into()), ..Criteria::default() };
        assert!(Criteria::default().filter(Kind::Memory, unknown).is_ok());
        assert!(dated.filter(Kind::Memory, unknown).is_err());
        let zoned = Criteria { timezone: Some("Asia/Tokyo".into()), ..dated };
        let time = zoned.filter(Kind::Memory, unknown).expect("a filter").time.expect("a range");
        assert_eq!(time.from.to_string(), "2031-04-14T15:00:00.000Z");
    }
}
