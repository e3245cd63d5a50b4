//! The whole examination.

use super::{Finding, Part, Report};
use crate::{Result, Tvix, storage::Kind};

impl Tvix {
    pub(super) async fn examine(&self, repair: bool) -> Result<Report> {
        let mut findings = match self.folder() {
            Some(folder) => folder.check(repair),
            None => vec![self.check_profile()],
        };
        findings.push(self.check_store().await);
        findings.push(self.check_index(repair).await);
        findings.push(self.check_vectors(repair).await);
        Ok(Report {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            // A store that cannot be counted is among the findings.
            memories: self.live(Kind::Memory).await.unwrap_or_default(),
            wiki_documents: self.live(Kind::Wiki).await.unwrap_or_default(),
            findings,
        })
    }

    fn check_profile(&self) -> Finding {
        match self.profile_source().read() {
            Ok(_) => Finding::good(Part::Profile, "readable"),
            Err(error) => Finding::problem(Part::Profile, error.to_string()),
        }
    }
}
