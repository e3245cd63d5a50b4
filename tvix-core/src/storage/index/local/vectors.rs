//! The vectors of the local index: opened for one model, saved after the text.

use std::{path::PathBuf, sync::Arc};

use super::{
    super::{rows::Rows, vectors::Vectors},
    Shared,
};
use crate::{Result, embed::Model, storage::Seq};

impl Shared {
    pub(super) fn save_vectors(&self) -> Result<()> {
        let (rows, (unsaved, cursor)) = {
            let view = self.view();
            (view.rows.clone(), view.unsaved())
        };
        let Some(rows) = rows.filter(|_| !unsaved.is_empty()) else { return Ok(()) };
        rows.save(unsaved.iter().map(AsRef::as_ref), cursor)?;
        self.view_mut().saved(&unsaved);
        Ok(())
    }

    /// Opens the vectors of `model` and says how far they reach: no further than the text does, since
    /// the vectors of a document whose text is still to come are not found.
    pub(super) fn vector_cursor(&self, model: &Model) -> Result<Seq> {
        let known =
            self.view().rows.as_ref().filter(|rows| rows.is_of(model)).map(|rows| rows.cursor);
        if let Some(cursor) = known {
            return Ok(cursor);
        }
        // A file is opened once only.
        self.view_mut().rows = None;
        let rows = Rows::open(&self.vector_folder(), model, self.view().cursor)?;
        let mut vectors = Vectors::of(model.dimension);
        let mut view = self.view_mut();
        rows.each(&mut |embedded| vectors.insert(&embedded, &view.documents))?;
        #[cfg(feature = "hnsw")]
        vectors.link();
        let cursor = rows.cursor;
        view.forget_vectors();
        (view.vectors, view.rows) = (vectors, Some(Arc::new(rows)));
        Ok(cursor)
    }

    pub(super) fn vector_folder(&self) -> PathBuf {
        self.folder.with_file_name("vectors")
    }
}
