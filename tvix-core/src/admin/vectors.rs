//! Whether documents are found by meaning.

use super::{Finding, Part, Severity};
use crate::{Result, Tvix};

const EMBED: &str = "embeds what is still to come";

impl Tvix {
    /// Compares the vectors with the documents. A document of which the model knows no word has none,
    /// so fewer vectors than documents are no fault.
    pub(super) async fn check_vectors(&self, repair: bool) -> Finding {
        let finding = self.vector_finding().await.unwrap_or_else(|error| {
            Finding::problem(Part::Vectors, format!("they cannot be read: {error}"))
        });
        if !repair || finding.remedy.is_none() {
            return finding;
        }
        finding.tried(self.embed_pending().await)
    }

    async fn vector_finding(&self) -> Result<Finding> {
        let Some(embedder) = self.meaning().embedder() else {
            return Ok(Finding::new(
                Part::Vectors,
                Severity::Note,
                "none: search is by word alone",
            ));
        };
        // This opens them, too.
        let is_behind = !self.not_embedded().await?.is_empty();
        let model = &embedder.model().name;
        let state = self.index().inspect().await?;
        let (found, documents) = (state.embedded, state.documents);
        let what = format!("{found} of {documents} documents are found by meaning, by {model}");
        if is_behind {
            let what = format!("{what}; others are still to be embedded");
            return Ok(Finding::new(Part::Vectors, Severity::Note, what).mended_by(EMBED));
        }
        Ok(Finding::good(Part::Vectors, what))
    }
}
