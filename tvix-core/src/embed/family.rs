//! What is known of models by their names.

use super::Role;

/// Models that were trained alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Family {
    query: &'static str,
    passage: &'static str,
    /// The cosine at which two texts have hardly anything in common.
    pub(super) unrelated: f32,
    /// Whether a text's vector is that of its first token, not the mean of all.
    pub(super) first_token: bool,
}

impl Family {
    /// What goes before a text of this role, as the model saw it in training.
    pub(super) fn prefix(&self, role: Role) -> &'static str {
        match role {
            Role::Query => self.query,
            Role::Passage => self.passage,
        }
    }

    /// The family of the model `name`, which may be a path. The most specific row that fits counts.
    pub(super) fn of(name: &str) -> Self {
        let name = name.to_lowercase();
        let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let fits = |row: &&(&[&str], Self)| row.0.iter().all(|word| words.contains(word));
        FAMILIES.iter().find(fits).map_or(OTHER, |row| row.1)
    }
}

const OTHER: Family = Family {
    query: "",
    passage: "",
    unrelated: super::Hints::TRANSFORMER.unrelated,
    first_token: false,
};
const PASSAGES: &str = "Represent this sentence for searching relevant passages: ";

/// Words of a name, all of which must be there, and what they tell. Prefixes are those of the models'
/// own descriptions.
const FAMILIES: &[(&[&str], Family)] = &[
    (
        &["e5", "instruct"],
        Family {
            query: "Instruct: Given a question, retrieve passages that answer it\nQuery: ",
            unrelated: 0.7,
            ..OTHER
        },
    ),
    // Trained at a low temperature, so that even texts on different matters lie close.
    (&["e5"], Family { query: "query: ", passage: "passage: ", unrelated: 0.75, ..OTHER }),
    // These two were trained without the English sentence.
    (&["bge", "m3"], Family { unrelated: 0.4, first_token: true, ..OTHER }),
    (&["bge", "zh"], Family { unrelated: 0.4, first_token: true, ..OTHER }),
    (&["bge"], Family { query: PASSAGES, unrelated: 0.4, first_token: true, ..OTHER }),
    (&["mxbai"], Family { query: PASSAGES, unrelated: 0.35, first_token: true, ..OTHER }),
    (
        &["nomic"],
        Family { query: "search_query: ", passage: "search_document: ", unrelated: 0.4, ..OTHER },
    ),
    (&["ada", "002"], Family { unrelated: 0.7, ..OTHER }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_known_by_whole_words() {
        for (name, query, passage) in [
            ("/models/multilingual-e5-small", "query: ", "passage: "),
            ("BAAI/bge-small-en-v1.5", PASSAGES, ""),
            ("bge-m3:latest", "", ""),
            ("nomic-embed-text", "search_query: ", "search_document: "),
            ("all-MiniLM-L6-v2", "", ""),
            ("snapshots/e5c41f", "", ""),
            ("text-embedding-3-small", "", ""),
        ] {
            let family = Family::of(name);
            let found = (family.prefix(Role::Query), family.prefix(Role::Passage));
            assert_eq!(found, (query, passage), "{name}");
        }
        assert!(Family::of("e5-large-instruct").prefix(Role::Query).starts_with("Instruct"));
    }
}
